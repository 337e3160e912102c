"""zo: zeroth-order training on npusim, in integers."""

from .adapt import adapt
from .history import Epoch
from .moments import measure_statistics
from .new_head import attach_head
from .options import PAPER, Hooks, Method, Options, Reuse
from .schedule import Constant, Declared, QScheduler
from .train import Result, train

__all__ = [
    "PAPER",
    "Constant",
    "Declared",
    "Epoch",
    "Hooks",
    "Method",
    "Options",
    "QScheduler",
    "Result",
    "Reuse",
    "adapt",
    "attach_head",
    "measure_statistics",
    "train",
]
