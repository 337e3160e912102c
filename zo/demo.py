"""The story of `zo demo`: a digit reader on a chip meets images it was not trained for.

Three shifts of the input, and for each the same ways back to accuracy, with the same data, epochs
and default rates: nothing, channel statistics, the head by its exact gradient, the head by zeroth
order with fixed q and with QScheduler, and the exact head together with the first layer by zeroth
order. Nothing is chosen to make a row win. Accuracies are of test images nobody trained on.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from npusim import Graph, Session
from npusim.head import with_features
from npusim.models import digits, digits_cnn, inverted, low_contrast, moved, to_int8
from npusim.models.images import Labelled

from .adapt import adapt
from .data import Dataset, in_memory
from .declared import Constant
from .history import Epoch
from .loss import count_errors
from .moments import Statistics, measure_statistics
from .options import Method, Options
from .result import Result
from .schedule import QScheduler, Schedule
from .train import train

SHIFTS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "moved one pixel": moved,
    "inverted": inverted,
    "low contrast": low_contrast,
}
BATCH = 64
UNLABELLED = 256
"""Images that channel statistics are taken of."""


class Parts(NamedTuple):
    """The digits under one shift: labelled to train on, to choose q by, and to report."""

    train: Dataset
    validation: Dataset
    test: Dataset


class Row(NamedTuple):
    """One method under one shift.

    trained    numbers that may change
    before     test accuracy with the deployed network
    after      test accuracy with the method's
    forwards   of a batch of 64, without those of evaluations
    history    of a training run, () otherwise
    """

    shift: str
    method: str
    trained: int
    before: float
    after: float
    forwards: int
    seconds: float
    history: tuple[Epoch, ...] = ()


class Way(NamedTuple):
    """A way to train: its name, what it trains, how, and how q is chosen."""

    name: str
    trainable: tuple[str, ...]
    method: Method
    schedule: Callable[[], Schedule]


def _fixed(q: int) -> Way:
    return Way(f"ZO head, q = {q}", ("head",), Method(), lambda: Constant(q))


WAYS = (
    Way("exact head", ("head",), Method(exact_head=True), lambda: Constant(1)),
    _fixed(4),
    _fixed(16),
    _fixed(64),
    Way("ZO head, QScheduler", ("head",), Method(), QScheduler),
    Way("exact head + ZO stem", ("stem", "head"), Method(exact_head=True), lambda: Constant(16)),
)
NOTHING, STATISTICS = "nothing", "channel statistics"
METHODS = (NOTHING, STATISTICS, *(way.name for way in WAYS))


def demo(epochs: int, seed: int, threads: int | None = None) -> Iterator[Row]:
    """Every row, one after the other: for each shift, METHODS in order.

    raises   KeyboardInterrupt when Ctrl-C ended a training: what it had reached is no row
    """
    graph = digits_cnn()
    _compile(graph, threads)
    source = measure_statistics(Session(graph, threads=threads), _parts(lambda x: x).train.images())
    for shift, change in SHIFTS.items():
        parts = _parts(change)
        before = accuracy(graph, parts.test)
        yield Row(shift, NOTHING, 0, before, before, 0, 0.0)
        yield _adapted(graph, source, shift, parts, before)
        for way in WAYS:
            options = Options(
                epochs=epochs, batch=BATCH, seed=seed, stop_after=0, method=way.method
            )
            session = _session(graph, way, threads)
            yield _trained(session, way, shift, (parts, before, options))


def accuracy(graph: Graph, dataset: Dataset) -> float:
    """The fraction of images whose largest logit is the label's."""
    logits = Session(graph, threads=1).run(dataset.images())
    assert isinstance(logits, np.ndarray)
    return (len(dataset) - count_errors(logits, dataset.labels)) / len(dataset)


def _compile(graph: Graph, threads: int | None) -> None:
    """One step of every way, so that no row's seconds are those of compiling kernels."""
    images = _parts(lambda x: x).train.take(np.arange(BATCH))
    codes = images.images()
    adapt(Session(graph, threads=1), codes, measure_statistics(Session(graph), codes))
    for way in WAYS:
        options = Options(epochs=1, batch=BATCH, method=way.method)
        _finished(_session(graph, way, threads), Parts(images, images, images), way, options)


def _session(graph: Graph, way: Way, threads: int | None) -> Session:
    return Session(with_features(graph), trainable=way.trainable, threads=threads)


def _parts(change: Callable[[np.ndarray], np.ndarray]) -> Parts:
    def part(name: str, labelled: Labelled) -> Dataset:
        labels = labelled.labels.astype(np.int64)
        return in_memory(name, to_int8(change(labelled.images)), labels, tuple("0123456789"))

    found = digits()
    return Parts(*(part(name, getattr(found, name)) for name in Parts._fields))


def _adapted(graph: Graph, source: Statistics, shift: str, parts: Parts, before: float) -> Row:
    """Channel statistics of unlabelled images matched to the source's."""
    started = time.perf_counter()
    session = Session(graph, threads=1)
    result = adapt(session, parts.train.images(np.arange(UNLABELLED)), source)
    seconds = time.perf_counter() - started
    trained = 3 * sum(result.channels.values())
    after = accuracy(session.snapshot(), parts.test)
    forwards = -(-result.forwards // BATCH)
    return Row(shift, STATISTICS, trained, before, after, forwards, seconds)


def _trained(session: Session, way: Way, shift: str, given: tuple[Parts, float, Options]) -> Row:
    parts, before, options = given
    result = _finished(session, parts, way, options)
    last = result.history[-1]
    trained = sum(session.weights[name].size for name in way.trainable)
    after = accuracy(result.graph, parts.test)
    return Row(shift, way.name, trained, before, after, last.cost.forwards, last.seconds,
               result.history)  # fmt: skip


def _finished(session: Session, parts: Parts, way: Way, options: Options) -> Result:
    """A training that went to its end; KeyboardInterrupt if Ctrl-C ended it."""
    result = train(
        session, parts.train, parts.validation, scheduler=way.schedule(), options=options
    )
    if result.stopped == "interrupted":
        raise KeyboardInterrupt
    return result
