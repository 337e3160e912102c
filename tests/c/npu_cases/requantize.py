"""Calls of npusim/c/requantize.h: every rule for whole blocks with every other for the rest."""

from collections.abc import Iterator

import numpy as np
from kernels import drawn

from npusim.kernels.structs import Requantization, Rounding
from npusim.reference.requantize import requantize

from ..records import Case
from .arguments import INTEGER_RULES, requantization, with_integer_rules, written

TYPES = (np.int8, np.uint8, np.int16, np.int32)
START = 3


def cases(random: np.random.Generator) -> Iterator[Case]:
    for rule in INTEGER_RULES:
        for rest in INTEGER_RULES:
            rounding = Rounding(rule, int(random.choice([1, 8, 16])), rest)
            yield _rows(random, 3, int(random.integers(1, 70)), rounding)
            for dtype in TYPES:
                yield _tensor(random, int(random.integers(0, 70)), dtype, rounding)
    for n in (0, 1, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33):
        yield _rows(random, 2, n, Rounding(int(random.choice(INTEGER_RULES)), 1, 0))
    for _ in range(60):
        r = with_integer_rules(random, drawn.requantization(random, int(random.integers(1, 40))))
        yield _call("rows", random, _layer_sums(random, 4, r), r)
        yield _call("rows_int64", random, _layer_sums(random, 4, r) << 20, r)
    for scaled in (-(2**33), -(2**31), -129, -1, 0, 1, 127, 2**31 - 1, 2**33):
        r = drawn.requantization(random, 1)
        expected = max(r.act_min, min(scaled + r.zero_point, r.act_max))
        given = {"scaled": scaled, "r": requantization(r)}
        yield Case("npu_code", given, {"return": expected})


def _rows(random: np.random.Generator, rows: int, n: int, rounding: Rounding) -> Case:
    """Any int32 and any shift; results near a tie, and out of every range."""
    r = drawn.tail(random, random.integers(-31, 32, n).tolist(), rule=rounding)
    return _call("rows", random, _sums(random, (rows, n)), r)


def _tensor(random: np.random.Generator, n: int, dtype: type, rounding: Rounding) -> Case:
    limits = np.iinfo(dtype)
    between = int(limits.min), int(limits.max)
    r = drawn.tail(random, [int(random.integers(-31, 32))], between, rounding)
    return _call("tensor", random, _sums(random, (n,)), r, dtype)


def _sums(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """int32 of every magnitude, ties among them."""
    small = random.integers(-(2**31), 2**31, shape) >> random.integers(0, 31, shape)
    ties = (2 * small + 1) << random.integers(0, 8, shape)
    sums = np.where(random.random(shape) < 0.3, ties, small)
    ends = random.choice([-(2**31), 2**31 - 1], shape)
    sums = np.where(random.random(shape) < 0.05, ends, sums)
    return np.clip(sums, -(2**31), 2**31 - 1)


def _layer_sums(random: np.random.Generator, rows: int, r: Requantization) -> np.ndarray:
    """What layers sum up to: codes come out in the middle of their range."""
    return random.integers(-(2**18), 2**18, (rows, len(r.multiplier)))


def _call(
    which: str,
    random: np.random.Generator,
    acc: np.ndarray,
    r: Requantization,
    dtype: type = np.int8,
) -> Case:
    """y holds something else before, behind and where it is written."""
    expected = written(np.concatenate([np.zeros(START, dtype), np.zeros(acc.size + 2, dtype)]))
    y = expected.copy()
    expected[START : START + acc.size] = requantize(acc.astype(np.int64), r, dtype).reshape(-1)
    given = {"r": requantization(r), "y": y, "start": START}
    if which == "tensor":
        given |= {"acc": acc.astype(np.int32), "n": acc.size}
        return Case(f"npu_requantize_tensor_{np.dtype(dtype).name}", given, {"y": expected})
    given |= {"acc": acc.astype(np.int64 if which == "rows_int64" else np.int32)}
    given |= {"rows": acc.shape[0], "n": acc.shape[1]}
    return Case(f"npu_requantize_{which}", given, {"y": expected})
