"""A layer of the CMSIS-NN golden file as a call of an npusim operator.

CMSIS-NN's offsets are zero points with the sign that is added: input_offset = -zero_point,
output_offset = zero_point.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import h5py
import numpy as np

from npusim.kernels.structs import (
    TWICE,
    Add,
    Conv2d,
    FullyConnected,
    Mul,
    Pool2d,
    Requantization,
    Softmax,
)
from npusim.requantization import real_multipliers


class Call(NamedTuple):
    """`function(x, *arguments)`, a name that the reference and the kernels share."""

    function: str
    arguments: tuple[Any, ...]


def unsupported(group: h5py.Group) -> str | None:
    """Why npusim has no such operator, or None when it has."""
    a = group.attrs
    if a["operator"] not in BUILD:
        return f"operator {a['operator']}"
    types = a.get("input_dtype", "int8"), a.get("output_dtype", "int8")
    if types != ("int8", "int8"):
        return f"{a['operator']} from {types[0]} to {types[1]}"
    if a.get("requantize", "double_rounding") != "double_rounding":
        return f"rule {a['requantize']}"
    if a.get("filter_offset", 0) != 0:
        return f"{a['operator']} with a zero point of its weights"
    return None


def call(group: h5py.Group, x: np.ndarray) -> Call:
    """The call that a supported layer stands for, for its input x."""
    return BUILD[group.attrs["operator"]](group, x)


def _conv2d(group: h5py.Group, x: np.ndarray) -> Call:
    weights = group["weights"][...]
    o, groups = weights.shape[0], x.shape[3] // weights.shape[3]
    return _convolution("conv2d", group, x, weights, o, groups)


def _depthwise_conv(group: h5py.Group, x: np.ndarray) -> Call:
    weights = group["weights"][...]
    return _convolution("depthwise_conv2d", group, x, weights, weights.shape[3], 1)


def _convolution(
    function: str, group: h5py.Group, x: np.ndarray, weights: np.ndarray, o: int, groups: int
) -> Call:
    a = group.attrs
    walk = ("stride_y", "stride_x", "dilation_y", "dilation_x", "pad_y", "pad_x")
    g = Conv2d(*x.shape, *_integers(a, "output_h", "output_w"), o, *weights.shape[1:3],
               *_integers(a, *walk), groups, -int(a["input_offset"]))  # fmt: skip
    return Call(function, (weights, _bias(group, o), g, _requantization(group, o)))


def _fully_connected(group: h5py.Group, x: np.ndarray) -> Call:
    weights = group["weights"][...]
    o, i = weights.shape
    g = FullyConnected(x.size // i, i, o, -int(group.attrs["input_offset"]))
    return Call("fully_connected", (weights, _bias(group, o), g, _requantization(group, o)))


def _pool(function: str, group: h5py.Group, x: np.ndarray) -> Call:
    names = ("output_h", "output_w", "filter_h", "filter_w", "stride_h", "stride_w",
             "padding_h", "padding_w", "activation_min", "activation_max")  # fmt: skip
    return Call(function, (Pool2d(*x.shape, *_integers(group.attrs, *names)),))


def _average_pool(group: h5py.Group, x: np.ndarray) -> Call:
    return _pool("average_pool2d", group, x)


def _max_pool(group: h5py.Group, x: np.ndarray) -> Call:
    return _pool("max_pool2d", group, x)


def _add(group: h5py.Group, x: np.ndarray) -> Call:
    a = group.attrs
    whole = (0, -(2**31), 2**31 - 1)
    left, right = (
        _tail(_integers(a, f"{name}_mult", f"{name}_shift"), whole) for name in ("input1", "input2")
    )
    zeros = -int(a["input1_offset"]), -int(a["input2_offset"])
    return Call(
        "add", (group["input2"][...], Add(1, int(a["left_shift"]), *zeros, left, right), _output(a))
    )


def _mul(group: h5py.Group, x: np.ndarray) -> Call:
    a = group.attrs
    p = Mul(-int(a["input1_offset"]), -int(a["input2_offset"]))
    return Call("mul", (group["input2"][...], p, _output(a)))


def _output(a: h5py.AttributeManager) -> Requantization:
    """One multiplier and shift, zero point and clamp of an elementwise operator."""
    names = ("output_offset", "out_activation_min", "out_activation_max")
    return _tail(_integers(a, "output_mult", "output_shift"), _integers(a, *names))


def _tail(pair: tuple[int, ...], ends: tuple[int, ...]) -> Requantization:
    """One multiplier and shift; ends are zero point, lowest and highest code."""
    multiplier, shift = (np.array([value], np.int32) for value in pair)
    return Requantization(multiplier, shift, real_multipliers(multiplier, shift), *ends, TWICE)


def _pad(group: h5py.Group, x: np.ndarray) -> Call:
    a = group.attrs
    padding = tuple((int(a[f"pre_pad_{d}"]), int(a[f"post_pad_{d}"])) for d in "nhwc")
    return Call("pad", (padding, int(a["pad_value"])))


def _transpose(group: h5py.Group, x: np.ndarray) -> Call:
    return Call("transpose", (tuple(int(axis) for axis in group.attrs["perm"][: x.ndim]),))


def _softmax(group: h5py.Group, x: np.ndarray) -> Call:
    names = ("input_mult", "input_left_shift", "diff_min")
    p = Softmax(x.size // x.shape[-1], x.shape[-1], *_integers(group.attrs, *names))
    return Call("softmax", (p,))


def _integers(attributes: h5py.AttributeManager, *names: str) -> tuple[int, ...]:
    return tuple(int(attributes[name]) for name in names)


def _bias(group: h5py.Group, o: int) -> np.ndarray:
    """The bias, or the zeros that its absence means."""
    return group["bias"][...] if "bias" in group else np.zeros(o, np.int32)


def _requantization(group: h5py.Group, o: int) -> Requantization:
    """One multiplier and shift per output channel; a single one is repeated."""
    multiplier, shift = (
        np.broadcast_to(group[name][...], o).copy() for name in ("output_mult", "output_shift")
    )
    names = ("output_offset", "out_activation_min", "out_activation_max")
    return Requantization(multiplier, shift, real_multipliers(multiplier, shift),
                          *_integers(group.attrs, *names), TWICE)  # fmt: skip


BUILD = {
    "conv2d": _conv2d,
    "depthwise_conv": _depthwise_conv,
    "fully_connected": _fully_connected,
    "average_pool": _average_pool,
    "max_pool": _max_pool,
    "add": _add,
    "mul": _mul,
    "pad": _pad,
    "transpose": _transpose,
    "softmax": _softmax,
}
