"""Learning rates that need no search: from the size of the features, or of loss differences.

    head, zeroth order   lr = 0.006*q / mean(||x||^2)          x real features
    head, exact          lr = 2 / mean(||x||^2)
    below the head       lr = k*S^2*sqrt(q) / (16*D), so that a first step moves a code by 1/16;
                         D = rms(L_i - L_0) per image, 0.08 nat or more
    estimator sign       as below the head, with D = 1

The floor keeps a model that already works from being wrecked: its losses hardly differ, and a
relative rate would make large steps of noise. Features whose mean is large beside what tells the
classes apart make ||x||^2 large and the head's rate low: give `lr` then.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from .batch import Source
from .loss import ONE_NAT, Loss
from .options import Options
from .perturb import FULL_RANGE
from .rate import LearningRate, Rates
from .sampling import Draw, one_sided_losses, saturated_losses
from .schedule import Schedule
from .trainable import Group, Trainable

HEAD_RATE = 0.006
EXACT_HEAD_RATE = 2.0
FIRST_MOVE = 1 / 16
MIN_DIFFERENCE = 0.08
PROBES = 16
PROBE_STEP = 2**32 - 1
PROBE_IMAGES = 256


def choose_rates(
    group: Group, source: Source, loss: Loss, schedule: Schedule, options: Options
) -> dict[str, Rates]:
    """The integer rates of every tensor, as the method says or by the rules above.

    source     the training images
    schedule   before its first step: a given `lr` is meant for its present q
    An exact gradient does not get better with q, so its rate does not follow it.
    """
    method, steps = options.method, options.epochs * options.steps_per_epoch(source.originals)
    q = schedule.q

    @cache
    def norm() -> float:
        return mean_square_features(source)

    rates = {}
    for t in group.tensors:
        lr = method.lr_of(t.name)
        if lr is None and t.exact:
            lr = EXACT_HEAD_RATE / norm()
        elif lr is None and source.is_head(t.name) and method.estimator != "sign":
            lr = HEAD_RATE * q / norm()
        elif lr is None:
            lr = first_move_rate(t, q, _difference(t, source, loss, options))
        scaling = "none" if t.exact else method.lr_scaling
        rate = LearningRate(lr, scaling, method.decay, method.space)
        rates[t.name] = rate.rates(t.scales, schedule.rungs, q, steps)
    return rates


def first_move_rate(t: Trainable, q: int, difference: float) -> float:
    """The rate that moves a code by 1/16 in the first step, for losses that differ by so much."""
    step = sum(scale * scale for scale in t.scales) / len(t.scales)
    return FIRST_MOVE * t.k * step * float(np.sqrt(q)) / difference


def mean_square_features(source: Source) -> float:
    """Mean of ||x||^2 of what the head reads, real units, over the first images."""
    x, scale, zero_point = source.features(_first_rows(source))
    deviation = x.astype(np.int64) - zero_point
    return int((deviation * deviation).sum()) / len(x) * scale**2


def loss_difference(t: Trainable, source: Source, loss: Loss, seed: int) -> float:
    """Root mean square of L_i - L_0 per image, in the loss's unit (nat), at least 0.08.

    One batch and 16 perturbations of this tensor alone, with signs no training step uses.
    """
    batch = source.batch(_first_rows(source))

    def now() -> int:
        return int(loss(batch.forward().logits, batch.labels))

    probe = saturated_losses if t.rule.rails == FULL_RANGE else one_sided_losses
    differences = probe([t], now, Draw(seed, PROBE_STEP, PROBES)) - now()
    return max(MIN_DIFFERENCE, _rms(differences) / len(batch.labels) / ONE_NAT)


def _difference(t: Trainable, source: Source, loss: Loss, options: Options) -> float:
    if options.method.estimator == "sign":
        return 1.0
    return loss_difference(t, source, loss, options.seed)


def _first_rows(source: Source) -> NDArray[np.int64]:
    return np.arange(min(PROBE_IMAGES, len(source)))


def _rms(values: NDArray[np.int64]) -> float:
    return float(np.sqrt(sum(int(v) ** 2 for v in values) / len(values)))
