"""Between real numbers and codes: real = scale * (code - zero_point).

The rule is chosen once per tensor; each has a function of its own. Sources: TFLite
reference_ops::AffineQuantize and Dequantize, and their forms for x86 in optimized_ops; XNNPACK
f32-qs8-vcvt.
"""

import numpy as np

from ..jit import jit
from .structs import DIVIDE_AWAY, DIVIDE_EVEN, PRODUCT, RECIPROCAL_EVEN


@jit
def quantize(x, p, y):
    """Codes of real numbers, saturated.

    x   float32, flat; infinities saturate, NaN gives the lowest code
    p   Quantize
    y   int8, uint8 or int16, as long as x, written
    """
    whole = len(x) - len(x) % p.rounding.block
    quantize_by(p.rounding.rule, x[:whole], p, y)
    if whole < len(x):
        quantize_by(p.rounding.rest, x[whole:], p, y[whole:])


@jit
def quantize_by(rule, x, p, y):
    """`quantize` by one rule."""
    if rule == DIVIDE_AWAY:
        quantize_divide_away(x, p, y)
    elif rule == DIVIDE_EVEN:
        quantize_divide_even(x, p, y)
    elif rule == RECIPROCAL_EVEN:
        quantize_reciprocal_even(x, p, y)
    else:
        quantize_double_away(x, p, y)


@jit
def quantize_divide_away(x, p, y):
    """y = round(x / scale) + zero_point, one float32 division, ties away from zero."""
    limits = np.iinfo(y.dtype)
    low, high = np.float32(limits.min - p.zero_point), np.float32(limits.max - p.zero_point)
    half = np.float32(0.5)
    for i in range(np.uintp(len(x))):
        inside = within(x[i] / p.scale, low, high)
        # |low| and |high| are below 2^17: what follows is exact in float32
        whole = np.int32(inside)
        rest = inside - np.float32(whole)
        y[i] = whole + np.int32(rest >= half) - np.int32(rest <= -half) + p.zero_point


@jit
def quantize_divide_even(x, p, y):
    """y = round(x / scale) + zero_point, one float32 division, ties to even."""
    limits = np.iinfo(y.dtype)
    low, high = np.float32(limits.min - p.zero_point), np.float32(limits.max - p.zero_point)
    for i in range(np.uintp(len(x))):
        y[i] = np.int32(np.rint(within(x[i] / p.scale, low, high))) + p.zero_point


@jit
def quantize_reciprocal_even(x, p, y):
    """y = round(x * (1 / scale)) + zero_point, all in float32, ties to even."""
    limits = np.iinfo(y.dtype)
    low, high = np.float32(limits.min - p.zero_point), np.float32(limits.max - p.zero_point)
    reciprocal = np.float32(1) / p.scale
    for i in range(np.uintp(len(x))):
        y[i] = np.int32(np.rint(within(x[i] * reciprocal, low, high))) + p.zero_point


@jit
def quantize_double_away(x, p, y):
    """y = round(x / scale) + zero_point, one float64 division, ties away from zero."""
    limits = np.iinfo(y.dtype)
    low, high = np.float64(limits.min - p.zero_point), np.float64(limits.max - p.zero_point)
    for i in range(np.uintp(len(x))):
        inside = within(np.float64(x[i]) / np.float64(p.scale), low, high)
        whole = np.int32(inside)
        rest = inside - np.float64(whole)
        y[i] = whole + np.int32(rest >= 0.5) - np.int32(rest <= -0.5) + p.zero_point


@jit
def within(value, low, high):
    """min(max(value, low), high); NaN gives low."""
    return min(value, high) if value > low else low


@jit
def dequantize(x, p, y):
    """Real numbers of codes.

    x   int8, uint8 or int16, flat
    p   Dequantize
    y   float32, as long as x, written
    """
    whole = len(x) - len(x) % p.rounding.block
    dequantize_by(p.rounding.rule, x[:whole], p, y)
    if whole < len(x):
        dequantize_by(p.rounding.rest, x[whole:], p, y[whole:])


@jit
def dequantize_by(rule, x, p, y):
    """`dequantize` by one rule."""
    if rule == PRODUCT:
        dequantize_product(x, p, y)
    else:
        dequantize_affine(x, p, y)


@jit
def dequantize_product(x, p, y):
    """y = scale * (x - zero_point), rounded once."""
    for i in range(np.uintp(len(x))):
        y[i] = p.scale * np.float32(np.int32(x[i]) - p.zero_point)


@jit
def dequantize_affine(x, p, y):
    """y = scale * x + (-scale * zero_point), rounded after each product and after the sum."""
    shift = -(p.scale * np.float32(p.zero_point))
    for i in range(np.uintp(len(x))):
        y[i] = p.scale * np.float32(x[i]) + shift
