"""One way back to accuracy under one shift, and which test images are right then."""

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from npusim import Graph, Session
from npusim.digest import content_hash
from npusim.head import with_features

from ..adapt import adapt
from ..classifier import find_classifier
from ..cost import Cost
from ..declared import Constant
from ..interrupt import whole
from ..moments import Statistics, enough_images, measure_statistics
from ..options import Method, Options, Reuse
from ..prng import shuffle
from ..train import train
from .backward import Given, backpropagated, layers_of
from .task import HEALTHY, Task, deployed, faulty, parts_of

VERSION = 2
"""Of the code that runs repairs; another one makes outcomes anew."""
BATCH = 64
UNLABELLED = 256
"""Images that channel statistics are taken of, whatever the number of labels."""
SOURCE_IMAGES = 2048
"""Training images, at most, that the healthy network's statistics are taken of."""
LABELLED_EPOCH = 2**32 - 3
"""Labelled images are drawn by the shuffle of an epoch that no training run reaches."""
IMAGES_AT_ONCE = 256


class Way(NamedTuple):
    """What is done.

    statistics   whether channel statistics are matched first
    first        whether the first convolution is trained, by zeroth order
    head         whether the head is trained
    exact        the head by its exact gradient, not by zeroth order
    q            samples a step
    backward     by backpropagation in float, weights and biases, to convergence
    between      then: the layers between the first and the head too
    """

    statistics: bool = False
    first: bool = False
    head: bool = False
    exact: bool = False
    q: int = 16
    backward: bool = False
    between: bool = False


WAYS: Mapping[str, Way] = {
    "nothing": Way(),
    "statistics": Way(statistics=True),
    "exact head": Way(head=True, exact=True),
    "statistics + exact head": Way(statistics=True, head=True, exact=True),
    "ZO first layer": Way(first=True),
    "ZO first layer + exact head": Way(first=True, head=True, exact=True),
    "backprop first + head": Way(first=True, head=True, backward=True),
    "backprop all": Way(first=True, head=True, backward=True, between=True),
    "ZO head, q = 64": Way(head=True, q=64),
}
REUSE: Mapping[str, Reuse] = {
    "prefix, signs": Reuse(),
    "prefix": Reuse(signs=False),
    "no reuse": Reuse(prefix=False, signs=False),
}


@dataclass(frozen=True)
class Repair:
    """A run on a task.

    label    of its row in a table
    way      a key of WAYS
    shift    a key of task.SHIFTS or task.FAULTS
    images   labelled ones to train on, drawn by the seed; 0 for all of the training part
    steps    of training, about; backpropagation ends by itself
    seed     of everything random
    reuse    a key of REUSE
    """

    label: str
    way: str
    shift: str
    images: int
    steps: int
    seed: int = 0
    reuse: str = "prefix, signs"

    def key(self, task: str) -> str:
        """Names the outcome on a task of this digest; the label does not count.

        Neither do steps where training ends by itself.
        """
        plain = {k: v for k, v in asdict(self).items() if k != "label"}
        if WAYS[self.way].backward:
            plain["steps"] = 0
        return content_hash("repair", json.dumps(plain, sort_keys=True), task, VERSION)


