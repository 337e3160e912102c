"""One training step, all of it in integers: losses, estimate, update.

    L_0 at w, L_i at w + k*z_i  ->  c_i  ->  g = sum_i c_i*z_i  ->  new codes

Tensors trained by zeroth order are perturbed together; the head's exact gradient is taken at the
unperturbed codes. All updates happen at the end.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from npusim import Session

from .batch import Batch, Outputs
from .classifier import Classifier
from .estimate import (
    Estimate,
    UserEstimator,
    accumulate,
    accumulate_saturated,
    add_halves,
    central,
    centred,
    one_sided,
    sign,
    user_estimate,
)
from .evidence import Evidence, Watcher
from .exact_head import doubled_scale, head_error, head_gradient
from .fixed_point import Ratio
from .loss import CrossEntropy, Loss
from .options import Method
from .prng import rounding_stream
from .rate import Rates
from .sampling import (
    Draw,
    HeadAlone,
    central_losses,
    head_losses,
    one_sided_losses,
    saturated_losses,
)
from .trainable import Group, Trainable
from .update import gradient_scale, update

Gradient = tuple[NDArray[np.int64], Ratio]
"""g (n,), and the scale that brings it to the unit of momentum."""


@dataclass
class Step:
    """What every step of a run uses; `loss` changes when the logits' scale doubles.

    rates        by tensor name
    classifier   the graph's head, or None
    head_alone   take the losses of the head's weights from a matrix of signs
    watcher      is shown the evidence of every step that perturbs, or None
    """

    session: Session
    group: Group
    rates: dict[str, Rates]
    method: Method
    classifier: Classifier | None
    loss: Loss
    head_alone: bool
    watcher: Watcher | None = None

    def __call__(self, batch: Batch, draw: Draw) -> int:
        """Train on one batch; returns its loss before the step, summed over the images.

        draw   seed, steps done before this one, and q
        `central` does without the unperturbed loss, and returns the mean of its own.
        """
        gradients: dict[str, Gradient] = {}
        base, losses, sums = 0, None, np.zeros(2, np.int64)
        if self.group.exact or self.method.estimator != "central":
            outputs = batch.forward()
            base = int(self.loss(outputs.logits, batch.labels))
            gradients = self.exact_gradients(batch, outputs)
        if self.group.perturbed:
            losses = self.sample_losses(batch, draw)
            for t in self.group.perturbed:
                found = _estimate(self.method.estimator, base, losses, t.k, len(batch.labels))
                gradients[t.name] = self.estimated_gradient(t, found, draw)
                if self.watcher is not None and self.watcher.wants_halves:
                    half = self._sum_of_signs(t, found.c[: found.c.size // 2], draw)
                    add_halves(half, gradients[t.name][0], sums)
        changed = {t.name: self.update(t, gradients[t.name], draw) for t in self.group.tensors}
        if self.watcher is not None and losses is not None:
            self.watcher.observe(self._evidence(base, losses, changed, sums))
        if self.method.estimator == "central" and losses is not None and not self.group.exact:
            return int(losses.sum()) // losses.size
        return base

    def sample_losses(self, batch: Batch, draw: Draw) -> NDArray[np.int64]:
        """L_1 .. L_q; for central (2, q), those of +z first."""
        if self.head_alone and batch.features is not None:
            return self._head_losses(batch, batch.features, draw)

        def loss() -> int:
            return int(self.loss(batch.forward().logits, batch.labels))

        if self.method.perturbation == "saturate":
            return saturated_losses(self.group.perturbed, loss, draw)
        if self.method.estimator == "central":
            return central_losses(self.group.perturbed, loss, draw)
        return one_sided_losses(self.group.perturbed, loss, draw)

    def estimated_gradient(self, t: Trainable, found: Estimate, draw: Draw) -> Gradient:
        """sum_i c_i*z_i of one tensor, and the scale that divides it by its denominator."""
        den = found.den * t.k if self.method.perturbation == "saturate" else found.den
        scale = gradient_scale(den, t.state.doublings.size)
        return self._sum_of_signs(t, found.c, draw), scale

    def exact_gradients(self, batch: Batch, outputs: Outputs) -> dict[str, Gradient]:
        """Gradient and scale of the head's weights and bias, as far as they are trained so."""
        if not self.group.exact:
            return {}
        assert self.classifier is not None
        assert isinstance(self.loss, CrossEntropy)
        x = outputs.features if batch.features is None else batch.features
        assert x is not None
        zero_point, ones = self.classifier.feature_zero_point, np.ones((len(x), 1), np.int8)
        error = head_error(outputs.logits, batch.labels, self.loss)
        found = {}
        for t in self.group.exact:
            assert t.exact_scale is not None
            is_bias = t.form is not None
            gradient = head_gradient(error, ones if is_bias else x, 0 if is_bias else zero_point)
            scale = doubled_scale(t.exact_scale, t.state.doublings, len(error))
            found[t.name] = gradient, scale
        return found

    def update(self, t: Trainable, gradient: Gradient, draw: Draw) -> int:
        """New codes of one tensor, brought into effect; returns how many changed."""
        rate = self.rates[t.name].at(draw.q, draw.step)
        stream = rounding_stream(draw.seed, draw.step, t.stream)
        changed = update(t.state, *gradient, rate, t.rule, stream)
        t.write()
        return changed

    def _sum_of_signs(self, t: Trainable, c: NDArray[np.int64], draw: Draw) -> NDArray[np.int64]:
        """sum_i c_i*z_i over the first samples; of the steps really taken where codes saturate."""
        gradient = np.zeros(t.state.codes.size, np.int64)
        if self.method.perturbation == "saturate":
            accumulate_saturated(gradient, c, t.state.codes, t.k, draw.stream(t))
        else:
            accumulate(gradient, c, draw.stream(t))
        return gradient

    def _evidence(
        self,
        base: int,
        losses: NDArray[np.int64],
        changed: Mapping[str, int],
        halves: NDArray[np.int64],
    ) -> Evidence:
        """What the step shows; codes of the exact gradient do not count."""
        perturbed = self.group.perturbed
        if self.method.estimator == "central":
            base, losses = 0, losses[0] - losses[1]
        return Evidence(
            base,
            losses,
            sum(changed[t.name] for t in perturbed),
            sum(t.state.codes.size for t in perturbed),
            *(int(s) for s in halves),
        )

    def _head_losses(
        self, batch: Batch, features: NDArray[np.int8], draw: Draw
    ) -> NDArray[np.int64]:
        assert self.classifier is not None
        (weights,) = self.group.perturbed
        head = HeadAlone(self.session, self.classifier, weights, features, batch.labels)
        if self.method.estimator == "central":
            both = [head_losses(head, self.loss, draw, direction) for direction in (1, -1)]
            return np.stack(both)
        return head_losses(head, self.loss, draw)


def _estimate(
    estimator: str | UserEstimator, base: int, losses: NDArray[np.int64], k: int, images: int
) -> Estimate:
    if estimator == "central":
        return central(losses[0], losses[1], k, images)
    if not isinstance(estimator, str):
        return user_estimate(estimator, base, losses, k, images)
    one_loss_each = {"one_sided": one_sided, "centred": centred, "sign": sign,
                     "hadamard": one_sided}  # fmt: skip
    return one_loss_each[estimator](base, losses, k, images)
