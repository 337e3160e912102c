"""The cost of a step in microseconds, measured once, for schedules that go by seconds."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from npusim import Graph, Session

from .bench import fastest
from .data import Dataset
from .declared import Declared
from .options import Hooks, Options
from .prepare import prepare

MICROSECONDS = 10**6


def step_clock(
    graph: Graph,
    trainable: Sequence[str],
    images: Dataset,
    options: Options,
    threads: int | None = None,
) -> Callable[[tuple[int, ...]], dict[int, int]]:
    """What `CostAware(costs=...)` takes: from values of q to the microseconds of a step, 1 or more.

    Each is the fastest of a few steps on the first batch of the images, its preparation included,
    in a session of its own, so that nothing of the run changes. The arguments are those of the run.
    """

    def measure(rungs: tuple[int, ...]) -> dict[int, int]:
        session = Session(graph, trainable=trainable, threads=threads)
        alone = replace(options, checkpoint=None, resume=False, hooks=Hooks())
        run = prepare(session, images, images, Declared(dict(enumerate(rungs))), alone)
        rows = np.arange(alone.batch)

        def seconds(q: int) -> float:
            return fastest(lambda: run.step(run.train.batch(rows), run.draw(0)._replace(q=q)))

        return {q: max(1, round(seconds(q) * MICROSECONDS)) for q in rungs}

    return measure