@dataclass(frozen=True)
class Repaired:
    """What a repair came to.

    right     test images that are classified right, one bit each, as hexadecimal digits
    total     test images
    network   a hash of the network's content
    cost      of the way back
    seconds   of the whole run; the only number that is not reproducible
    """

    right: str
    total: int
    network: str
    cost: Cost
    seconds: float

    @property
    def answers(self) -> NDArray[np.bool_]:
        """Whether each test image is classified right (total,)."""
        packed = np.frombuffer(bytes.fromhex(self.right), np.uint8)
        return np.unpackbits(packed, count=self.total).astype(bool)

    @property
    def accuracy(self) -> float:
        """The fraction of test images that are classified right."""
        return float(self.answers.mean())

    def to_plain(self) -> dict[str, Any]:
        """What JSON holds."""
        return {**asdict(self), "cost": list(self.cost)}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Repaired":
        """The outcome again; LookupError, TypeError or ValueError for anything else."""
        cost, total = Cost(*map(int, plain["cost"])), int(plain["total"])
        found = cls(str(plain["right"]), total, str(plain["network"]), cost,
                    float(plain["seconds"]))  # fmt: skip
        wanted, given = -(-total // 8), len(bytes.fromhex(found.right))
        if given != wanted:
            raise ValueError(f"right: must be {wanted} bytes for {total} bits, got {given}")
        return found


def run_repair(repair: Repair, task: Task) -> Repaired:
    """Break the network, mend it, and judge it on images that nothing was chosen by.

    raises   KeyError for an unknown way, shift or reuse; ValueError for backpropagation on a task
             without a float network
    """
    begin = time.perf_counter()
    way, parts = WAYS[repair.way], parts_of(task, repair.seed)
    graph = faulty(task, deployed(task, repair.seed), repair.shift, repair.seed)
    cost, drawn = Cost(), shuffle(repair.seed, LABELLED_EPOCH, len(parts.train))
    if way.statistics:
        graph, cost = _adapted(graph, task, repair, parts.train[drawn[:UNLABELLED]])
    if way.first or way.head:
        chosen = parts.train[drawn[: repair.images or None]]
        if way.backward:
            seen = parts.train[drawn[:UNLABELLED]]
            graph, trained = _backpropagated(graph, task, repair, chosen, seen)
        else:
            graph, trained = _trained(graph, task, repair, chosen)
        cost = cost.plus(trained)
    right = _answers(graph, task, repair.shift, parts.test)
    return Repaired(np.packbits(right).tobytes().hex(), len(right), content_hash("graph", graph),
                    cost, time.perf_counter() - begin)  # fmt: skip


@lru_cache(maxsize=4)
def _source(task: Task, seed: int) -> Statistics:
    """Channel statistics of the healthy network on images it was trained on."""
    graph = deployed(task, seed)
    rows = parts_of(task, seed).train[: enough_images(graph, SOURCE_IMAGES)]
    session = Session(graph, threads=1)
    return measure_statistics(session, task.codes(HEALTHY, rows))


def _adapted(
    graph: Graph, task: Task, repair: Repair, rows: NDArray[np.int64]
) -> tuple[Graph, Cost]:
    """Each layer runs twice, before its adaptation and after, the activations between kept."""
    session = Session(graph, threads=1)
    adapt(session, task.codes(repair.shift, rows), _source(task, repair.seed))
    forwards = -(-2 * len(rows) // BATCH)
    return session.snapshot(), Cost(forwards, 2 * len(rows) * session.macs)


def _trained(
    graph: Graph, task: Task, repair: Repair, rows: NDArray[np.int64]
) -> tuple[Graph, Cost]:
    way, labelled = WAYS[repair.way], task.dataset(repair.shift, rows)
    names = [task.first] * way.first + [find_classifier(graph).weights] * way.head
    batch = min(BATCH, len(rows))
    epochs = max(1, round(repair.steps / (len(rows) // batch)))
    options = Options(epochs=epochs, batch=batch, seed=repair.seed, stop_after=0,
                      method=Method(exact_head=way.exact), reuse=REUSE[repair.reuse])  # fmt: skip
    session = Session(with_features(graph), trainable=names, threads=1)
    result = whole(train(session, labelled, labelled, scheduler=Constant(way.q), options=options))
    return result.graph, result.history[-1].cost


def _backpropagated(
    graph: Graph,
    task: Task,
    repair: Repair,
    rows: NDArray[np.int64],
    unlabelled: NDArray[np.int64],
) -> tuple[Graph, Cost]:
    if task.net is None:
        raise ValueError(f"{task.source}: must have a float network of its layers for "
                         f"{repair.way}, got none")  # fmt: skip
    given = Given(task.codes(repair.shift, rows), task.labels[rows],
                  task.codes(repair.shift, unlabelled))  # fmt: skip
    trained = layers_of(task.net, WAYS[repair.way].between)
    return backpropagated(graph, task.net, given, trained, repair.seed)


def _answers(graph: Graph, task: Task, shift: str, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    session, codes = Session(graph, threads=1), task.codes(shift, rows)
    tops = []
    for start in range(0, len(codes), IMAGES_AT_ONCE):
        logits = session.run(codes[start : start + IMAGES_AT_ONCE])
        assert isinstance(logits, np.ndarray)
        tops.append(logits.reshape(len(logits), -1).argmax(1))
    right: NDArray[np.bool_] = np.concatenate(tops) == task.labels[rows]
    return right
