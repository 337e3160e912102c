"""Labelled images: EuroSAT's zip, folders, STL-10's binary, .npz, .h5 and the shipped digits."""

from .augment import augmented
from .dataset import DataError, Dataset, Progress, in_memory, split
from .inputs import Normalization, to_input
from .load import KINDS, load, load_unlabelled
from .pairs import Examples, as_dataset

__all__ = [
    "KINDS",
    "DataError",
    "Dataset",
    "Examples",
    "Normalization",
    "Progress",
    "as_dataset",
    "augmented",
    "in_memory",
    "load",
    "load_unlabelled",
    "split",
    "to_input",
]
