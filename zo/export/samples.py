"""Samples for a device: labelled images in one piece, in the form that samples.h reads."""

from collections.abc import Iterator

import numpy as np

from npusim import Graph
from npusim.engine import as_codes

from ..data import Dataset

MAGIC = b"ZOS1"
LINE = 16
MAX_LABEL = 2**16 - 1
IMAGES_AT_ONCE = 256


def samples(graph: Graph, train: Dataset, validation: Dataset) -> bytes:
    """The region of memory: head, labels, codes of the images.

    train, validation   images as the graph takes them
    raises              ValueError for a label above 65535
    """
    parts = (train, validation)
    labels = np.concatenate([part.labels for part in parts])
    if labels.max() > MAX_LABEL:
        raise ValueError(f"samples: labels must be 0..{MAX_LABEL} on a device, got {labels.max()}")
    codes = b"".join(piece for part in parts for piece in _codes(graph, part))
    sizes = np.array([len(codes) // len(labels), *map(len, parts)], "<u4")
    words = labels.astype("<u2").tobytes()
    return MAGIC + sizes.tobytes() + words + bytes(-len(words) % LINE) + codes


def _codes(graph: Graph, part: Dataset) -> Iterator[bytes]:
    tensor = graph.tensors[graph.inputs[0]]
    for images, _ in part.batches(IMAGES_AT_ONCE):
        yield np.ascontiguousarray(as_codes(images, tensor, graph.profile)).tobytes()
