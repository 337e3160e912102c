"""npusim: a bit-exact simulator of INT8 neural accelerators."""

from .engine import Prefix, Session
from .graph import Accumulator, Graph, ModelError, Node, Quantization, Tensor
from .reference import quantize

__all__ = [
    "Accumulator",
    "Graph",
    "ModelError",
    "Node",
    "Prefix",
    "Quantization",
    "Session",
    "Tensor",
    "quantize",
]
__version__ = "0.1.0"
