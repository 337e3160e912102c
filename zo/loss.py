"""Losses in integers, summed over a batch, in units of 2^-16 (nat for cross-entropy).

    d_j = max(a) - a_j,   L = T[d_label] + ln_q16(sum_j E[d_j])

for int8 logits a with zero point 0. E and T hold exp(-s*d) and s*d for each of the 256 values of d;
ln_q16 interpolates a table of 257 logarithms. A loss is any callable that obeys `Loss`: its value
needs no derivative, so accuracy itself may be one.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .fixed_point import floor_log2, ratio, round_half_up, rs
from .twins import twin

ONE_NAT = 1 << 16
EXP_BITS = 20
LOG_BITS = 24
LN2_Q24 = 11629080
EXPONENTS = 7
MAX_CLASSES = 2047
MAX_SCALE = 2.0

_EXACT = Context(prec=40, rounding=ROUND_FLOOR)


class Loss(Protocol):
    """What training asks of a loss.

    __call__   outputs int8 (B, ...), labels int64 (B,) -> int: the sum over the batch, never a mean
    bound      every value for a batch of B lies in 0..bound(B); it proves that no sum overflows
    """

    def __call__(self, outputs: NDArray[np.int8], labels: NDArray[np.int64]) -> int: ...

    def bound(self, batch: int) -> int: ...


class Tables(NamedTuple):
    """Row e serves logits of scale 2^e * s.

    exp    int32 (7, 256): round(2^20 * exp(-2^e*s*d))
    loss   int32 (7, 256): round(2^16 * 2^e*s*d)
    """

    exp: NDArray[np.int32]
    loss: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class CrossEntropy:
    """Softmax cross-entropy of int8 logits in 2^-16 nat; make one with `cross_entropy_loss`.

    labels lie in 0..classes-1.
    exponent   the logits' scale is 2^exponent * s; one more after each recalibration
    """

    classes: int
    tables: Tables
    exponent: int = 0

    def __call__(self, outputs: NDArray[np.int8], labels: NDArray[np.int64]) -> int:
        return int(self.each(outputs[None], labels)[0])

    def each(self, outputs: NDArray[np.int8], labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """The loss of each of S outputs for one batch: int8 (S, B, C), int64 (B,) -> int64 (S,)."""
        check_labels(labels, self.classes)
        if outputs.dtype != np.int8 or outputs.shape[1:] != (labels.size, self.classes):
            want = f"int8 ({labels.size}, {self.classes})"
            raise ValueError(
                f"loss: logits must be {want}, got {outputs.dtype} {outputs.shape[1:]}"
            )
        sums = np.empty(outputs.shape[0], np.int64)
        exp, loss = self.exp, self.loss
        cross_entropy(np.ascontiguousarray(outputs), labels, exp, loss, log_table(), sums)
        return sums

    @property
    def exp(self) -> NDArray[np.int32]:
        """E of the present scale, int32 (256,)."""
        return self.tables.exp[self.exponent]

    @property
    def loss(self) -> NDArray[np.int32]:
        """T of the present scale, int32 (256,)."""
        return self.tables.loss[self.exponent]

    def bound(self, batch: int) -> int:
        """T[255] + ln C per image, and one unit for the error of ln_q16."""
        log = ln_q16(np.array([self.classes << EXP_BITS], np.int64))
        return batch * (int(self.loss[255]) + int(log[0]) + 1)

    def doubled(self) -> "CrossEntropy":
        """The loss after the logits' scale has doubled; ValueError after six doublings."""
        if self.exponent + 1 == EXPONENTS:
            raise ValueError(
                f"loss: the logit scale must double {EXPONENTS - 1} times at most, got another"
            )
        return replace(self, exponent=self.exponent + 1)


