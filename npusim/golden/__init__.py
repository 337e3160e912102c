"""Golden files: one run of a model, every tensor of it, and all that decided its bits."""

from .file import load, save, to_bytes
from .record import Golden, Parameter, RecordedNode, RecordedTensor, record

__all__ = [
    "Golden",
    "Parameter",
    "RecordedNode",
    "RecordedTensor",
    "load",
    "record",
    "save",
    "to_bytes",
]
