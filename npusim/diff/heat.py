"""Small pictures of where two tensors differ: rows by columns, channels, or a folded vector."""

import struct
import zlib
from typing import NamedTuple

import numpy as np

LARGEST = 64
"""Cells along each side of a map; larger ones are averaged down."""
UP, MIXED, DOWN = (217, 95, 2), (128, 92, 150), (31, 119, 180)
"""Colours of differences that are all upwards, of both kinds, all downwards."""


class Map(NamedTuple):
    """A picture.

    title       such as "row by column"
    magnitude   float64 (rows, columns): mean magnitude of the differences in a cell
    sign        float64 (rows, columns): 1 where all are upwards, -1 where all are downwards
    """

    title: str
    magnitude: np.ndarray
    sign: np.ndarray


def maps(difference: np.ndarray) -> tuple[Map, ...]:
    """Pictures of a difference (N, H, W, C), (N, C) or of another shape; none of a single cell."""
    wide = np.nan_to_num(difference.astype(np.float64), posinf=0.0, neginf=0.0)
    length = wide.shape[-1] if wide.ndim else 1
    columns = min(length, LARGEST)
    lines = wide.reshape(-1, length)
    folded = np.pad(lines, ((0, 0), (0, -length % columns))).reshape(len(lines), -1, columns)
    pictures = [_map("channel" if wide.ndim > 1 else "element", folded)]
    if wide.ndim == 4:
        planes = np.moveaxis(wide, 3, 1).reshape(-1, *wide.shape[1:3])
        pictures.insert(0, _map("row by column", planes))
    return tuple(p for p in pictures if p.magnitude.size > 1)


def _map(title: str, planes: np.ndarray) -> Map:
    """The picture of (planes, rows, columns)."""
    magnitude = _shrunk(np.abs(planes).mean(axis=0))
    signed = _shrunk(planes.mean(axis=0))
    quotient = np.divide(signed, magnitude, out=np.zeros_like(signed), where=magnitude > 0)
    return Map(title, magnitude, quotient)


def _shrunk(cells: np.ndarray) -> np.ndarray:
    """Means over nearly equal blocks, so that no side is longer than LARGEST."""
    for axis in (0, 1):
        length = cells.shape[axis]
        if length > LARGEST:
            edges = [k * length // LARGEST for k in range(LARGEST)]
            sizes = np.diff([*edges, length])
            sums = np.add.reduceat(cells, edges, axis=axis)
            cells = sums / (sizes[:, np.newaxis] if axis == 0 else sizes)
    return cells


def png(picture: Map) -> bytes:
    """The map as a PNG with one pixel per cell: hue by sign, opacity by magnitude.

    The background shines through, so the picture suits a light page and a dark one.
    """
    up, down = (np.clip(s, 0, 1)[..., np.newaxis] for s in (picture.sign, -picture.sign))
    colour = up * UP + down * DOWN + (1 - up - down) * np.array(MIXED)
    largest = float(picture.magnitude.max())
    opacity = np.sqrt(picture.magnitude / largest) if largest else picture.magnitude
    pixels = np.dstack([colour, 255 * opacity]).round().astype(np.uint8)
    height, width = picture.magnitude.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    checksum = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)
