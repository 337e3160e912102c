"""The orders in which compilers for Neural-ART store int8 weights.

    packed[j] = weights.flat[places[j]],  and 0 where places[j] is -1

Letters: O output channels, I input channels, C channels of a depthwise kernel, KH KW kernel.
Sources: sizes, ranges and groups of kernels in networks that ST's compiler generated, which are
public; they fix how pieces are cut and padded. The order inside a piece is not stated there, so
that both are known here. No blob with its model is public: treat what a layout says of a real
blob as a finding to check, as `npusim.blob.locate` does.
"""

import hashlib
from collections.abc import Iterator
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

PADDING = -1
"""The place of a byte that holds no weight."""
STREAM_BYTES = 3
"""Deep kernels are read 24 bits at a time."""
KERNELS = 16
"""Output channels that one convolution unit works on at a time."""
SLAB = 128
"""Input channels of a slab."""
BLOCKS = (2, 3, 4, 6, 8, 12, 16, 24, 32)
"""Sizes of blocks that are tried for depthwise kernels."""

Shape = tuple[int, ...]


class Layout(NamedTuple):
    """One way to store a tensor of weights.

    name     for people
    shape    of the weights as npusim holds them: (O, KH, KW, I), (1, KH, KW, C) or (O, I)
    places   int64 (bytes,): flat index of the weight that each byte holds, PADDING for none
    """

    name: str
    shape: Shape
    places: NDArray[np.int64]

    def pack(self, weights: NDArray[np.int8]) -> NDArray[np.int8]:
        """The bytes of these weights, int8 (bytes,), new.

        raises   ValueError for weights of another type or shape
        """
        if weights.dtype != np.int8 or weights.shape != self.shape:
            raise ValueError(
                f"{self.name}: weights must be int8 {self.shape}, got {weights.dtype} "
                f"{weights.shape}"
            )
        return np.where(self.places < 0, np.int8(0), weights.reshape(-1)[self.places])

    def unpack(self, packed: NDArray[np.int8]) -> NDArray[np.int8]:
        """The weights that lie in these bytes, int8 of `shape`, new.

        raises   ValueError for bytes of another type or number, or padding that is not 0
        """
        if packed.dtype != np.int8 or packed.shape != self.places.shape:
            raise ValueError(
                f"{self.name}: bytes must be int8 ({len(self.places)},), got {packed.dtype} "
                f"{packed.shape}"
            )
        wrong = np.flatnonzero((self.places < 0) & (packed != 0))
        if wrong.size:
            raise ValueError(
                f"{self.name}: padding must be 0, got {packed[wrong[0]]} in byte {wrong[0]}; the "
                "bytes are something else"
            )
        weights = np.empty(int(np.prod(self.shape)), np.int8)
        weights[self.places[self.places >= 0]] = packed[self.places >= 0]
        return weights.reshape(self.shape)

    def addresses(self) -> NDArray[np.int64]:
        """The byte of each weight, int64 of `shape`: where training has to write."""
        found = np.empty(int(np.prod(self.shape)), np.int64)
        used = self.places >= 0
        found[self.places[used]] = np.flatnonzero(used)
        return found.reshape(self.shape)


def plain(shape: Shape, order: str = "") -> Layout:
    """Every weight once, nothing between them.

    order   of the axes, the last one contiguous: a permutation of "OHWI", of "1HWC" for depthwise
            or of "OI" for fully connected; "" leaves npusim's
    raises  ValueError for another order
    """
    names = axes_of(shape)
    order = order or names
    if sorted(order) != sorted(names):
        raise ValueError(f"plain: order must be of the axes {names}, got {order!r}")
    turned = _indices(shape).transpose([names.index(axis) for axis in order])
    return Layout(f"plain {order}", shape, turned.reshape(-1))


