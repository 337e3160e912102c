"""One training step in real numbers: losses, estimate, update.

g_n = sum_i c_i*z_i[n] / (B*k)      nat per code, c_i as below
m   = beta*m + g
w   = w - rate_c * m                in codes of the int8 run's first scale, nothing clamped

one_sided, hadamard   c_i = (L_i - L_0) / q
centred               c_i = (L_i - mean of all L_j) / (q - 1)
central               c_i = (L(+)_i - L(-)_i) / (2*q)
sign                  c_i = sign(L_i - L_0) * B / q
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..batch import Batch, Outputs, Source
from ..loss import ONE_NAT, check_labels
from ..prng import sign_block
from ..rate import Rates
from ..sampling import Draw
from ..trainable import Group, Trainable
from ..update import FRACTION_BITS
from .network import FloatNetwork, Real, Values

Wide = NDArray[np.float64]
AT_ONCE = 256


@dataclass(frozen=True)
class FloatCrossEntropy:
    """Softmax cross-entropy of real logits.

    __call__ gives it in 2^-16 nat, rounded, as histories have it; training takes `nats`.
    """

    classes: int

    def nats(self, logits: NDArray[Any], labels: NDArray[np.int64]) -> float:
        """Summed over the batch."""
        return float(self.each(logits[np.newaxis], labels)[0])

    def each(self, logits: NDArray[Any], labels: NDArray[np.int64]) -> Wide:
        """The same of several batches with these labels, (S, B, C) -> (S,)."""
        check_labels(labels, self.classes)
        x = logits.astype(np.float64)
        x -= x.max(axis=2, keepdims=True)
        picked = x[:, np.arange(labels.size), labels]
        losses: Wide = (np.log(np.exp(x).sum(axis=2)) - picked).sum(axis=1)
        return losses

    def __call__(self, outputs: NDArray[Any], labels: NDArray[np.int64]) -> int:
        return round(self.nats(outputs, labels) * ONE_NAT)


class FloatTensor:
    """A tensor under training, beside what the int8 run knows of it.

    codes      float64 (n,), in steps of the scale at the start; of a bias, from 0
    momentum   float64 (n,), nat per code
    """

    def __init__(self, t: Trainable, constant: Real) -> None:
        self.t = t
        n = np.arange(t.state.codes.size)
        self.channel = n // t.state.inner % len(t.scales)
        self._scale = np.array(t.scales)[self.channel]
        self._shape = constant.shape
        self.codes: Wide = t.state.codes.astype(np.float64)
        self._offset = constant.reshape(-1) - self.codes * self._scale
        self.momentum: Wide = np.zeros(n.size)

    def real(self, codes: Wide) -> Real:
        """The constant that codes stand for."""
        return (self._offset + codes * self._scale).astype(np.float32).reshape(self._shape)

    def update(self, gradient: Wide, rates: Rates, draw: Draw) -> int:
        """Descend; returns how many weights changed."""
        multiplier, shift = rates.at(draw.q, draw.step)
        rate = np.ldexp(multiplier.astype(np.float64), -shift.astype(int) + FRACTION_BITS)
        self.momentum = self.t.rule.beta / 32768 * self.momentum + gradient
        step = rate[self.channel] * self.momentum
        self.codes = self.codes - step
        return int(np.count_nonzero(step))


class FloatSource:
    """The images of a run's source as batches for a float network."""

    def __init__(self, source: Source, network: FloatNetwork) -> None:
        self._source, self._network = source, network
        parts = (source.images(np.arange(i, min(i + AT_ONCE, len(source))))
                 for i in range(0, len(source), AT_ONCE))  # fmt: skip
        values = [network.prefix(part) for part in parts]
        self._prefix: Values = {i: np.concatenate([v[i] for v in values]) for i in values[0]}

    def __len__(self) -> int:
        return len(self._source)

    @property
    def originals(self) -> int:
        """Images of an epoch."""
        return self._source.originals

    def order(self, seed: int, epoch: int) -> NDArray[np.int64]:
        """The rows of an epoch in the order they are trained on."""
        return self._source.order(seed, epoch)

    def content(self) -> str:
        """As of the int8 run's source."""
        return self._source.content()

    def batch(self, rows: NDArray[np.int64]) -> Batch:
        """The batch of these images; its logits are float32."""
        prefix = {i: x[rows] for i, x in self._prefix.items()}
        head = self._network.head_input
        features = None if head is None else prefix[head].reshape(len(rows), -1)
        return Batch(self._source.labels(rows),
                     lambda: Outputs(self._network.logits(prefix), None), features)  # fmt: skip


