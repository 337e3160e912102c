"""Run one cell on a bank."""

import time
from collections.abc import Mapping
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
from ..loss import cross_entropy_loss
from ..new_head import CALIBRATION_BATCHES, quantize_head
from ..options import Method, Options, Reuse
from ..train import train
from ..warm_up import Features, FloatHead, WarmUp, mean_square_norm, warm_up
from .bank import Bank, features, head_graph, images, split_rows
from .cell import Cell, Outcome, schedule_of


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
    test         rows of the bank that judge it
    options      of the run
    """

    graph: Graph
    train: Dataset
    validation: Dataset
    test: NDArray[np.int64]
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
                   images(bank, validation), test, options)  # fmt: skip


def run_cell(cell: Cell, bank: Bank) -> Outcome:
    """Train the cell's head and judge it on the images that nothing was chosen by.

    raises   ValueError, TypeError for a cell that means nothing
    """
    begin = time.perf_counter()
    graph, learned, held_out, test, options = setting_of(cell, bank)
    session = Session(graph, trainable=["head"], threads=1)
    if cell.numbers == "float32":
        history = train_float32(session, learned, held_out, scheduler=schedule_of(cell),
                                options=options).history  # fmt: skip
        return Outcome(history, None, time.perf_counter() - begin)
    result = train(session, learned, held_out, scheduler=schedule_of(cell), options=options)
    found = _evaluation(result.graph, bank, test)
    return Outcome(result.history, (found.correct, found.total), time.perf_counter() - begin)


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


def _evaluation(graph: Graph, bank: Bank, rows: NDArray[np.int64]) -> Evaluation:
    head = find_classifier(graph)
    loss = cross_entropy_loss(head.scale, head.classes, head.logits)
    source = Source(Session(graph, threads=1), images(bank, rows), head, Reuse(prefix=False))
    return evaluate(source, loss)
