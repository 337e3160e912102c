"""npusim: a bit-exact simulator of INT8 neural accelerators."""

from .graph import Accumulator, Graph, ModelError, Node, Quantization, Tensor

__all__ = ["Accumulator", "Graph", "ModelError", "Node", "Quantization", "Tensor"]
__version__ = "0.1.0"
