"""Zeroth-order training in Python integers: one weight, one sample and one image at a time.

Nothing here imports zo. Codes, losses and gradients are plain lists; floor division and remainders
stand where the fast code shifts and masks.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from .rounding import INT32_MAX, INT32_MIN, clamp, requantize_double_rounding

SIGNS, ROUNDING, SHUFFLING, AUGMENTATION = 0, 1, 2, 3


def rs(x: int, t: int) -> int:
    """x / 2^t to nearest, ties toward +infinity; negative t multiplies."""
    return math.floor(Fraction(x) / Fraction(2) ** t + Fraction(1, 2)) if t > 0 else x * 2**-t


def philox(key: tuple[int, int], counter: tuple[int, int, int, int]) -> list[int]:
    """Philox4x32-10: four words of 32 bits."""
    words, (k0, k1) = list(counter), key
    for _ in range(10):
        first, second = words[0] * 0xD2511F53, words[2] * 0xCD9E8D57
        words = [
            second // 2**32 ^ words[1] ^ k0,
            second % 2**32,
            first // 2**32 ^ words[3] ^ k1,
            first % 2**32,
        ]
        k0, k1 = (k0 + 0x9E3779B9) % 2**32, (k1 + 0xBB67AE85) % 2**32
    return words


def word(seed: int, purpose: int, where: tuple[int, int, int], n: int) -> int:
    """Word n of the stream where = (tensor, sample, step)."""
    key = (seed % 2**32, seed // 2**32 ^ purpose)
    return philox(key, (n // 4, *where))[n % 4]


def signs(seed: int, step: int, sample: int, tensor: int, n: int) -> list[int]:
    """z of the weights 0..n-1: bit i mod 32 of word i div 32."""
    where = (tensor, sample, step)
    words = [word(seed, SIGNS, where, i) for i in range((n + 31) // 32)]
    return [1 if words[i // 32] // 2 ** (i % 32) % 2 else -1 for i in range(n)]


def hadamard(seed: int, step: int, row: int, tensor: int, n: int) -> list[int]:
    """Row of a Hadamard matrix, its columns turned by the signs of sample 0."""
    columns = signs(seed, step, 0, tensor, n)
    return [z * (-1) ** (row & i).bit_count() for i, z in enumerate(columns)]


def shuffle(seed: int, epoch: int, n: int) -> list[int]:
    """Fisher-Yates from the end."""
    order = list(range(n))
    for i in range(n - 1, 0, -1):
        j = word(seed, SHUFFLING, (0, 0, epoch), i) * (i + 1) // 2**32
        order[i], order[j] = order[j], order[i]
    return order


def perturb(codes: list[int], k: int, z: list[int]) -> list[int]:
    """w + k*z."""
    return [w + k * sign for w, sign in zip(codes, z, strict=True)]


def ln_q16(v: int) -> int:
    """2^16 ln(v / 2^20) from 257 logarithms in 2^-24."""
    e = v.bit_length() - 1
    f = v * 2**24 // 2**e - 2**24
    i, r = f // 65536, f % 65536
    low, high = (math.floor(2**24 * math.log(1 + j / 256) + 0.5) for j in (i, i + 1))
    return rs((e - 20) * 11629080 + low + rs((high - low) * r, 16), 8)


def cross_entropy(rows: list[list[int]], labels: list[int], scale: float) -> int:
    """Sum over the rows of -log softmax at the label, in 2^-16 nat."""
    total = 0
    for row, label in zip(rows, labels, strict=True):
        distances = [max(row) - a for a in row]
        partition = sum(exp_q20(scale * d) for d in distances)
        total += math.floor(2**16 * scale * distances[label] + 0.5) + ln_q16(partition)
    return total


def exp_q20(x: float) -> int:
    """round(2^20 exp(-x))."""
    return math.floor(2**20 * math.exp(-x) + 0.5)


def coefficients(
    estimator: str, base: int, losses: list[int], k: int, batch: int
) -> tuple[list[int], int]:
    """(c, denominator); for central, losses are those of +z_1, -z_1, +z_2, -z_2, ..."""
    if estimator == "central":
        pairs = zip(losses[::2], losses[1::2], strict=True)
        return [plus - minus for plus, minus in pairs], len(losses) * batch * k
    q, differences = len(losses), [loss - base for loss in losses]
    if estimator == "centred":
        return [q * d - sum(differences) for d in differences], q * (q - 1) * batch * k
    if estimator == "sign":
        return [((d > 0) - (d < 0)) * batch * 2**16 for d in differences], q * batch * k
    return differences, q * batch * k


def head_error(rows: list[list[int]], labels: list[int], scale: float) -> list[list[int]]:
    """2^16 (softmax - onehot), zero where a logit's rail blocks it."""
    errors = []
    for row, label in zip(rows, labels, strict=True):
        exps = [exp_q20(scale * (max(row) - a)) for a in row]
        partition = sum(exps)
        error = [(e * 65536 + partition // 2) // partition for e in exps]
        error[label] -= 65536
        for j, a in enumerate(row):
            if (a == 127 and error[j] < 0) or (a == -128 and error[j] > 0):
                error[j] = 0
        errors.append(error)
    return errors


def head_gradient(errors: list[list[int]], x: list[list[int]], zero_point: int) -> list[int]:
    """sum over the batch of err[c] * (x[d] - zero_point), [c][d] flattened."""
    batch = range(len(x))
    return [
        sum(errors[b][c] * (x[b][d] - zero_point) for b in batch)
        for c in range(len(errors[0]))
        for d in range(len(x[0]))
    ]


def pair(x: Fraction) -> tuple[int, int]:
    """The largest s for which round(x * 2^s) has 16 bits, and that number first."""
    for s in range(400, -400, -1):
        m = math.floor(x * Fraction(2) ** s + Fraction(1, 2))
        if 2**15 <= m < 2**16:
            return m, s
    raise AssertionError(x)


@dataclass
class Tensor:
    """A trainable tensor: int8 codes, and residual, momentum, doublings (per channel)."""

    codes: list[int]
    channels: int
    inner: int
    stream: int
    residual: list[int] = field(default_factory=list)
    momentum: list[int] = field(default_factory=list)
    doublings: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.residual = self.residual or [0] * len(self.codes)
        self.momentum = self.momentum or [0] * len(self.codes)
        self.doublings = self.doublings or [0] * self.channels

    def channel(self, n: int) -> int:
        """The channel of weight n."""
        return n // self.inner % self.channels


@dataclass
class Settings:
    """What stays the same through a run; beta in Q15, threshold in 2^-16 code."""

    seed: int
    k: int
    batch: int
    estimator: str = "one_sided"
    rule: str = "error_feedback"
    beta: int = 29491
    threshold: int = 1 << 15


def training_step(
    tensors: list[Tensor],
    evaluate: Callable[[], int],
    settings: Settings,
    step: int,
    q: int,
    rates: list[list[tuple[int, int]]],
) -> list[int]:
    """One step of all tensors; returns the coefficients.

    evaluate   the loss summed over the step's batch, at the present codes
    rates      per tensor and channel (Lt, Ls), decay included and doublings not
    """
    base, losses = evaluate(), []
    draw = hadamard if settings.estimator == "hadamard" else signs
    for sample in range(q):
        for direction in (1, -1) if settings.estimator == "central" else (1,):
            before = [tensor.codes for tensor in tensors]
            for tensor in tensors:
                z = draw(settings.seed, step, sample, tensor.stream, len(tensor.codes))
                tensor.codes = perturb(tensor.codes, direction * settings.k, z)
            losses.append(evaluate())
            for tensor, codes in zip(tensors, before, strict=True):
                tensor.codes = codes
    c, den = coefficients(settings.estimator, base, losses, settings.k, settings.batch)
    for tensor, rate in zip(tensors, rates, strict=True):
        n = len(tensor.codes)
        rows = [draw(settings.seed, step, sample, tensor.stream, n) for sample in range(q)]
        gradient = [sum(c[i] * rows[i][w] for i in range(q)) for w in range(n)]
        update(tensor, scaled_gradient(gradient, den), rate, settings, step)
    return c


def scaled_gradient(gradient: list[int], den: int) -> list[int]:
    """gradient / den in 2^-24."""
    bits = den.bit_length()
    factor = (2 ** (15 + bits) + den // 2) // den
    return [rs(g * factor, 15 + bits - 8) for g in gradient]


def update(
    tensor: Tensor,
    gradient: list[int],
    rate: list[tuple[int, int]],
    settings: Settings,
    step: int,
) -> None:
    """Momentum and one step of each code; gradient in 2^-24 per code."""
    lo, hi = -127 + settings.k, 127 - settings.k
    for n, g in enumerate(gradient):
        m = clamp(rs(tensor.momentum[n] * settings.beta, 15) + g, INT32_MIN, INT32_MAX)
        tensor.momentum[n] = m
        multiplier, shift = rate[tensor.channel(n)]
        shift += 2 * tensor.doublings[tensor.channel(n)]
        u = 0 if shift >= 63 else rs(m * multiplier, shift)
        w = tensor.codes[n]
        if settings.rule == "error_feedback":
            master = clamp(w * 65536 + tensor.residual[n] - u, lo * 65536, hi * 65536)
            tensor.codes[n] = rs(master, 16)
            tensor.residual[n] = master - tensor.codes[n] * 65536
            continue
        if settings.rule == "nearest":
            move = rs(u, 16)
        elif settings.rule == "stochastic":
            noise = word(settings.seed, ROUNDING, (tensor.stream, 0, step), n) // 65536
            move = (u + noise) // 65536
        else:
            least = settings.threshold if settings.rule == "threshold" else 1
            move = 0 if abs(u) < least else (1 if u > 0 else -1)
        tensor.codes[n] = clamp(w - move, lo, hi)


def recalibrate(
    tensor: Tensor, bias: list[int], shift: list[int], k: int, keeps_residual: bool
) -> list[int]:
    """Double the scale of channels with more than 1 % of their codes at a rail; returns them."""
    doubled = []
    for c in range(tensor.channels):
        mine = [n for n in range(len(tensor.codes)) if tensor.channel(n) == c]
        at_rail = sum(abs(tensor.codes[n]) == 127 - k for n in mine)
        if Fraction(at_rail, len(mine)) <= Fraction(1, 100):
            continue
        for n in mine:
            master = rs(tensor.codes[n] * 65536 + tensor.residual[n], 1)
            tensor.codes[n] = rs(master, 16)
            tensor.residual[n] = master - tensor.codes[n] * 65536 if keeps_residual else 0
            tensor.momentum[n] = clamp(2 * tensor.momentum[n], INT32_MIN, INT32_MAX)
        tensor.doublings[c] += 1
        bias[c] = rs(bias[c], 1)
        shift[c] += 1
        doubled.append(c)
    return doubled


def cosine(j: int) -> int:
    """2^14 (1 + cos(pi j / 1024))."""
    return math.floor(2**14 * (1 + math.cos(math.pi * j / 1024)) + 0.5)


def decayed(rate: tuple[int, int], t: int, steps: int) -> tuple[int, int]:
    """The cosine's multiplier with t of `steps` steps done."""
    return rs(rate[0] * cosine(min(1023, 1024 * t // steps)), 15), rate[1]


@dataclass
class Head:
    """A fully connected int8 layer with output zero point 0, under double rounding."""

    bias: list[int]
    multiplier: list[int]
    shift: list[int]
    zero_point: int

    def logits(self, x: list[list[int]], codes: list[int]) -> list[list[int]]:
        """Rows of int8 logits of rows of int8 inputs; codes are [c][d] flattened."""
        rows = []
        for features in x:
            row = []
            for c, bias in enumerate(self.bias):
                acc = bias
                for d, feature in enumerate(features):
                    acc += (feature - self.zero_point) * codes[c * len(features) + d]
                y = requantize_double_rounding(acc, self.multiplier[c], self.shift[c])
                row.append(clamp(y, -128, 127))
            rows.append(row)
        return rows
