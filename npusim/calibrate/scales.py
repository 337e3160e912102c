"""Scales and codes of weights, biases and activations.

    weights       symmetric per output channel: S_w = max|w| / 127, with room r: r max|w| / 126
    biases        int32 of scale s_x S_w, which S_w is raised for where they would not fit
    activations   int8, real 0 exact: s = (high - low) / 255, zero point = round(-128 - low / s)

Letters: O output channels, I inputs of one output.
"""

from typing import NamedTuple

import numpy as np

from ..graph import Quantization

CODES = 255
LARGEST_WEIGHT, USED_WITH_ROOM = 127, 126
INT32_MAX = 2**31 - 1
LARGEST_PRODUCT = 128 * 255
SMALLEST_MULTIPLIER = 2.0**-31
"""Below it a multiplier is 0, and the channel's bias is lost with its weights."""


class Scaled(NamedTuple):
    """Weights and bias of one layer as codes: int8, float32 (O,), int32 (O,)."""

    codes: np.ndarray
    scale: np.ndarray
    bias: np.ndarray


def per_tensor(scale: float, zero_point: int) -> Quantization:
    """One scale for a whole tensor."""
    return Quantization(np.array([scale]), np.array([zero_point]))


def activation_quantization(low: float, high: float) -> Quantization:
    """The quantisation whose codes -128..127 span low..high, widened to hold 0.

    A tensor that is 0 throughout gets the scale 1 / 255.
    """
    low, high = min(float(low), 0.0), max(float(high), 0.0)
    scale = np.float32((high - low) / CODES if high > low else 1.0 / CODES)
    zero_point = round(-128.0 - low / float(scale))
    return per_tensor(float(scale), min(max(zero_point, -128), 127))


def simulated(x: np.ndarray, q: Quantization) -> np.ndarray:
    """x rounded to the codes of a per-tensor quantisation and back, float32."""
    scale, zero_point = q.scale[0], np.float32(q.zero_point[0])
    codes = np.clip(np.rint(x / scale) + zero_point, np.float32(-128), np.float32(127))
    return (codes - zero_point) * scale


def output_axis(w: np.ndarray, op: str) -> int:
    """The axis of output channels: depthwise weights (1, KH, KW, C*M) have them last."""
    return w.ndim - 1 if op == "depthwise_conv2d" else 0


def channel_scales(w: np.ndarray, axis: int, room: float = 1) -> np.ndarray:
    """S_w of each output channel, float32 (O,), above 0.

    room   how many times the largest weight the codes reach, for weights that will be trained
    A channel of zeros gets the scale of the largest channel; all zeros count as 1.
    """
    largest = np.abs(w).max(axis=tuple(d for d in range(w.ndim) if d != axis))
    usual = largest.max() if largest.max() > 0 else 1.0
    used = LARGEST_WEIGHT if room == 1 else USED_WITH_ROOM
    scales = (np.where(largest > 0, largest, usual) * room / used).astype(np.float32)
    return np.maximum(scales, np.finfo(np.float32).tiny)


def raised(
    scale: np.ndarray, bias: np.ndarray, s_x: np.float32, s_y: np.float32, fan_in: int
) -> np.ndarray:
    """S_w, raised in channels where the bias or the multiplier asks for it: float32 (O,).

    The bias must leave room for every sum of `fan_in` products in int32, so that nothing can
    overflow, and s_x S_w / s_y must not vanish. Weights of such a channel lose resolution that its
    bias outweighs.
    """
    limit = max(INT32_MAX - fan_in * LARGEST_PRODUCT, 2**30)
    least = np.maximum(np.abs(bias) / (float(s_x) * limit),
                       SMALLEST_MULTIPLIER * float(s_y) / float(s_x))  # fmt: skip
    return np.where(scale < least, np.nextafter(least.astype(np.float32), np.inf), scale)


def weight_codes(w: np.ndarray, axis: int, scale: np.ndarray) -> np.ndarray:
    """round(w / S_w) in -127..127, int8; ties to even."""
    codes = np.rint(w / spread(scale, w.ndim, axis))
    return np.clip(codes, -LARGEST_WEIGHT, LARGEST_WEIGHT).astype(np.int8)


def bias_codes(bias: np.ndarray, s_x: np.float32, scale: np.ndarray) -> np.ndarray:
    """round(bias / (s_x S_w)), int32 (O,); S_w as `raised` leaves it, or else saturated."""
    codes = np.rint(bias / bias_scale(s_x, scale))
    return np.clip(codes, -INT32_MAX, INT32_MAX).astype(np.int32)


def bias_scale(s_x: np.float32, scale: np.ndarray) -> np.ndarray:
    """s_x S_w, float64 (O,)."""
    return np.float64(s_x) * scale.astype(np.float64)


def spread(scale: np.ndarray, rank: int, axis: int) -> np.ndarray:
    """Scales (O,) as float64 that broadcast along `axis` of a tensor."""
    shape = [-1 if d == axis else 1 for d in range(rank)]
    return scale.astype(np.float64).reshape(shape)
