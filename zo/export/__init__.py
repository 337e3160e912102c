"""Training runs as C projects, from the inside out:

network, tensors, settings   the forward pass, what is trained, and how, as C
training                     all of a run in one file
samples, trajectory          labelled images, and what training must be after every step
readme, project              a folder of all of it
"""

from .project import Device, Project, Task, export_training

__all__ = ["Device", "Project", "Task", "export_training"]
