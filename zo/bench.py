"""What one training step costs on this machine, part by part and for every q.

    paper    T(q) = (q + 1)*C_fwd + q*C_perturb
    here     T(q) = (q + 1)*C_fwd + C_passes(q) + (q + 1)*C_loss + C_estimate(q) + C_update

Three ways to the same bits: nothing reused, the frozen layers' outputs reused, and for a head alone
the matrix of signs as well. Every part is timed alone, `measured` is the whole step; both are the
fastest of several runs. A q whose step would outlast the time limit is left unmeasured.
"""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from npusim import Graph, Session

from .batch import Batch
from .data import Dataset
from .declared import Declared
from .estimate import one_sided
from .options import Options, Reuse
from .perturb import advance, perturb, restore
from .prepare import prepare
from .run import Run
from .sampling import Draw
from .step import Gradient, Step

Q_RANGE = tuple(2**i for i in range(11))
REPEATS = 3
MODES = {
    "none": Reuse(prefix=False, signs=False),
    "prefix": Reuse(prefix=True, signs=False),
    "prefix and signs": Reuse(prefix=True, signs=True),
}


class Parts(NamedTuple):
    """Seconds of a step's parts.

    With a matrix of signs forward, perturb and loss of the q samples are one thing: `forward`.
    """

    forward: float
    perturb: float
    loss: float
    estimate: float
    update: float


class StepTime(NamedTuple):
    """Seconds of one step with q samples.

    parts      each timed alone
    measured   the whole step, None where it would have taken too long
    paper      (q + 1)*C_fwd + q*C_perturb
    """

    q: int
    parts: Parts
    measured: float | None
    paper: float


class BenchOptions(NamedTuple):
    """What is timed: names of trained tensors, images per batch, threads, seconds per step."""

    trainable: tuple[str, ...] = ("head",)
    batch: int = 64
    threads: int | None = None
    limit: float = 5.0


def bench(
    graph: Graph, options: BenchOptions, q_range: Sequence[int] = Q_RANGE
) -> dict[str, list[StepTime]]:
    """Times of one step by mode of reuse; modes that do not apply are left out.

    graph   ends at its logits; images are random codes
    """
    found = {}
    for mode, reuse in MODES.items():
        run = _run(graph, options, reuse, q_range)
        if run.step.head_alone or not reuse.signs:
            found[mode] = _times(run, q_range, options.limit)
    return found


def _run(graph: Graph, options: BenchOptions, reuse: Reuse, q_range: Sequence[int]) -> Run:
    """A run over one batch of random images."""
    tensor = graph.tensors[graph.inputs[0]]
    rng = np.random.default_rng(0)
    shape = (options.batch, *tensor.shape[1:])
    images = rng.integers(0, 256, shape, np.uint8).view(tensor.dtype)
    labels = rng.integers(0, _classes(graph), options.batch)
    names = tuple(str(i) for i in range(_classes(graph)))
    data = Dataset("random", lambda row: images[row], labels, names)
    session = Session(graph, trainable=options.trainable, threads=options.threads)
    schedule = Declared(dict(enumerate(q_range)))
    settings = Options(epochs=1, batch=options.batch, reuse=reuse)
    return prepare(session, data, data, schedule, settings)


def _classes(graph: Graph) -> int:
    return graph.tensors[graph.outputs[0]].shape[-1]


def _times(run: Run, q_range: Sequence[int], limit: float) -> list[StepTime]:
    step, batch = run.step, run.train.batch(np.arange(run.options.batch))
    base = batch.forward()
    once = Parts(
        fastest(batch.forward),
        _seconds_of_a_pass(step),
        fastest(lambda: step.loss(base.logits, batch.labels)),
        *_seconds_after_the_losses(step, batch, Draw(0, 0, q_range[0])),
    )
    return [_step_time(step, batch, once, q, limit) for q in q_range]


def _step_time(step: Step, batch: Batch, once: Parts, q: int, limit: float) -> StepTime:
    draw = Draw(0, 0, q)
    estimate, _ = _seconds_after_the_losses(step, batch, draw)
    if step.head_alone:
        samples = fastest(lambda: step.sample_losses(batch, draw))
        parts = once._replace(forward=once.forward + samples, perturb=0.0, estimate=estimate)
    else:
        forward, perturb, loss = ((q + 1) * seconds for seconds in once[:3])
        parts = Parts(forward, perturb, loss, estimate, once.update)
    measured = fastest(lambda: step(batch, draw)) if sum(parts) < limit else None
    return StepTime(q, parts, measured, (q + 1) * once.forward + q * once.perturb)


def _seconds_after_the_losses(step: Step, batch: Batch, draw: Draw) -> tuple[float, float]:
    """Of estimating the gradients from q losses, and of the update."""
    tensors, images = step.group.perturbed, len(batch.labels)
    found = one_sided(0, np.full(draw.q, 1 << 16, np.int64), 1, images)

    def estimate() -> list[Gradient]:
        return [step.estimated_gradient(t, found, draw) for t in tensors]

    gradients = estimate()

    def update() -> None:
        for t, gradient in zip(tensors, gradients, strict=True):
            step.update(t, gradient, draw)

    return fastest(estimate), fastest(update)


def _seconds_of_a_pass(step: Step) -> float:
    """Of moving every perturbed tensor from one sample to the next; codes stay as they were."""
    tensors, draw = step.group.perturbed, Draw(0, 0, 1)

    def there_and_back() -> None:
        for direction in (1, -1):
            for t in tensors:
                advance(t.state.codes, direction * t.k, draw.stream(t), 0)
                t.write()

    for t in tensors:
        perturb(t.state.codes, t.k, draw.stream(t), 0)
    seconds = fastest(there_and_back) / 2
    for t in tensors:
        restore(t.state.codes, t.k, draw.stream(t), 0)
        t.write()
    return seconds


def fastest(action: Callable[[], object]) -> float:
    """Seconds of the fastest of a few runs, after one that is not timed."""
    action()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)
