"""quantize and dequantize by every rule: kernel and reference, bit for bit."""

import numpy as np
import pytest
from kernels.twins import assert_kernel_matches_reference

from npusim.kernels.structs import QUANTIZE, Dequantize, Quantize, Rounding

TYPES = [np.int8, np.uint8, np.int16]
SCALES = [np.float32(s) for s in (1.0, 0.1, 1 / 255, 0.0235294122248888, 3e-5, 7.7, 1e-38, 3e38)]
QUANTIZE_RULES = [Rounding(rule, 1, rule) for rule in range(len(QUANTIZE))] + [Rounding(2, 8, 3)]
DEQUANTIZE_RULES = [Rounding(0, 1, 0), Rounding(1, 1, 1), Rounding(1, 8, 0)]


def _ties(scale, zero_point, dtype):
    """Real numbers at, just below and just above every boundary between two codes."""
    limits = np.iinfo(dtype)
    steps = np.arange(limits.min - 2, limits.max + 3, dtype=np.float64) - zero_point + 0.5
    with np.errstate(over="ignore"):
        x = (steps * np.float64(scale)).astype(np.float32)
        return np.concatenate([x, np.nextafter(x, -np.inf), np.nextafter(x, np.float32(np.inf))])


@pytest.mark.parametrize("rule", QUANTIZE_RULES, ids=str)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("scale", SCALES)
def test_quantize_around_every_tie_matches_reference(dtype, scale, rule):
    limits = np.iinfo(dtype)
    for zero_point in (int(limits.min), 0 if limits.min else 128, int(limits.max)):
        x = _ties(scale, zero_point, dtype)
        p = Quantize(scale, zero_point, rule)
        assert_kernel_matches_reference("quantize", x, p, dtype)


@pytest.mark.parametrize("rule", QUANTIZE_RULES, ids=str)
@pytest.mark.parametrize("dtype", TYPES)
def test_quantize_of_any_float_matches_reference(dtype, rule):
    """Random bit patterns: subnormal, huge, infinite and NaN among them."""
    bits = np.random.default_rng(5).integers(0, 2**32, 1 << 18, np.uint32)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e30, 1e-45], np.float32)
    x = np.concatenate([bits.view(np.float32), special])
    for scale in (np.float32(1), np.float32(0.007), np.float32(1e20)):
        assert_kernel_matches_reference("quantize", x, Quantize(scale, 3, rule), dtype)


@pytest.mark.parametrize("rule", DEQUANTIZE_RULES, ids=str)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("scale", SCALES)
def test_dequantize_of_every_code_matches_reference(dtype, scale, rule):
    limits = np.iinfo(dtype)
    x = np.arange(limits.min, limits.max + 1).astype(dtype)
    for zero_point in (int(limits.min), 3, int(limits.max)):
        for size in (x.size, 1, 7, 9):
            p = Dequantize(scale, zero_point, rule)
            assert_kernel_matches_reference("dequantize", x[:size], p)
