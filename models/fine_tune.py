"""A small float network trained on by backpropagation from where it is, to convergence.

Stochastic gradient descent as `float_network.train` takes it, until the loss is small or falls no
more. The rate is constant and a fifth of the one from scratch: images that a network was not made
for begin with losses of 5 nat and more, whose first steps would silence its relus for good.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .float_network import Network, Parameters, Recipe, descend, gradient, round_to_grid


class Stop(NamedTuple):
    """When training has converged; it is looked at every `look` steps.

    loss       mean since the last look, in nat, that is small enough
    gain       part of the lowest loss so far by which a lower one must be lower to count
    patience   looks in a row without such a one after which training ends
    steps      at most
    """

    loss: float = 0.01
    gain: float = 0.01
    look: int = 50
    patience: int = 5
    steps: int = 2000


class Tuned(NamedTuple):
    """New parameters, the steps they took and the mean loss of the last ones, in nat."""

    parameters: Parameters
    steps: int
    loss: float


STOP = Stop()
RECIPE = Recipe(rate=0.01)


def fine_tune(
    start: Parameters,
    data: tuple[np.ndarray, np.ndarray],
    trained: tuple[str, ...],
    net: Network,
    seed: int,
    stop: Stop = STOP,
) -> Tuned:
    """Train the layers `trained`, their weights and biases; the others stay as they are.

    start    parameters to begin from, left as they are
    data     images (N, H, W, C) in 0..1 and labels (N,)
    seed     of the order of images
    raises   ValueError where the loss is no number any more
    Parameters are rounded to multiples of 2**-20 at every look, as `float_network.train` does.
    """
    p = Parameters(*({k: v.copy() for k, v in part.items()} for part in start))
    moving = Parameters(*({k: part[k] for k in trained} for part in p))
    speed = Parameters(*({k: np.zeros_like(v) for k, v in part.items()} for part in moving))
    batches = _batches(len(data[1]), seed)
    loss, best, since, steps = np.inf, np.inf, 0, 0
    while steps < stop.steps and loss >= stop.loss and since < stop.patience:
        losses = [_step(p, (moving, speed), data, next(batches), net) for _ in range(stop.look)]
        round_to_grid(moving)
        loss, steps = float(np.mean(losses)), steps + stop.look
        if not np.isfinite(loss):
            raise ValueError(f"fine_tune: loss must stay finite, got {loss} by step {steps}")
        since = 0 if loss < (1 - stop.gain) * best else since + 1
        best = min(best, loss)
    return Tuned(p, steps, loss)


def batch_of(images: int) -> int:
    """The batch of so many images: the recipe's, or all of them."""
    return min(RECIPE.batch, images)


def _batches(images: int, seed: int) -> Iterator[np.ndarray]:
    """Rows of one batch after the other, whole ones, in a new order every time through."""
    random, batch = np.random.RandomState(seed), batch_of(images)
    while True:
        order = random.permutation(images)
        yield from (order[i : i + batch] for i in range(0, images - batch + 1, batch))


def _step(
    p: Parameters,
    state: tuple[Parameters, Parameters],
    data: tuple[np.ndarray, np.ndarray],
    rows: np.ndarray,
    net: Network,
) -> float:
    """One step in place; the mean loss before it."""
    loss, slopes = gradient(p, data[0][rows], data[1][rows], net)
    descend(*state, slopes, RECIPE.rate, RECIPE.decay)
    return loss
