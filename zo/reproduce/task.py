"""A deployed network and what may happen to it: ten shifts of its images or its first weights.

Letters: N images, H W C.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from npusim import Graph
from npusim import models as m
from npusim.digest import content_hash
from npusim.head import with_head
from npusim.images import Normalization, code_table, fit, image_shape
from npusim.models.float_network import DIGITS, Network

from ..data import Dataset, Progress, in_memory
from ..new_head import HeadOptions, attach_head
from ..warm_up import WarmUp
from .bank import split_parts

HEALTHY = "none"
Pixels = NDArray[np.uint8]
Rows = NDArray[np.int64]
SHIFTS: Mapping[str, Callable[[Pixels, int, Rows], Pixels]] = {
    HEALTHY: lambda x, peak, rows: x,
    "inversion": lambda x, peak, rows: m.inverted(x, peak),
    "contrast": lambda x, peak, rows: m.low_contrast(x, peak),
    "noise": lambda x, peak, rows: m.noisy(x, peak, numbers=rows),
    "blur": lambda x, peak, rows: m.blurred(x),
    "1-px translation": lambda x, peak, rows: m.moved(x),
    "channel gain": lambda x, peak, rows: m.channel_gain(x, peak),
    "dead column": lambda x, peak, rows: m.dead_column(x),
    "shading": lambda x, peak, rows: m.shaded(x),
}
"""Of images uint8 (N, H, W, C) in 0..peak, whose numbers in the data set are rows (N,)."""
FAULTS: Mapping[str, int] = {"1 % of weights": 1, "5 % of weights": 5}
"""Per cent of the first layer's weights with a turned bit."""
CONVERGED = WarmUp(accuracy=1.01, steps=3000)
"""A new head is deployed after so many steps, however good it is by then."""


@dataclass(frozen=True, eq=False)
class Task:
    """A network, and labelled images of its input's size.

    graph      ends at its logits
    images     uint8 (N, H, W, C)
    labels     int64 (N,)
    classes    their names
    table      (C, peak + 1) of the input's type: what each value becomes in each channel
    counts     images that train and that test, in the order they lie in; None: drawn by the seed
    source     model, data and image size, for tables
    net        the float network of the graph's layers, where there is one
    most       test images, the first of the part; None: all
    """

    graph: Graph
    images: NDArray[np.uint8]
    labels: NDArray[np.int64]
    classes: tuple[str, ...]
    table: NDArray[np.int8]
    counts: tuple[int, int] | None
    source: str
    net: Network | None = None
    most: int | None = None

    @cached_property
    def digest(self) -> str:
        """A hash of the content: equal tasks give equal runs."""
        rest = repr((self.classes, self.counts, *([] if self.most is None else [self.most])))
        return content_hash("task", self.graph, self.images, self.labels, self.table, rest)

    @cached_property
    def first(self) -> str:
        """The weights of the first convolution."""
        node = next(n for n in self.graph.nodes if n.op in ("conv2d", "depthwise_conv2d"))
        return self.graph.tensors[node.inputs[1]].name

    def codes(self, shift: str, rows: NDArray[np.int64]) -> NDArray[np.int8]:
        """Images under a shift, as the graph takes them; an image's noise is always the same."""
        images = self.images[rows]
        if shift in SHIFTS:
            images = SHIFTS[shift](images, self.table.shape[1] - 1, rows)
        codes = self.table[np.arange(images.shape[3]), images]
        return np.ascontiguousarray(
            codes.transpose(0, 3, 1, 2) if self.graph.layout == "NCHW" else codes
        )

    def dataset(self, shift: str, rows: NDArray[np.int64]) -> Dataset:
        """The same with labels."""
        return in_memory(self.source, self.codes(shift, rows), self.labels[rows], self.classes)


class Parts(NamedTuple):
    """Rows that train, that validate, and that test."""

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]


def parts_of(task: Task, seed: int) -> Parts:
    """Parts as they lie in the task, where it counts them, else drawn ones."""
    if task.counts is None:
        train, validation, test = split_parts(len(task.labels), seed)
        return Parts(train, validation, test[: task.most])
    rows, trained = np.arange(sum(task.counts)), task.counts[0]
    return Parts(rows[:trained], rows[:0], rows[trained:][: task.most])


def digits_task() -> Task:
    """The shipped digit reader, and the shipped digits it was not chosen by."""
    found = m.digits()
    parts = (found.train, found.test)
    table = m.to_int8(np.arange(17, dtype=np.uint8)[:, None, None])[:, 0, 0, 0]
    images = np.concatenate([part.images for part in parts])[..., np.newaxis]
    labels = np.concatenate([part.labels for part in parts]).astype(np.int64)
    counts = (len(parts[0].labels), len(parts[1].labels))
    return Task(m.digits_cnn(), images, labels, tuple("0123456789"), table[np.newaxis], counts,
                "the shipped digit reader on the shipped digits", DIGITS)  # fmt: skip


def picture_task(
    graph: Graph,
    dataset: Dataset,
    normalization: Normalization | None = None,
    progress: Progress | None = None,
) -> Task:
    """A network on pictures; its head will be a new one, trained on them without any shift.

    dataset   uint8 pictures of any size
    raises    ValueError for images that are no pixels, ModelError for a graph without a head
    """
    shape = image_shape(graph)
    images = fitted(dataset, shape, progress)
    tensor = graph.tensors[graph.inputs[0]]
    table = code_table(tensor, shape[2], normalization, dataset.name, graph.profile)
    source = f"{graph.name} at {shape[0]}x{shape[1]}, {os.path.basename(dataset.name)}"
    graph = with_head(graph, len(dataset.classes))
    return Task(graph, images, dataset.labels, dataset.classes, table, None, source)


def fitted(
    dataset: Dataset, shape: tuple[int, int, int], progress: Progress | None = None
) -> NDArray[np.uint8]:
    """The pictures (N, H, W, C) at a network's (H, W, C); ValueError for what is no pixels."""
    frames = []
    for row in range(len(dataset)):
        frame = dataset.frame(row)
        if frame.dtype != np.uint8:
            raise ValueError(f"{dataset.name}: images must be uint8 pixels, got {frame.dtype}")
        frames.append(fit(frame, shape, dataset.name))
        if progress is not None:
            progress(row + 1, len(dataset))
    return np.stack(frames)


@lru_cache(maxsize=4)
def deployed(task: Task, seed: int) -> Graph:
    """The network before anything happens to it."""
    if task.counts is not None:
        return task.graph
    parts = parts_of(task, seed)
    learned, held_out = (task.dataset(HEALTHY, rows) for rows in parts[:2])
    return attach_head(task.graph, learned, held_out, HeadOptions(seed, CONVERGED))[0]


def faulty(task: Task, graph: Graph, shift: str, seed: int) -> Graph:
    """The graph, its first weights hit where the shift is one of FAULTS."""
    if shift not in FAULTS:
        return graph
    tensors = list(graph.tensors)
    place = next(i for i, tensor in enumerate(tensors) if tensor.name == task.first)
    data = tensors[place].data
    assert data is not None
    hit = m.bit_flipped(data, FAULTS[shift], seed)
    tensors[place] = replace(tensors[place], data=hit)
    return replace(graph, tensors=tuple(tensors))
