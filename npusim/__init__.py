"""npusim: a bit-exact simulator of INT8 neural accelerators."""

from .codes import quantize
from .engine import Prefix, Session
from .formats import load, save
from .graph import Accumulator, Graph, ModelError, Node, Quantization, Tensor
from .headroom_check import Headroom, check_headroom
from .sources import c_sources

__all__ = [
    "Accumulator",
    "Graph",
    "Headroom",
    "ModelError",
    "Node",
    "Prefix",
    "Quantization",
    "Session",
    "Tensor",
    "c_sources",
    "check_headroom",
    "load",
    "quantize",
    "save",
]
__version__ = "0.1.0"
