"""Labelled images: EuroSAT's zip, folders, STL-10's binary, .npz, .h5 and the shipped digits."""

from .dataset import DataError, Dataset, Progress, in_memory, split
from .inputs import Normalization, to_input
from .load import KINDS, load, load_unlabelled

__all__ = [
    "KINDS",
    "DataError",
    "Dataset",
    "Normalization",
    "Progress",
    "in_memory",
    "load",
    "load_unlabelled",
    "split",
    "to_input",
]
