"""The highest classes of a classifier's output."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .graph import Tensor


class Rank(NamedTuple):
    """One class: its number, its name (None without labels), code and real value."""

    number: int
    label: str | None
    code: float
    value: float


def read_labels(path: Path) -> tuple[str, ...]:
    """The names in a text file, one a line, in the order of the classes."""
    try:
        return tuple(line.strip() for line in path.read_text("utf-8").splitlines())
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: labels must be UTF-8 text, one name a line") from error


def ranking(
    codes: np.ndarray, tensor: Tensor, k: int, labels: Sequence[str] = ()
) -> list[list[Rank]]:
    """The k highest classes of every image, the highest first; of equals the lowest index.

    codes    (N, ..): all dimensions but the first are classes
    labels   names; none, or one per class
    raises   ValueError when there are fewer or more labels than classes
    """
    rows = codes.reshape(len(codes), -1)
    if labels and len(labels) != rows.shape[1]:
        raise ValueError(f"labels: must name the {rows.shape[1]} classes of {tensor.name}, "
                         f"got {len(labels)}")  # fmt: skip
    order = np.argsort(-rows.astype(np.float64), axis=1, kind="stable")[:, :k]
    return [[_rank(int(i), row[i], tensor, labels) for i in chosen]
            for chosen, row in zip(order, rows, strict=True)]  # fmt: skip


def _rank(index: int, code: np.generic, tensor: Tensor, labels: Sequence[str]) -> Rank:
    q, label = tensor.quantization, labels[index] if labels else None
    if q is None or code.dtype.kind == "f":
        return Rank(index, label, float(code), float(code))
    value = (int(code) - int(q.zero_point[0])) * float(q.scale[0])
    return Rank(index, label, int(code), value)
