"""Where two tensors differ: the worst element, and whether rows, columns or channels stand out."""

from dataclasses import dataclass

import numpy as np

FEW = 4
"""So many rows, columns or channels are named one by one."""
_AXES = {
    0: (),
    1: ("element",),
    2: ("image", "channel"),
    3: ("image", "position", "channel"),
    4: ("image", "row", "column", "channel"),
}


@dataclass(frozen=True)
class Spread:
    """The differing elements along one axis.

    axis     its name
    counts   differing elements for every index
    """

    axis: str
    counts: tuple[int, ...]

    @property
    def touched(self) -> tuple[int, ...]:
        """Indices with differing elements."""
        return tuple(i for i, count in enumerate(self.counts) if count)

    @property
    def heaviest(self) -> int:
        """The index with the most differing elements."""
        return int(np.argmax(self.counts))

    @property
    def telling(self) -> bool:
        """Whether some indices stand out."""
        return len(self.touched) < len(self.counts) or self._outstanding

    @property
    def _outstanding(self) -> bool:
        """Whether one index has far more than its part."""
        share = max(self.counts) / max(sum(self.counts), 1)
        return share > max(2 / len(self.counts), 0.2)

    def __str__(self) -> str:
        """Such as "2 of 64 channels: 3, 17"; "row 0 has 71 %"; "all 8 rows" """
        touched, length = self.touched, len(self.counts)
        if len(touched) < length and len(touched) <= FEW:
            listed = ", ".join(map(str, touched))
            return f"{len(touched)} of {length} {self.axis}s: {listed}"
        if self._outstanding:
            share = max(self.counts) / sum(self.counts)
            return f"{self.axis} {self.heaviest} has {100 * share:.0f} %"
        if len(touched) == length:
            return f"all {length} {self.axis}s"
        return f"{len(touched)} of {length} {self.axis}s"


@dataclass(frozen=True)
class Place:
    """Where a tensor differs.

    worst      axis -> index of the element that differs most
    expected   the worst element's value on the first side
    actual     and on the second
    spreads    of the axes that are longer than 1
    """

    worst: dict[str, int]
    expected: float
    actual: float
    spreads: tuple[Spread, ...]


def axes(rank: int) -> tuple[str, ...]:
    """Names of a tensor's dimensions: image first, channel last."""
    if rank in _AXES:
        return _AXES[rank]
    return ("image", *(f"axis {k}" for k in range(1, rank - 1)), "channel")


def place(expected: np.ndarray, actual: np.ndarray, difference: np.ndarray) -> Place | None:
    """Where the difference of two arrays of one shape is not 0; None where it is throughout."""
    differing = difference != 0
    if not differing.any():
        return None
    magnitude = np.nan_to_num(np.abs(difference.astype(np.float64)), nan=np.inf)
    index = np.unravel_index(int(np.argmax(magnitude)), difference.shape)
    names = axes(difference.ndim)
    spreads = []
    for k, name in enumerate(names):
        if difference.shape[k] > 1:
            rest = tuple(i for i in range(difference.ndim) if i != k)
            spreads.append(Spread(name, tuple(differing.sum(axis=rest).tolist())))
    return Place(
        worst=dict(zip(names, map(int, index), strict=True)),
        expected=expected[index].item(),
        actual=actual[index].item(),
        spreads=tuple(spreads),
    )
