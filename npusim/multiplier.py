"""Real scale <-> fixed-point multiplier and shift.

    M ~ multiplier * 2^(shift - 31),  2^30 <= multiplier < 2^31,  shift > 0 is a left shift

Source: TFLite QuantizeMultiplier (tensorflow/lite/kernels/internal/quantization_util.cc).
"""

import math
from collections.abc import Iterable

import numpy as np

REMEDY = "use scales closer to each other"
"""For a factor that is no number."""


def quantize_multiplier(real: float) -> tuple[int, int]:
    """The fixed-point form of a real multiplier.

    real      finite, >= 0
    returns   (multiplier, shift); (0, 0) when real is 0 or shift would fall below -31
    raises    ValueError when real is negative, not finite or 2^31 and more
    """
    if not math.isfinite(real) or real < 0:
        raise ValueError(f"multiplier: must be finite and not negative, got {real!r}; {REMEDY}")
    mantissa, shift = math.frexp(real)
    multiplier = math.floor(mantissa * 2**31 + 0.5)
    if multiplier == 2**31:
        multiplier //= 2
        shift += 1
    if multiplier == 0 or shift < -31:
        return 0, 0
    if shift > 31:
        raise ValueError(f"multiplier: must be below 2^31, got {real!r}; raise the output scale")
    return multiplier, shift


def quantize_multipliers(reals: Iterable[float]) -> tuple[np.ndarray, np.ndarray]:
    """`quantize_multiplier` of each value: (multiplier int32 (n,), shift int32 (n,))."""
    pairs = [quantize_multiplier(float(real)) for real in reals]
    table = np.array(pairs, np.int64).reshape(-1, 2)
    return table[:, 0].astype(np.int32), table[:, 1].astype(np.int32)


def real_multiplier(multiplier: int, shift: int) -> float:
    """The real number that (multiplier, shift) stands for."""
    return math.ldexp(int(multiplier), int(shift) - 31)


def real_factor(
    way: str, s_x: np.float32, factor: np.ndarray | np.float32, s_y: np.float32
) -> np.ndarray:
    """s_x * factor / s_y, computed in one of the ways that references compute it.

    way       "double", "float32_product" (the product in float32, widened) or "float32"
    factor    float32 (n,) or a single one
    returns   float64, float32 values where the way is "float32"
    """
    if way == "double":
        return np.float64(s_x) * np.asarray(factor, np.float64) / np.float64(s_y)
    with np.errstate(over="ignore", under="ignore"):
        product = np.asarray(s_x * factor, np.float32)
        if way == "float32_product":
            return product.astype(np.float64) / np.float64(s_y)
        return np.asarray(product / s_y, np.float64)
