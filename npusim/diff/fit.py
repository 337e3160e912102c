"""A dump in the terms of the tensor it is to be compared with: its shape, its layout, its codes."""

from itertools import permutations
from math import prod
from typing import NamedTuple

import numpy as np

from ..graph import Quantization
from .sides import Dump

LAYOUTS = ("NHWC", "NCHW")


class Wanted(NamedTuple):
    """What a tensor is called and looks like; node is "" for an input."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    quantization: Quantization | None
    node: str = ""


class Fitted(NamedTuple):
    """A dump's values in the shape that is wanted.

    values   codes of any integer type, or real numbers where the wanted tensor holds some
    read_as  how they were read, where that is not as they are
    """

    values: np.ndarray
    read_as: str = ""


class UnfitError(ValueError):
    """A dump cannot be the tensor that is wanted; the message says why."""


def fit(dump: Dump, wanted: Wanted, layout: str | None = None) -> Fitted:
    """The dump's values as the wanted tensor has them.

    layout   of dumps of rank 4; found by their shapes if None, NHWC where these leave it open
    raises   UnfitError
    """
    values = _typed(dump, wanted) if dump.raw else dump.values
    if values.dtype.kind not in "iufb":
        raise UnfitError(f"type must be integer or real numbers, got {values.dtype}")
    if values.size != prod(wanted.shape):
        raise UnfitError(f"shape must be {wanted.shape}, got {dump.values.shape}")
    shaped, how = _shaped(values, wanted.shape, layout)
    codes, what = _coded(shaped, wanted)
    return Fitted(codes, ", ".join(filter(None, (how, what))))


def _typed(dump: Dump, wanted: Wanted) -> np.ndarray:
    """The bytes of a raw dump as the wanted type."""
    dtype = np.dtype(wanted.dtype)
    size = prod(wanted.shape) * dtype.itemsize
    if dump.values.size != size:
        extra = dump.values.size - size
        header = "; is the header of a .npy file still there" if extra in (80, 96, 128) else ""
        raise UnfitError(f"{wanted.dtype} {wanted.shape} must be {size} bytes, "
                         f"got {dump.values.size}{header}")  # fmt: skip
    return dump.values.view(dtype.newbyteorder("<")).astype(dtype)


def _shaped(
    values: np.ndarray, shape: tuple[int, ...], layout: str | None
) -> tuple[np.ndarray, str]:
    planes = _planes(shape)
    if layout == "NCHW" and planes is not None:
        return np.moveaxis(values.reshape(planes), -3, -1).reshape(shape), "NCHW"
    if values.shape == shape:
        return values, ""
    if _squeezed(values.shape) == _squeezed(shape):
        return values.reshape(shape), ""
    if layout is None and planes is not None and _squeezed(values.shape) == _squeezed(planes):
        return np.moveaxis(values.reshape(planes), -3, -1).reshape(shape), "NCHW by its shape"
    if values.ndim == 1:
        return values.reshape(shape), "flat, in C order"
    for order in permutations(range(len(shape))):
        if values.shape == tuple(shape[i] for i in order):
            turned = values.transpose(np.argsort(order))
            return turned, f"axes {', '.join(map(str, order))} by its shape"
    return values.reshape(shape), f"{values.shape} in C order"


def _planes(shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The NCHW shape of an NHWC one; None without images."""
    return (shape[0], shape[3], shape[1], shape[2]) if len(shape) == 4 else None


def _squeezed(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(length for length in shape if length != 1)


def _coded(values: np.ndarray, wanted: Wanted) -> tuple[np.ndarray, str]:
    """Real numbers as codes, where codes are wanted."""
    if wanted.dtype.startswith("float"):
        if values.dtype.kind != "f":
            raise UnfitError(f"type must be real numbers, got {values.dtype}")
        return values, ""
    if values.dtype.kind != "f":
        return values, values.dtype.name if values.dtype != wanted.dtype else ""
    q = wanted.quantization
    if q is None:
        raise UnfitError(f"type must be {wanted.dtype}, got {values.dtype} and no scale is known")
    if not np.isfinite(values).all():
        raise UnfitError("real numbers must be finite, got infinity or NaN")
    codes = np.rint(values.astype(np.float64) / float(q.scale[0])) + int(q.zero_point[0])
    return np.clip(codes, -(2**62), 2**62).astype(np.int64), "real numbers, made codes"
