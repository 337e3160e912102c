"""Post-training quantisation: a float graph and images in, an int8 graph out."""

from .network import DEFAULT, Headroom, Options, quantize_graph
from .observers import OBSERVERS

__all__ = ["DEFAULT", "OBSERVERS", "Headroom", "Options", "quantize_graph"]
