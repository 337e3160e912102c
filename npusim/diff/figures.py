"""How far one tensor is from another, in numbers."""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from ..graph import Quantization


@dataclass(frozen=True)
class Figures:
    """Distances of `actual` from `expected`, over all elements where nothing else is said.

    elements    their number
    differing   how many differ
    max_lsb     largest magnitude of a difference, in codes; None for real numbers
    mean_lsb    mean magnitude of the differences that there are, in codes; None for real numbers
    bias        (more - less) / differing: 1 where every difference is upwards, -1 downwards
    cosine      of the real numbers' angle; None where one side is zero throughout
    rmse, mae   root of the mean square, mean magnitude, in real units
    rmse_lsb, mae_lsb   the same in codes; None for real numbers
    """

    elements: int
    differing: int
    max_lsb: int | None
    mean_lsb: float | None
    bias: float
    cosine: float | None
    rmse: float
    mae: float
    rmse_lsb: float | None
    mae_lsb: float | None

    @property
    def share(self) -> float:
        """Differing elements of all."""
        return self.differing / self.elements if self.elements else 0.0


def figures(
    expected: np.ndarray, actual: np.ndarray, quantization: Quantization | None = None
) -> Figures:
    """The figures of two arrays of one shape: codes of any integer type, or real numbers.

    quantization   of the codes; one code counts as 1.0 where there is none
    NaN and infinity differ from everything else, and are left out of the means.
    """
    if expected.dtype.kind == "f" or actual.dtype.kind == "f":
        return _of_reals(expected, actual)
    difference = subtract(expected, actual)
    scale, zero = 1.0, 0
    if quantization is not None:
        scale, zero = float(quantization.scale[0]), int(quantization.zero_point[0])
    magnitude = np.abs(difference)
    differing = int(np.count_nonzero(difference))
    rmse, mae = _means(difference.astype(np.float64))
    return Figures(
        elements=expected.size,
        differing=differing,
        max_lsb=int(magnitude.max(initial=0)),
        mean_lsb=int(magnitude.sum()) / differing if differing else 0.0,
        bias=_bias(difference),
        cosine=_cosine(expected.astype(np.float64) - zero, actual.astype(np.float64) - zero),
        rmse=scale * rmse,
        mae=scale * mae,
        rmse_lsb=rmse,
        mae_lsb=mae,
    )


def subtract(expected: np.ndarray, actual: np.ndarray) -> np.ndarray:
    """actual - expected, int64 for codes; for real numbers float64, 0 where the bits agree."""
    if expected.dtype.kind != "f" and actual.dtype.kind != "f":
        return actual.astype(np.int64) - expected.astype(np.int64)
    wide = actual.astype(np.float64), expected.astype(np.float64)
    same = (wide[0] == wide[1]) | (np.isnan(wide[0]) & np.isnan(wide[1]))
    with np.errstate(invalid="ignore"):
        return np.where(same, 0.0, wide[0] - wide[1])


def _of_reals(expected: np.ndarray, actual: np.ndarray) -> Figures:
    difference = subtract(expected, actual)
    finite = np.isfinite(difference)
    rmse, mae = _means(difference[finite])
    return Figures(
        elements=expected.size,
        differing=int(np.count_nonzero(difference)),
        max_lsb=None,
        mean_lsb=None,
        bias=_bias(difference),
        cosine=_cosine(expected[finite].astype(np.float64), actual[finite].astype(np.float64)),
        rmse=rmse,
        mae=mae,
        rmse_lsb=None,
        mae_lsb=None,
    )


def _means(difference: np.ndarray) -> tuple[float, float]:
    """Root of the mean square, and mean magnitude; 0 for no elements."""
    if not difference.size:
        return 0.0, 0.0
    return sqrt(float(np.mean(difference**2))), float(np.mean(np.abs(difference)))


def _bias(difference: np.ndarray) -> float:
    more, less = int(np.count_nonzero(difference > 0)), int(np.count_nonzero(difference < 0))
    return (more - less) / (more + less) if more + less else 0.0


def _cosine(a: np.ndarray, b: np.ndarray) -> float | None:
    norms = float(np.linalg.norm(a)) * float(np.linalg.norm(b))
    if not norms:
        return None
    return 1.0 if np.array_equal(a, b) else float(np.dot(a.ravel(), b.ravel())) / norms
