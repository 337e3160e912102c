"""A tensor's affine quantisation, `real = scale * (code - zero_point)`, read as plain numbers."""

import numpy as np

from .graph import Quantization, Tensor

LIMITS = {
    "int8": (-128, 127),
    "uint8": (0, 255),
    "int16": (-32768, 32767),
    "int32": (-(2**31), 2**31 - 1),
}
"""Lowest and highest code of each integer type that is quantised."""


def quantization(tensor: Tensor) -> Quantization:
    """The tensor's quantisation, which must be there."""
    assert tensor.quantization is not None, tensor.name
    return tensor.quantization


def scale(tensor: Tensor) -> float:
    """The per-tensor scale as a double."""
    return float(scale32(tensor))


def scale32(tensor: Tensor) -> np.float32:
    """The per-tensor scale as files hold it."""
    return np.float32(quantization(tensor).scale[0])


def zero_point(tensor: Tensor) -> int:
    """The per-tensor zero point."""
    return int(quantization(tensor).zero_point[0])
