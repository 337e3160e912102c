"""Float warm-up of a new head: plain gradient descent until it is a little better than chance.

    logits = b + W x,   p = softmax(logits),   W -= rate * (p - onehot) x^T

Every sum runs in one stated order and exp is our own polynomial, so NumPy, numba, any processor and
any number of threads leave the same bits; no BLAS and no libm takes part.
Letters: B batch, N images, O classes, I features.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from npusim.plurals import counted

from .prng import random_words, rounding_stream, shuffle
from .twins import twin

INITIAL_STEP = 2**32 - 1
"""First weights are the rounding words of a step that no training run reaches."""

LOG2_E = 1.4426950408889634
LN2_HIGH = 0.6931471803691238
LN2_LOW = 1.9082149292705877e-10
EXP_TERMS = tuple(1.0 / math.factorial(n) for n in range(1, 14))
"""1/1!, 1/2!, ... 1/13!: Taylor's series of exp, exact to the last bits on |x| < 0.35."""

Real = NDArray[np.float64]


class WarmUp(NamedTuple):
    """When to stop and how fast to go.

    accuracy   fraction of validation images at which it stops; above 1 it does all steps
    steps      at most so many steps
    batch      images per step
    rate       times the mean of ||x||^2 gives the step in logits; dimensionless
    """

    accuracy: float = 0.30
    steps: int = 500
    batch: int = 64
    rate: float = 0.4


DEFAULT = WarmUp()


class FloatHead(NamedTuple):
    """A float classifier: weights (O, I) and bias (O,), with the accuracy and steps it took."""

    weights: Real
    bias: Real
    accuracy: float
    steps: int


class Features(NamedTuple):
    """What a head reads: codes int8 (N, I), their scale and zero point, labels int64 (N,)."""

    codes: NDArray[np.int8]
    scale: float
    zero_point: int
    labels: NDArray[np.int64]

    def real(self, rows: slice | NDArray[np.int64] = slice(None)) -> Real:
        """scale * (code - zero_point) of these rows, float64 (n, I)."""
        return (self.codes[rows].astype(np.float64) - self.zero_point) * self.scale


def warm_up(
    train: Features, validation: Features, classes: int, seed: int, options: WarmUp = DEFAULT
) -> FloatHead:
    """Train a new float head until it reaches `options.accuracy` on the validation images.

    classes   number of outputs O
    seed      of the first weights, uniform in +-1/sqrt(I), and of the order of images
    raises    ValueError for an option out of its range, or fewer images than one batch
    """
    _check(options)
    if len(train.labels) < options.batch:
        raise ValueError(
            f"train: must have a batch of {counted(options.batch, 'image')} at least, "
            f"got {len(train.labels)}"
        )
    features = train.codes.shape[1]
    weights, bias = _first_weights(classes, features, seed)
    rate = options.rate / (mean_square_norm(train) * options.batch)
    held_out = validation.real()
    for step in range(options.steps + 1):
        accuracy = _accuracy(held_out, validation.labels, weights, bias)
        if accuracy >= options.accuracy or step == options.steps:
            break
        rows = _batch_rows(len(train.labels), options.batch, step, seed)
        descend(train.real(rows), train.labels[rows], weights, bias, rate)
    return FloatHead(weights, bias, accuracy, step)


def _check(options: WarmUp) -> None:
    for name, allowed, fits in (
        ("accuracy", "0 or more", options.accuracy >= 0),
        ("steps", "0 or more", options.steps >= 0),
        ("batch", "1 or more", options.batch >= 1),
        ("rate", "a positive number", 0 < options.rate < math.inf),
    ):
        if not fits:
            raise ValueError(f"warm_up: {name} must be {allowed}, got {getattr(options, name)}")


def mean_square_norm(features: Features) -> float:
    """Mean of ||x||^2 over the images, real units; the sum is made of integers."""
    deviation = features.codes.astype(np.int64) - features.zero_point
    return int((deviation * deviation).sum()) / len(features.codes) * features.scale**2


def exp(x: Real) -> Real:
    """e^x for x <= 0 by range reduction and Taylor's series; 0 below -700."""
    n = np.floor(np.maximum(x, -700.0) * LOG2_E + 0.5)
    r = (np.maximum(x, -700.0) - n * LN2_HIGH) - n * LN2_LOW
    series = np.zeros_like(r)
    for term in reversed(EXP_TERMS):
        series = (series + term) * r
    return np.where(x < -700.0, 0.0, np.ldexp(series + 1.0, n.astype(np.int32)))


@twin
def logits(x: Real, weights: Real, bias: Real, out: Real) -> None:
    """out (N, O) = bias (O,) + x (N, I) weights (O, I)^T, summed from the first feature on."""
    out[:] = bias
    for i in range(x.shape[1]):
        out += x[:, i, None] * weights[None, :, i]


@twin
def descend(x: Real, labels: NDArray[np.int64], weights: Real, bias: Real, rate: float) -> None:
    """One step of gradient descent on cross-entropy, in place; x (B, I), labels (B,).

    Softmax sums from the first class on, the gradient from the first image on.
    """
    error = np.empty((len(x), len(weights)))
    logits(x, weights, bias, error)
    error = exp(error - error.max(axis=1, keepdims=True))
    total = np.zeros(len(x))
    for o in range(error.shape[1]):
        total += error[:, o]
    error /= total[:, None]
    error[np.arange(len(x)), labels] -= 1.0
    gradient, bias_gradient = np.zeros_like(weights), np.zeros_like(bias)
    for row, e in zip(x, error, strict=True):
        gradient += e[:, None] * row[None, :]
        bias_gradient += e
    weights -= rate * gradient
    bias -= rate * bias_gradient


def _first_weights(classes: int, features: int, seed: int) -> tuple[Real, Real]:
    """Uniform in +-1/sqrt(I): weights from stream 0, bias from stream 1."""
    bound = 1.0 / np.sqrt(np.float64(features))

    def draw(tensor: int, n: int) -> Real:
        words = random_words(rounding_stream(seed, INITIAL_STEP, tensor), 0, 0, n)
        return (words.astype(np.float64) / 2.0**31 - 1.0) * bound

    return draw(0, classes * features).reshape(classes, features), draw(1, classes)


def _batch_rows(count: int, batch: int, step: int, seed: int) -> NDArray[np.int64]:
    """Rows of one step: consecutive pieces of one shuffle per pass over the images."""
    epoch, place = divmod(step, count // batch)
    return shuffle(seed, epoch, count)[place * batch : (place + 1) * batch]


def _accuracy(x: Real, labels: NDArray[np.int64], weights: Real, bias: Real) -> float:
    out = np.empty((len(x), len(weights)))
    logits(x, weights, bias, out)
    return int(np.count_nonzero(out.argmax(axis=1) == labels)) / len(labels)
