"""Learning rates that need no search: from the size of the features, or of loss differences.

    head, zeroth order   lr = 0.006*q / mean(||x||^2)          x real features
    head, exact          lr = 2 / mean(||x||^2)
    below the head       lr = k*S^2*sqrt(q) / (16*D), so that a first step moves a code by 1/16;
                         D = rms(L_i - L_0) per image, 0.08 nat or more

The floor keeps a model that already works from being wrecked: its losses hardly differ, and a
relative rate would make large steps of noise.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from npusim import Session

from .batch import Source
from .classifier import Classifier
from .loss import ONE_NAT, Loss
from .options import Method
from .perturb import FULL_RANGE
from .rate import LearningRate
from .sampling import Draw, one_sided_losses, saturated_losses
from .trainable import Group, Trainable

HEAD_RATE = 0.006
EXACT_HEAD_RATE = 2.0
FIRST_MOVE = 1 / 16
MIN_DIFFERENCE = 0.08
PROBES = 16
PROBE_STEP = 2**32 - 1
PROBE_IMAGES = 256


def learning_rates(
    group: Group,
    method: Method,
    q: int,
    norm: float,
    difference: Mapping[str, float],
) -> dict[str, LearningRate]:
    """The rate of every tensor, as the method says or by the rules above.

    q            the schedule's first
    norm         mean ||x||^2 of what the head reads, from `mean_square_features`
    difference   D of each tensor below the head, from `loss_difference`
    """
    rates = {}
    for t in group.tensors:
        given = method.lr.get(t.name) if isinstance(method.lr, Mapping) else method.lr
        if given is not None:
            lr = given
        elif t.exact:
            lr = EXACT_HEAD_RATE / norm
        elif t.name in difference:
            step = sum(scale * scale for scale in t.scales) / len(t.scales)
            lr = FIRST_MOVE * t.k * step * float(np.sqrt(q)) / difference[t.name]
        else:
            lr = HEAD_RATE * q / norm
        rates[t.name] = LearningRate(lr, method.lr_scaling, method.decay, method.space)
    return rates


def mean_square_features(session: Session, source: Source, classifier: Classifier) -> float:
    """Mean of ||x||^2 of what the head reads, real units, over the first images."""
    rows = np.arange(min(PROBE_IMAGES, len(source)))
    x = source.batch(rows).features
    if x is None:
        x = dict(session.trace(source.images(rows)))[classifier.features]
    deviation = x.astype(np.int64) - classifier.feature_zero_point
    return int((deviation * deviation).sum()) / len(rows) * classifier.feature_scale**2


def loss_difference(t: Trainable, source: Source, loss: Loss, seed: int) -> float:
    """Root mean square of L_i - L_0 per image, in the loss's unit (nat), at least 0.08.

    One batch and 16 perturbations of this tensor alone, with signs no training step uses.
    """
    batch = source.batch(np.arange(min(PROBE_IMAGES, len(source))))

    def now() -> int:
        return int(loss(batch.forward().logits, batch.labels))

    probe = saturated_losses if t.rule.rails == FULL_RANGE else one_sided_losses
    differences = probe([t], now, Draw(seed, PROBE_STEP, PROBES)) - now()
    return max(MIN_DIFFERENCE, _rms(differences) / len(batch.labels) / ONE_NAT)


def _rms(values: NDArray[np.int64]) -> float:
    return float(np.sqrt(sum(int(v) ** 2 for v in values) / len(values)))
