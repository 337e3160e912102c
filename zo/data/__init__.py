"""Labelled images: EuroSAT's zip, folders, STL-10's binary, .npz, .h5, shipped digits; `fetch`."""

from .augment import augmented
from .dataset import DataError, Dataset, Progress, in_memory, split
from .fetch import fetch
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
    "fetch",
    "in_memory",
    "load",
    "load_unlabelled",
    "split",
    "to_input",
]
