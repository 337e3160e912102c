"""Run one cell on a bank."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from npusim import Graph, Session
from npusim.head import Head
from npusim.neural_art.settle import settle
from npusim.neural_art.stored import read

from ..batch import Source
from ..classifier import find_classifier
from ..data import Dataset
from ..evaluate import Evaluation, evaluate
from ..float_reference import train_float32
from ..history import Epoch
from ..interrupt import whole
from ..loss import cross_entropy_loss
from ..new_head import CALIBRATION_BATCHES, quantize_head
from ..options import Hooks, Method, Options, Reuse
from ..train import train
from ..warm_up import Features, FloatHead, WarmUp, mean_square_norm, warm_up
from .bank import Bank, features, head_graph, images, split_rows
from .cell import Cell, Outcome, schedule_of
from .experiment import Limit


class Start(NamedTuple):
    """Where every run of a seed begins.

    rows   that train, that validate, that test
    head   after the float warm-up
    norm   mean of ||x||^2 of the training images, real units
    """

    rows: tuple[NDArray[np.int64], ...]
    head: FloatHead
    norm: float


class Setting(NamedTuple):
    """What a cell's run begins with.

    graph        of the head alone, int8
    train        features as images, and
    validation   likewise
    test         what judges it
    options      of the run
    """

    graph: Graph
    train: Dataset
    validation: Dataset
    test: Dataset
    options: Options


def head_of(cell: Cell, bank: Bank) -> Head:
    """The int8 head that a cell's run begins with."""
    return _int8_head(cell, bank, _start(bank, cell.seed, cell.batch))


def setting_of(cell: Cell, bank: Bank) -> Setting:
    """Where a cell's run stands before it is prepared.

    raises   ValueError, TypeError for a cell that means nothing
    """
    start = _start(bank, cell.seed, cell.batch)
    graph = head_graph(bank, _int8_head(cell, bank, start), cell.profile)
    train, validation, test = start.rows
    options = Options(epochs=cell.epochs, batch=cell.batch, seed=cell.seed,
                      stop_after=cell.stop_after, method=_method(cell, start))  # fmt: skip
    return Setting(_with_unknowns(graph, cell.unknowns), images(bank, train, cell.augment),
                   images(bank, validation), images(bank, test), options)  # fmt: skip


def run_cell(cell: Cell, bank: Bank) -> Outcome:
    """Train the cell's head and judge it on the images that nothing was chosen by.

    raises   ValueError, TypeError for a cell that means nothing; KeyboardInterrupt
    """
    begin = time.perf_counter()
    graph, learned, held_out, test, options = setting_of(cell, bank)
    session = Session(graph, trainable=["head"], threads=1)
    seen: list[Epoch] = []
    steps = options.steps_per_epoch(learned.originals)
    options = replace(options, hooks=Hooks(on_epoch=_until_limit(cell, steps, seen)))
    try:
        history, found = _trained(cell, session, (learned, held_out, test), options)
    except _LimitError:
        return Outcome(tuple(seen), None, time.perf_counter() - begin)
    return Outcome(history, (found.correct, found.total), time.perf_counter() - begin)


class _LimitError(Exception):
    """A run has taken all that counts."""


def _until_limit(cell: Cell, steps: int, seen: list[Epoch]) -> Callable[[Epoch], None]:
    """Keeps every epoch, and stops behind the cell's limit."""

    def on_epoch(epoch: Epoch) -> None:
        seen.append(epoch)
        if cell.limit is not None and not Limit(*cell.limit).holds(epoch, steps):
            raise _LimitError

    return on_epoch


def _trained(
    cell: Cell, session: Session, parts: tuple[Dataset, Dataset, Dataset], options: Options
) -> tuple[tuple[Epoch, ...], Evaluation]:
    """The history, and how the last weights do on the test."""
    learned, held_out, test = parts
    if cell.numbers == "float32":
        real = whole(train_float32(session, learned, held_out, scheduler=schedule_of(cell),
                                   options=options))  # fmt: skip
        return real.history, real.evaluate(_source(session, test))
    result = whole(train(session, learned, held_out, scheduler=schedule_of(cell), options=options))
    return result.history, _evaluation(result.graph, test)


@lru_cache(maxsize=8)
def _start(bank: Bank, seed: int, batch: int) -> Start:
    rows = split_rows(bank, seed)
    learned, held_out = (features(bank, part) for part in rows[:2])
    head = warm_up(learned, held_out, len(bank.classes), seed, WarmUp(batch=batch))
    return Start(rows, head, mean_square_norm(learned))


def _int8_head(cell: Cell, bank: Bank, start: Start) -> Head:
    count = CALIBRATION_BATCHES * cell.batch
    seen: Features = features(bank, start.rows[0][:count])
    k = cell.method.get("k", 1)
    return quantize_head(start.head, seen, k, cell.delta, cell.headroom)


def _with_unknowns(graph: Graph, unknowns: Mapping[str, Any]) -> Graph:
    """The head with Neural-ART's parameters as if a board had been measured."""
    if not unknowns:
        return graph
    given = dict(unknowns)
    if "s0_more" in given:
        (node,) = settle(graph).nodes
        given["s0"] = max(0, int(read(node).values["s0"][0]) + given.pop("s0_more"))
    return settle(graph, {"*": given})


def _method(cell: Cell, start: Start) -> Method:
    lr = None if cell.rate is None else cell.rate / start.norm
    return Method(**{"lr": lr, **cell.method})


def _evaluation(graph: Graph, dataset: Dataset) -> Evaluation:
    head = find_classifier(graph)
    loss = cross_entropy_loss(head.scale, head.classes, head.logits)
    return evaluate(_source(Session(graph, threads=1), dataset), loss)


def _source(session: Session, dataset: Dataset) -> Source:
    return Source(session, dataset, find_classifier(session.graph), Reuse(prefix=False))