@dataclass(frozen=True, eq=False)
class SquaredError:
    """Mean over the outputs of the squared error, in 2^-16 squared units; see `squared_error_loss`.

    L = rs(sum (a - codes[label])^2 * m, t),   m*2^-t = 2^16 * s^2 / outputs
    """

    codes: NDArray[np.int8]
    multiplier: int
    right_shift: int

    def __call__(self, outputs: NDArray[np.int8], labels: NDArray[np.int64]) -> int:
        check_labels(labels, len(self.codes))
        wanted = (labels.size, self.codes.shape[1])
        if outputs.shape != wanted or outputs.dtype != np.int8:
            got = f"{outputs.dtype} {outputs.shape}"
            raise ValueError(f"loss: outputs must be int8 {wanted}, got {got}")
        total = int(squared_error(outputs.reshape(-1), self.codes[labels].reshape(-1)))
        return rs(total * self.multiplier, self.right_shift)

    def bound(self, batch: int) -> int:
        return rs(batch * self.codes.shape[1] * 255**2 * self.multiplier, self.right_shift)


@dataclass(frozen=True)
class ErrorCount:
    """Accuracy as a loss: 2^16 for every image whose largest logit is not its label's.

    Among equal logits the lowest index counts as largest.
    """

    classes: int

    def __call__(self, outputs: NDArray[np.int8], labels: NDArray[np.int64]) -> int:
        check_labels(labels, self.classes)
        return ONE_NAT * int(count_errors(outputs, labels))

    def bound(self, batch: int) -> int:
        return ONE_NAT * batch


@dataclass(frozen=True)
class UserLoss:
    """Any function of outputs and labels with a declared bound.

    function    (outputs int8 (B, ...), labels int64 (B,)) -> int, 0 <= value <= B * per_image
    per_image   the bound, in the function's own unit; `ONE_NAT` per unit keeps usual learning rates
    """

    function: Callable[[NDArray[np.int8], NDArray[Any]], int]
    per_image: int

    def __call__(self, outputs: NDArray[np.int8], labels: NDArray[np.int64]) -> int:
        value = self.function(outputs, labels)
        name = getattr(self.function, "__name__", "loss")
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise TypeError(f"{name}: must return an integer, got {type(value).__name__}")
        bound = self.bound(len(outputs))
        if not 0 <= value <= bound:
            raise ValueError(f"{name}: must lie in 0..{bound} as declared, got {value}")
        return int(value)

    def bound(self, batch: int) -> int:
        return batch * self.per_image


def cross_entropy_loss(scale: float, classes: int, where: str = "logits") -> CrossEntropy:
    """Cross-entropy for logits of this scale.

    scale     real value of one step of a logit, below 2.0 so that T fits int32 after six doublings
    classes   at most 2047, so that a sum of E fits int32
    where     named in errors
    raises    ValueError outside these ranges
    """
    if not 1 <= classes <= MAX_CLASSES:
        raise ValueError(f"{where}: cross-entropy takes 1..{MAX_CLASSES} classes, got {classes}")
    if not (math.isfinite(scale) and 0.0 < scale < MAX_SCALE):
        raise ValueError(
            f"{where}: scale must be above 0 and below {MAX_SCALE} for cross-entropy, got {scale}; "
            "requantise the logits"
        )
    exact = Fraction(float(scale))
    loss = [
        [round_half_up(ONE_NAT * exact * d * 2**e) for d in range(256)] for e in range(EXPONENTS)
    ]
    exp = [[_exp_code(exact * d * 2**e) for d in range(256)] for e in range(EXPONENTS)]
    return CrossEntropy(classes, Tables(_frozen(exp), _frozen(loss)))


def squared_error_loss(scale: float, codes: NDArray[np.int8]) -> SquaredError:
    """Mean squared error of outputs of this scale to the row of `codes` that a label names.

    scale    real value of one step of an output
    codes    int8 (rows, outputs): one row per class, or one per image where labels number images
    raises   TypeError for other codes
    """
    if codes.dtype != np.int8 or codes.ndim != 2:
        raise TypeError(
            f"loss: codes must be int8 (rows, outputs), got {codes.dtype} {codes.shape}"
        )
    outputs = codes.shape[1]
    return SquaredError(codes, *ratio(ONE_NAT * Fraction(float(scale)) ** 2 / outputs))


