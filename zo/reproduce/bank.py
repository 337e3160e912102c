"""Features of a data set, computed once, and the small graphs that are trained on them.

What a head reads does not change while the head is trained, so an experiment of hundreds of runs
needs the frozen layers once. A run on a bank gives the bits of a run on the whole network.
Letters: N images, V variants, I features, O classes.
"""

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from npusim import Graph, ModelError, Quantization, Session, Tensor
from npusim.digest import content_hash
from npusim.graph import Node
from npusim.head import Head, until_features

from ..data import Dataset, Progress, augmented
from ..features import frozen_rows
from ..prng import shuffle
from ..warm_up import Features

SPLIT_EPOCH = 2**32 - 2
"""Parts are drawn by the shuffle of an epoch that no training run reaches."""
SHARES = (70, 10)
"""Per cent of the images that train and that validate; the rest is the test."""
TEST_SEED = 0
WEIGHTS_STREAM, BIAS_STREAM = 1, 2


@dataclass(frozen=True, eq=False)
class Bank:
    """What a head reads of every image, in every variant.

    codes        int8 (V+1, N, I): of the originals, then of V variants
    scale        of a code, and
    zero_point   its zero point
    labels       int64 (N,)
    classes      their names, O
    source       model, data and image size, for tables
    macs         multiply-accumulates of an image on the way to its features; decides no run
    """

    codes: NDArray[np.int8]
    scale: float
    zero_point: int
    labels: NDArray[np.int64]
    classes: tuple[str, ...]
    source: str
    macs: int = 0

    @cached_property
    def digest(self) -> str:
        """A hash of the content: equal banks give equal runs."""
        numbers = repr((self.scale, self.zero_point, self.classes))
        return content_hash("bank", self.codes, self.labels, numbers)

    @property
    def variants(self) -> int:
        """V, 0 where only originals are kept."""
        return len(self.codes) - 1


def make_bank(
    graph: Graph,
    dataset: Dataset,
    variants: int = 0,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> Bank:
    """The features that the graph's head reads, or that a graph without a head ends at.

    graph      an int8 network; the weights of its head do not matter
    dataset    images as the graph takes them
    variants   flipped and cropped ones besides the originals, see `data.augmented`
    folder     where they are kept between calls
    raises     ModelError when the features are not int8
    """
    body = _body(graph)
    tensor = body.tensors[body.outputs[0]]
    if tensor.dtype != "int8" or tensor.quantization is None:
        raise ModelError(f"{graph.name}: the head must read int8 features, got {tensor.dtype}")
    session = Session(body)
    parts = [dataset] if not variants else [dataset, augmented(dataset, variants)]
    rows = [frozen_rows(session, part, folder, progress).rows for part in parts]
    codes = np.concatenate(rows).reshape(variants + 1, len(dataset), -1)
    q, size = tensor.quantization, "x".join(map(str, graph.tensors[graph.inputs[0]].shape[1:]))
    source = f"{graph.name} at {size}, {os.path.basename(dataset.name)}"
    return Bank(codes, float(q.scale[0]), int(q.zero_point[0]), dataset.labels, dataset.classes,
                source, session.macs)  # fmt: skip


def _body(graph: Graph) -> Graph:
    """The graph until its head, the whole of it where it has none."""
    try:
        return until_features(graph)
    except ModelError:
        return graph


def split_rows(bank: Bank, seed: int) -> tuple[NDArray[np.int64], ...]:
    """Rows that train, that validate, and that test."""
    return split_parts(len(bank.labels), seed)


def split_parts(count: int, seed: int) -> tuple[NDArray[np.int64], ...]:
    """The same of so many images; the seed draws what trains and what validates.

    The test is the same for every seed, so that what one seed chose, a learning rate say, has not
    seen the test images of another.
    """
    training, validation = SHARES
    fixed = shuffle(TEST_SEED, SPLIT_EPOCH, count)
    rest, test = np.split(fixed, [count * (training + validation) // 100])
    order = rest[shuffle(seed, SPLIT_EPOCH, len(rest))]
    return (*np.split(order, [count * training // 100]), test)


def images(bank: Bank, rows: NDArray[np.int64], variants: bool = False) -> Dataset:
    """Features as images of one cell (1, 1, I), originals or all their variants."""
    chosen = bank.codes[1:] if variants and bank.variants else bank.codes[:1]
    flat = chosen[:, rows].reshape(-1, bank.codes.shape[-1])
    labels = np.tile(bank.labels[rows], len(chosen))
    return Dataset(bank.source, lambda row: flat[row][None, None], labels, bank.classes,
                   len(chosen))  # fmt: skip


def features(bank: Bank, rows: NDArray[np.int64]) -> Features:
    """The originals' features, as a float warm-up reads them."""
    return Features(bank.codes[0, rows], bank.scale, bank.zero_point, bank.labels[rows])


def head_graph(bank: Bank, head: Head, profile: str = "tflm") -> Graph:
    """A graph of the head alone: x int8 (1, 1, 1, I) -> logits int8 (1, O)."""
    outputs, inputs = head.weights.shape
    zeros = np.zeros(outputs, np.int64)
    read = Quantization(np.array([bank.scale]), np.array([bank.zero_point]))
    bias_scale = (head.weight_scale.astype(np.float64) * bank.scale).astype(np.float32)
    tensors = (
        Tensor("features", (1, 1, 1, inputs), "int8", "input", read),
        Tensor("head", head.weights.shape, "int8", "constant",
               Quantization(head.weight_scale, zeros, 0), head.weights, WEIGHTS_STREAM),
        Tensor("head/bias", (outputs,), "int32", "constant",
               Quantization(bias_scale, zeros, 0), head.bias, BIAS_STREAM),
        Tensor("logits", (1, outputs), "int8", "activation",
               Quantization(np.array([head.scale]), np.array([0])), stream=3),
    )  # fmt: skip
    attributes = {"activation": "none", "keep_dims": False}
    node = Node("fully_connected", "head_0", (0, 1, 2), (3,), attributes)
    return Graph(f"head on {bank.source}", tensors, (node,), (0,), (3,), profile)
