"""Float graphs: the same `Graph` with float32 tensors, as a network is before it is quantised."""

from .batch_norm import fold_batch_norms
from .draft import Draft
from .formats import load
from .legal import check_floats
from .run import run, trace

__all__ = ["Draft", "check_floats", "fold_batch_norms", "load", "run", "trace"]
