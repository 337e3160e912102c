"""What a report of a run shows, as numbers.

Letters: N images, C classes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from npusim import Graph, Node, Session
from npusim.affine import LIMITS
from npusim.channels import dead
from npusim.headroom import WEIGHTED

from ..classifier import find_classifier, flat_logits
from ..data import Dataset, Progress
from ..features import IMAGES_AT_ONCE
from ..history import Epoch

BINS = 64
"""Of a histogram of the 256 codes: four codes each."""
TRACED_AT_ONCE = 16
"""A trace keeps every tensor of its images."""


class LayerFacts(NamedTuple):
    """One weighted layer.

    node            its name
    op              its operator
    weights         number of its weights
    histogram       int64 (BINS,), how many weights have a code in -128..-125, -124..-121, ..
    at_rail         weights at -127 or 127, or at -128
    dead            output channels whose weights are all 0
    outputs         int64 (BINS,), likewise of its outputs on the images looked at; None without
    saturated       share of these outputs at -128 or 127 that no relu put there; None without
    """

    node: str
    op: str
    weights: int
    histogram: NDArray[np.int64]
    at_rail: int
    dead: int
    outputs: NDArray[np.int64] | None = None
    saturated: float | None = None


class Wrong(NamedTuple):
    """An image that was classified wrongly.

    row             in the data set
    label, answer   class numbers
    margin          by how many codes the answer's logit is above the label's
    """

    row: int
    label: int
    answer: int
    margin: int


class Confusion(NamedTuple):
    """How a model answers.

    counts   int64 (C, C), images by label and answer
    wrong    by falling margin
    """

    counts: NDArray[np.int64]
    wrong: tuple[Wrong, ...]

    @property
    def accuracy(self) -> float:
        """The fraction of images classified right."""
        return float(np.trace(self.counts) / self.counts.sum())


@dataclass(frozen=True)
class RunReport:
    """A run.

    name        of its folder
    history     as the run wrote it
    layers      of the trained model
    images      what accuracy and activations are of, "" where no data were given
    classes     their names
    confusion   None where no data were given
    pictures    uint8 (H, W, 1 or 3) of the wrong images that are shown, in their order
    interrupted validation images the model classifies right, where Ctrl-C ended the run
    """

    name: str
    history: tuple[Epoch, ...]
    layers: tuple[LayerFacts, ...]
    images: str = ""
    classes: tuple[str, ...] = ()
    confusion: Confusion | None = None
    pictures: tuple[NDArray[np.uint8], ...] = ()
    interrupted: int | None = None


def layer_facts(graph: Graph, images: np.ndarray | None = None) -> tuple[LayerFacts, ...]:
    """Weights of every weighted layer, and its outputs on some images.

    images   as the graph takes them (N, ..)
    """
    outputs = {} if images is None else _output_histograms(Session(graph), images)
    return tuple(
        _layer(graph, node, outputs.get(node.name)) for node in graph.nodes if node.op in WEIGHTED
    )


def _layer(graph: Graph, node: Node, outputs: NDArray[np.int64] | None) -> LayerFacts:
    weights = graph.tensors[node.inputs[1]].data
    assert weights is not None
    counts = _codes(weights)
    at_rail = int(counts[0] + counts[1] + counts[255])
    facts = LayerFacts(node.name, node.op, weights.size, _binned(counts), at_rail,
                       len(dead(graph, node)))  # fmt: skip
    if outputs is None:
        return facts
    low, high = _free_rails(graph, node)
    saturated = outputs[0] * low + outputs[255] * high
    return facts._replace(outputs=_binned(outputs), saturated=float(saturated / outputs.sum()))


def _free_rails(graph: Graph, node: Node) -> tuple[bool, bool]:
    """Whether an output at -128, at 127 was cut off, and not put there by the activation."""
    activation = node.attributes.get("activation", "none")
    q = graph.tensors[node.outputs[0]].quantization
    assert q is not None
    zero, scale = int(q.zero_point[0]), float(q.scale[0])
    low = activation == "none" or zero > LIMITS["int8"][0]
    high = activation != "relu6" or zero + 6 / scale > LIMITS["int8"][1] + 0.5
    return low, high


def _output_histograms(session: Session, images: np.ndarray) -> dict[str, NDArray[np.int64]]:
    """Codes -128..127 of each weighted node's int8 outputs, counted."""
    names = {session.graph.tensors[n.outputs[0]].name: n.name
             for n in session.graph.nodes if n.op in WEIGHTED}  # fmt: skip
    found = {node: np.zeros(256, np.int64) for node in names.values()}
    for start in range(0, len(images), TRACED_AT_ONCE):
        for name, tensor in session.trace(images[start : start + TRACED_AT_ONCE]):
            if name in names:
                found[names[name]] += _codes(tensor)
    return found


def _codes(values: NDArray[np.int8]) -> NDArray[np.int64]:
    """How often each of -128..127 occurs, (256,)."""
    return np.bincount(values.reshape(-1).astype(np.int64) + 128, minlength=256)


def _binned(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return counts.reshape(BINS, -1).sum(1)


def judge(graph: Graph, dataset: Dataset, progress: Progress | None = None) -> Confusion:
    """Every image's answer against its label; equal logits go to the lowest class.

    dataset   images as the graph takes them
    """
    classes = find_classifier(graph).classes
    counts = np.zeros((classes, classes), np.int64)
    wrong: list[Wrong] = []
    for start, logits in _logits(graph, dataset, classes):
        labels = dataset.labels[start : start + len(logits)]
        answers = logits.argmax(1)
        np.add.at(counts, (labels, answers), 1)
        wrong += _wrong(start, logits, labels, answers)
        if progress is not None:
            progress(start + len(logits), len(dataset))
    return Confusion(counts, tuple(sorted(wrong, key=lambda w: (-w.margin, w.row))))


def _logits(
    graph: Graph, dataset: Dataset, classes: int
) -> Iterator[tuple[int, NDArray[np.int16]]]:
    """(first row, logits (n, C)) of all images."""
    session = Session(graph)
    for start in range(0, len(dataset), IMAGES_AT_ONCE):
        rows = np.arange(start, min(start + IMAGES_AT_ONCE, len(dataset)))
        logits = session.run(dataset.images(rows))
        assert isinstance(logits, np.ndarray)
        yield start, flat_logits(logits, classes).astype(np.int16)


def _wrong(
    start: int, logits: NDArray[np.int16], labels: NDArray[np.int64], answers: NDArray[np.int64]
) -> Iterator[Wrong]:
    for i in np.flatnonzero(answers != labels).tolist():
        margin = int(logits[i, answers[i]]) - int(logits[i, labels[i]])
        yield Wrong(start + i, int(labels[i]), int(answers[i]), margin)
