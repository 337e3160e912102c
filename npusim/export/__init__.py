"""Models as C projects, from the inside out:

names, row, calls             a row of the operation table becomes the text of a call
twins                         what C cannot compute is refused
model                         all calls, constants and places of a graph
weights, entries, header, source, checksums, program   the files that depend on the model
kernels, targets              the files that do not
readme, project, folder       a folder of all of them
"""

from .project import Project, export_c
from .targets import TARGETS

__all__ = ["TARGETS", "Project", "export_c"]