def each(loss: Loss, outputs: NDArray[np.int8], labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """The loss of each of S outputs (S, B, ...) for one batch of labels: int64 (S,)."""
    if isinstance(loss, CrossEntropy):
        return loss.each(outputs, labels)
    return np.array([loss(sample, labels) for sample in outputs], np.int64)


def check_labels(labels: NDArray[np.int64], classes: int) -> None:
    """Raise unless labels are int64 (B,) in 0..classes-1."""
    if labels.dtype != np.int64 or labels.ndim != 1:
        raise TypeError(f"labels: must be int64 (batch,), got {labels.dtype} {labels.shape}")
    if labels.size and int(labels.view(np.uint64).max()) >= classes:
        wrong = labels[(labels < 0) | (labels >= classes)][0]
        raise ValueError(f"labels: must be 0..{classes - 1}, got {wrong}")


def ln_q16(v: NDArray[np.int64]) -> NDArray[np.int64]:
    """2^16 * ln(v / 2^20) for v in 1..2^31, within -0.63..+0.51 units from v = 2^20 on.

    e = floor(log2 v), f = ((v << 24) >> e) - 2^24, i = f >> 16, r = f & 65535
    y = (e - 20)*11629080 + N[i] + rs((N[i+1] - N[i])*r, 16),   result rs(y, 8)
    """
    table = log_table().astype(np.int64)
    e = floor_log2(v)
    f = ((v << LOG_BITS) >> e) - (1 << LOG_BITS)
    i, r = f >> 16, f & 65535
    y = (e - EXP_BITS) * LN2_Q24 + table[i] + rs((table[i + 1] - table[i]) * r, 16)
    return rs(y, 8)


@cache
def log_table() -> NDArray[np.int32]:
    """N[i] = round(2^24 * ln(1 + i/256)), i = 0..256: int32 (257,)."""
    logs = (_EXACT.ln(_EXACT.divide(Decimal(256 + i), Decimal(256))) for i in range(257))
    return _frozen([_round(_EXACT.multiply(log, Decimal(1 << LOG_BITS))) for log in logs])


@twin
def cross_entropy(
    outputs: NDArray[np.int8],
    labels: NDArray[np.int64],
    exp: NDArray[np.int32],
    loss: NDArray[np.int32],
    log: NDArray[np.int32],
    sums: NDArray[np.int64],
) -> None:
    """sums (S,) = losses of outputs (S, B, C) for labels (B,); exp and loss (256,), log (257,)."""
    a = outputs.astype(np.int64)
    d = a.max(axis=2, keepdims=True) - a
    total = exp.astype(np.int64)[d].sum(axis=2)
    at_label = d[:, np.arange(labels.size), labels]
    sums[:] = (loss.astype(np.int64)[at_label] + ln_q16(total)).sum(axis=1)


@twin
def squared_error(outputs: NDArray[np.int8], targets: NDArray[np.int8]) -> int:
    """Sum of (a - t)^2 over (n,), int64."""
    difference = outputs.astype(np.int64) - targets
    return int((difference * difference).sum())


@twin
def count_errors(outputs: NDArray[np.int8], labels: NDArray[np.int64]) -> int:
    """How many rows of outputs (B, C) have their first maximum elsewhere than at the label."""
    return int(np.count_nonzero(outputs.argmax(axis=1) != labels))


def _exp_code(x: Fraction) -> int:
    """round(2^20 * exp(-x)); in decimal, because libraries of floats differ in the last bit."""
    exponent = _EXACT.divide(Decimal(-x.numerator), Decimal(x.denominator))
    return _round(_EXACT.multiply(_EXACT.exp(exponent), Decimal(1 << EXP_BITS)))


def _round(x: Decimal) -> int:
    return int(_EXACT.add(x, Decimal("0.5")).to_integral_value(ROUND_FLOOR))


def _frozen(rows: list[Any]) -> NDArray[np.int32]:
    table = np.array(rows, np.int32)
    table.setflags(write=False)
    return table
