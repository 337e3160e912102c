"""What a caller may give in place of a data set: images and labels, as they lie in memory."""

import numpy as np

from npusim import Graph
from npusim.models.images import Labelled, to_int8

from .dataset import DataError, Dataset, in_memory
from .inputs import to_input

Examples = Dataset | tuple[np.ndarray, np.ndarray]
"""A data set, a part of `npusim.models.digits()`, or a pair (images, labels)."""


def as_dataset(given: Examples, graph: Graph, name: str) -> Dataset:
    """The data set of what was given, its images as the graph takes them.

    given    a Dataset, unchanged; a part of the shipped digits, whose ink becomes codes; or a pair
             of images (N, ..) and labels (N,): uint8 pixels, codes of the input's type or float32
             real values of the input's shape
    name     of it, in messages
    raises   TypeError for anything else, DataError when the arrays do not fit
    """
    if isinstance(given, Dataset):
        return given
    if isinstance(given, Labelled):
        given = (to_int8(given.images), given.labels)
    if not _is_pair(given):
        raise TypeError(
            f"{name}: must be a Dataset or a pair of arrays (images, labels), got "
            f"{type(given).__name__}; call train(session, (images, labels), (images, labels))"
        )
    images, labels = given
    shape = graph.tensors[graph.inputs[0]].shape
    if len(shape) == 4:
        return to_input(in_memory(name, images, labels), graph)
    return _of_codes(name, images, labels, graph)


def _is_pair(given: object) -> bool:
    both = isinstance(given, tuple | list) and len(given) == 2
    return both and all(isinstance(part, np.ndarray) for part in given)  # type: ignore[attr-defined]


def _of_codes(name: str, images: np.ndarray, labels: np.ndarray, graph: Graph) -> Dataset:
    """Inputs that are no pictures."""
    tensor = graph.tensors[graph.inputs[0]]
    if images.shape[1:] != tensor.shape[1:] or images.dtype != tensor.dtype:
        raise DataError(
            f"{name}: inputs must be {tensor.dtype} (N, {', '.join(map(str, tensor.shape[1:]))}) "
            f"for this network, got {images.dtype} {images.shape}"
        )
    if labels.shape != images.shape[:1] or not np.issubdtype(labels.dtype, np.integer):
        raise DataError(
            f"{name}: labels must be {len(images)} integers, one an input, "
            f"got {labels.dtype} {labels.shape}"
        )
    classes = tuple(str(i) for i in range(int(labels.max(initial=0)) + 1))
    return Dataset(name, lambda row: images[row], labels, classes)
