"""Weights inside a blob that another compiler made: how they lie, and where."""

from .layouts import Layout, block_diagonal, deep_1x1, known_layouts, plain
from .locate import Located, Place, locate_weights

__all__ = [
    "Layout",
    "Located",
    "Place",
    "block_diagonal",
    "deep_1x1",
    "known_layouts",
    "locate_weights",
    "plain",
]
