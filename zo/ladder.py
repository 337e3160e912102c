"""The values that q may take, and the next one above."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from fractions import Fraction
from numbers import Integral

from .metric import exact_decimal


def ladder_of(q0: int, q_max: int, ladder: Sequence[int] | None) -> tuple[int, ...]:
    """Every q from q0 to q_max, ascending: those of a ladder, else q0, powers of two and q_max.

    raises   ValueError unless 1 <= q0 <= q_max, and q0 stands in an ascending ladder
    """
    at_least("q0", q0, 1)
    at_least("q_max", q_max, q0)
    if ladder is None:
        powers = (1 << i for i in range(q_max.bit_length()))
        return tuple(sorted({q0, *(p for p in powers if q0 < p < q_max), q_max}))
    steps = list(ladder)
    if steps != sorted(set(steps)) or q0 not in steps:
        raise ValueError(f"schedule: ladder must ascend and hold q0 = {q0}, got {steps}")
    return tuple(int(q) for q in steps if q0 <= q <= q_max)


def next_rung(rungs: Sequence[int], q: int, factor: Fraction) -> int:
    """The first rung of at least factor*q, or the last."""
    return rungs[min(bisect_left(rungs, factor * q), len(rungs) - 1)]


def rung_above(rungs: Sequence[int], q: int) -> int:
    """The first rung above q, or the last."""
    return rungs[min(bisect_right(rungs, q), len(rungs) - 1)]


def factor_above_one(factor: float) -> Fraction:
    """The decimal a user wrote; ValueError unless it is above 1."""
    exact = exact_decimal("factor", factor)
    if exact <= 1:
        raise ValueError(f"schedule: factor must be above 1, got {factor!r}")
    return exact


def at_least(name: str, value: int, least: int) -> int:
    """The value if it is an integer of at least `least`; ValueError if not."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"schedule: {name} must be an integer of at least {least}, got {value!r}")
    return int(value)
