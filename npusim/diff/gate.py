"""A gate: how far a device that is known to differ may differ.

max_lsb=1,share=0.04 lets every tensor differ by one code, in at most 4 % of its elements, from what
the model makes of the device's own inputs (from side A's tensor, where that is not known). The
prefix total_ asks about side A's tensor in any case.
"""

from collections.abc import Iterator
from dataclasses import fields
from typing import NamedTuple

from .figures import Figures
from .report import UNFIT, Judged, Report

AT_LEAST = ("cosine",)
"""Figures that must not be smaller than their limit; all others must not be larger."""
TOTAL = "total_"
KEYS = ("share", *(f.name for f in fields(Figures) if f.name not in ("elements", "bias")))


class Limit(NamedTuple):
    """A figure and the largest (or, of a cosine, smallest) value it may have."""

    key: str
    value: float

    def __str__(self) -> str:
        return f"{self.key}={self.value:g}"


class Excess(NamedTuple):
    """A tensor that a limit stops; `value` is None where it has no such figure."""

    tensor: str
    limit: Limit
    value: float | None

    def __str__(self) -> str:
        if self.value is None:
            return f"{self.tensor}: {self.limit} cannot be met"
        return f"{self.tensor}: {self.limit.key} is {self.value:g}, not {self.limit.value:g}"


def parse_gate(text: str) -> tuple[Limit, ...]:
    """The limits of "max_lsb=1,share=0.04"; ValueError says which figures there are."""
    limits = []
    for part in text.split(","):
        key, mark, value = (x.strip() for x in part.partition("="))
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if key.removeprefix(TOTAL) not in KEYS or not mark or not number >= 0:
            raise ValueError(
                f"gate: must be figures with limits from 0, such as max_lsb=1,share=0.04, "
                f"got {part!r}; figures are {', '.join(KEYS)}, and each with {TOTAL} in front"
            )
        limits.append(Limit(key, number))
    return tuple(limits)


def excesses(report: Report, gate: tuple[Limit, ...]) -> Iterator[Excess]:
    """Every tensor that a limit stops; one that is unfit is stopped by all of them."""
    for tensor in report.tensors:
        for limit in gate:
            if tensor.verdict == UNFIT:
                yield Excess(tensor.name, limit, None)
            elif not _within(tensor, limit):
                yield Excess(tensor.name, limit, _value(tensor, limit))


def _within(tensor: Judged, limit: Limit) -> bool:
    value, figures = _value(tensor, limit), _figures(tensor, limit)
    if not figures.differing:
        return True
    if value is None:
        return False
    at_least = limit.key.removeprefix(TOTAL) in AT_LEAST
    return value >= limit.value if at_least else value <= limit.value


def _figures(tensor: Judged, limit: Limit) -> Figures:
    figures = tensor.total if limit.key.startswith(TOTAL) else tensor.judged
    assert figures is not None
    return figures


def _value(tensor: Judged, limit: Limit) -> float | None:
    value: float | None = getattr(_figures(tensor, limit), limit.key.removeprefix(TOTAL))
    return value