def deep_1x1(
    shape: Shape, kernels: int = KERNELS, slab: int = SLAB, order: str = "OI", outer: str = "O"
) -> Layout:
    """A 1x1 kernel in pieces, each padded to a multiple of three bytes.

    A piece holds `kernels` output channels of `slab` input channels, the last ones less.

    shape    (O, 1, 1, I) or (O, I)
    order    inside a piece: "OI" or "IO", the last one contiguous
    outer    which pieces follow each other: "O" has all slabs of one group of kernels together, as
             where partial sums go from unit to unit; "I" has all groups of one slab together
    raises   ValueError for another shape, order or size
    """
    if len(shape) == 4 and shape[1:3] != (1, 1):
        raise ValueError(f"deep_1x1: kernel must be 1x1, got {shape[1]}x{shape[2]}")
    if kernels < 1 or slab < 1 or {order, outer} - {"OI", "IO", "O", "I"}:
        raise ValueError(
            "deep_1x1: kernels and slab must be 1 or more, order OI or IO and outer O or I, got "
            f"{kernels}, {slab}, {order!r} and {outer!r}"
        )
    matrix = _indices(shape).reshape(shape[0], shape[-1])
    groups, slabs = range(0, shape[0], kernels), range(0, shape[-1], slab)
    corners = [(o, i) for o in groups for i in slabs]
    if outer == "I":
        corners.sort(key=lambda corner: corner[::-1])
    pieces = [matrix[o : o + kernels, i : i + slab] for o, i in corners]
    flat = [_padded((p if order == "OI" else p.T).reshape(-1)) for p in pieces]
    name = f"deep 1x1, {kernels} kernels by {slab} channels, {order} in {outer}"
    return Layout(name, shape, np.concatenate(flat))


def block_diagonal(shape: Shape, block: int, order: str = "OHWI", multiplier: int = 1) -> Layout:
    """A depthwise kernel as a convolution within blocks of channels: zeros off the diagonal.

    Output channel o reads input channel o // multiplier; of the `block` input channels that its
    kernel has there, only that one has weights.

    shape    (1, KH, KW, C*multiplier)
    order    of the axes of the dense kernel (C*multiplier, KH, KW, block)
    raises   ValueError for another shape, order or size
    """
    if len(shape) != 4 or shape[0] != 1:
        raise ValueError(f"block_diagonal: weights must be (1, KH, KW, C), got {shape}")
    if sorted(order) != sorted("OHWI") or block < 1 or multiplier < 1:
        raise ValueError(
            "block_diagonal: block and multiplier must be 1 or more and order of the axes OHWI, "
            f"got {block}, {multiplier} and {order!r}"
        )
    _, kh, kw, channels = shape
    dense = np.full((channels, kh, kw, block), PADDING, np.int64)
    outputs = np.arange(channels)
    dense[outputs, :, :, outputs // multiplier % block] = _indices(shape)[0].transpose(2, 0, 1)
    turned = dense.transpose(["OHWI".index(axis) for axis in order])
    return Layout(f"block-diagonal, {block} channels, {order}", shape, turned.reshape(-1))


def known_layouts(shape: Shape, multiplier: int = 0) -> Iterator[Layout]:
    """Every layout that is known for weights of this shape, the likeliest first, none twice.

    multiplier   output channels of an input channel, for a depthwise kernel; 0 for others
    """
    seen = set()
    for layout in _candidates(shape, multiplier):
        key = hashlib.sha256(layout.places.tobytes()).digest()
        if key not in seen:
            seen.add(key)
            yield layout


def axes_of(shape: Shape) -> str:
    """The letters of npusim's own order."""
    if len(shape) == 2:
        return "OI"
    return "1HWC" if shape[0] == 1 else "OHWI"


def _candidates(shape: Shape, multiplier: int) -> Iterator[Layout]:
    yield plain(shape)
    if not multiplier and (len(shape) == 2 or shape[1:3] == (1, 1)):
        for kernels in (KERNELS, shape[0], 8, 4, 32):
            for slab in (SLAB, shape[-1], 64):
                for order in ("OI", "IO"):
                    for outer in "OI":
                        yield deep_1x1(shape, kernels, slab, order, outer)
    for block in BLOCKS if multiplier else ():
        for order in ("OHWI", "OIHW", "HWIO", "HWOI"):
            yield block_diagonal(shape, block, order, multiplier)
    for axes in permutations(axes_of(shape)):
        yield plain(shape, "".join(axes))


def _indices(shape: Shape) -> NDArray[np.int64]:
    return np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)


def _padded(piece: NDArray[np.int64]) -> NDArray[np.int64]:
    missing = -len(piece) % STREAM_BYTES
    return np.concatenate([piece, np.full(missing, PADDING, np.int64)])
