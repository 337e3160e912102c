"""File formats: a path in, a graph out."""

from pathlib import Path

from ..graph import Graph


def load(path: str | Path) -> Graph:
    """The graph of a model file."""
    from . import tflite

    return tflite.load(path)
