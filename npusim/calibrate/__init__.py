"""Post-training quantisation: a float graph and images in, an int8 graph out."""

from .network import DEFAULT, Headroom, Options, Pair, quantize_graph, quantized_pair
from .observers import OBSERVERS

__all__ = ["DEFAULT", "OBSERVERS", "Headroom", "Options", "Pair", "quantize_graph",
           "quantized_pair"]  # fmt: skip
