"""The losses of q perturbations, four ways.

    one_sided_losses    w + k*z_i in place: one pass over the weights between two samples
    central_losses      w + k*z_i, then w - k*z_i, then back
    saturated_losses    clamp(w + k*z_i), and w again from a copy
    head_losses         a head alone: nothing is written, x*W + k*x*z_i

`loss` is the summed loss at the codes in effect. Every way leaves the codes as they were.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from npusim import Session

from .classifier import Classifier
from .loss import Loss, each
from .perturb import advance, perturb, restore, saturate
from .prng import Stream, sign_stream
from .sampled_head import base_accumulators, logits_of_samples
from .trainable import Trainable

LossNow = Callable[[], int]


class Draw(NamedTuple):
    """Which signs a step uses: seed, steps done before, samples.

    hadamard   1 where samples are orthogonal, else 0
    """

    seed: int
    step: int
    q: int
    hadamard: int = 0

    def stream(self, t: Trainable) -> Stream:
        """The stream of one tensor's signs."""
        return sign_stream(self.seed, self.step, t.stream, self.hadamard)


def one_sided_losses(tensors: Sequence[Trainable], loss: LossNow, draw: Draw) -> NDArray[np.int64]:
    """L_1 .. L_q, int64 (q,)."""
    losses = np.empty(draw.q, np.int64)
    for i in range(draw.q):
        for t in tensors:
            if i == 0:
                perturb(t.state.codes, t.k, draw.stream(t), 0)
            else:
                advance(t.state.codes, t.k, draw.stream(t), i - 1)
            t.write()
        losses[i] = loss()
    for t in tensors:
        restore(t.state.codes, t.k, draw.stream(t), draw.q - 1)
        t.write()
    return losses


def central_losses(tensors: Sequence[Trainable], loss: LossNow, draw: Draw) -> NDArray[np.int64]:
    """The losses at +z_i and at -z_i, int64 (2, q)."""
    losses = np.empty((2, draw.q), np.int64)

    def move(steps: int, sample: int) -> None:
        for t in tensors:
            perturb(t.state.codes, steps * t.k, draw.stream(t), sample)
            t.write()

    for i in range(draw.q):
        move(1, i)
        losses[0, i] = loss()
        move(-2, i)
        losses[1, i] = loss()
        move(1, i)
    return losses


def saturated_losses(tensors: Sequence[Trainable], loss: LossNow, draw: Draw) -> NDArray[np.int64]:
    """L_1 .. L_q at clamped codes, int64 (q,)."""
    losses = np.empty(draw.q, np.int64)
    originals = [t.state.codes.copy() for t in tensors]
    for i in range(draw.q):
        for t, original in zip(tensors, originals, strict=True):
            saturate(t.state.codes, original, t.k, draw.stream(t), i)
            t.write()
        losses[i] = loss()
    for t, original in zip(tensors, originals, strict=True):
        t.state.codes[:] = original
        t.write()
    return losses


class HeadAlone(NamedTuple):
    """A head whose weights are the only thing perturbed, and the images it reads.

    features   int8 (B, I)
    labels     int64 (B,)
    """

    session: Session
    classifier: Classifier
    weights: Trainable
    features: NDArray[np.int8]
    labels: NDArray[np.int64]


def head_losses(head: HeadAlone, loss: Loss, draw: Draw, direction: int = 1) -> NDArray[np.int64]:
    """L_1 .. L_q at W + direction*k*z_i, int64 (q,)."""
    t, x = head.weights, head.features
    zero_point = head.classifier.feature_zero_point
    weights = t.state.codes.reshape(head.classifier.classes, -1)
    acc = np.empty((len(x), len(weights)), np.int32)
    base_accumulators(x, zero_point, weights, head.session.biases[t.node], acc)
    r = head.session.requantization[t.node]
    signs = (draw.stream(t), 0, draw.q, direction * t.k)
    return each(loss, logits_of_samples(x, zero_point, acc, r, signs), head.labels)