@dataclass
class FloatStep:
    """What every step uses; takes the place of `zo.step.Step`.

    group, rates   of the int8 run
    """

    group: Group
    rates: dict[str, Rates]
    estimator: str
    loss: FloatCrossEntropy
    network: FloatNetwork

    def __post_init__(self) -> None:
        self.tensors = [FloatTensor(t, self.network.constants[t.name]) for t in self.group.tensors]

    def __call__(self, batch: Batch, draw: Draw) -> int:
        """Train on one batch; returns its loss before the step in 2^-16 nat."""

        def now() -> float:
            return self.loss.nats(batch.forward().logits, batch.labels)

        logits = batch.forward().logits
        base = self.loss.nats(logits, batch.labels)
        signs = [sign_block(draw.stream(f.t), 0, draw.q, f.codes.size).astype(np.float32)
                 for f in self.tensors]  # fmt: skip
        if batch.features is not None:
            losses = self._head_losses(logits, batch, signs[0])
        else:
            losses = np.array([self._losses(signs, i, now) for i in range(draw.q)])
        c = coefficients(self.estimator, base, losses, len(batch.labels))
        for f, z in zip(self.tensors, signs, strict=True):
            gradient = c.astype(np.float32) @ z / (len(batch.labels) * f.t.k)
            f.update(gradient, self.rates[f.t.name], draw)
            self.network.constants[f.t.name] = f.real(f.codes)
        return round(base * ONE_NAT)

    def _losses(
        self, signs: list[Real], sample: int, now: Callable[[], float]
    ) -> tuple[float, float]:
        """At +z and, under central, at -z."""
        found = [0.0, 0.0]
        for side in range(2 if self.estimator == "central" else 1):
            for f, z in zip(self.tensors, signs, strict=True):
                moved = f.codes + (1 - 2 * side) * f.t.k * z[sample]
                self.network.constants[f.t.name] = f.real(moved)
            found[side] = now()
        return found[0], found[1]

    def _head_losses(self, logits: NDArray[Any], batch: Batch, signs: Real) -> Wide:
        """The same of every sample, (q, 2), where a head is all there is: x*W + k*x*z.

        logits   x*W with the bias, of the batch
        """
        (f,), x = self.tensors, batch.features
        assert x is not None
        z = signs.reshape(-1, x.shape[1])
        steps = (x @ z.T).reshape(len(x), len(signs), -1).transpose(1, 0, 2)
        steps *= np.float32(f.t.k) * np.array(f.t.scales, np.float32)
        both = [self.loss.each(logits + steps, batch.labels)]
        if self.estimator == "central":
            both.append(self.loss.each(logits - steps, batch.labels))
        return np.stack([both[0], both[-1]], axis=1)


def coefficients(estimator: str, base: float, losses: Wide, images: int) -> Wide:
    """c (q,) of losses (q, 2), the second column those at -z."""
    q, plus = len(losses), losses[:, 0]
    if estimator == "central":
        return (plus - losses[:, 1]) / (2 * q)
    if estimator == "centred":
        return (plus - plus.mean()) / (q - 1)
    if estimator == "sign":
        return np.sign(plus - base) * images / q
    return (plus - base) / q
