"""Other values and scales for tensors of a .tflite file, in place; every other byte stays.

A file has room for what it holds: as many bytes of data, as many scales. What a tensor shares with
another one is not changed for both.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import tflite
from flatbuffers.table import Table

from ..graph import ModelError, Quantization, Tensor
from .tflite import model_of
from .tflite_tensors import printable

_DATA_SLOT, _SCALE_SLOT, _ZERO_POINT_SLOT = 4, 4 + 2 * 2, 4 + 2 * 3


class Place(NamedTuple):
    """Bytes of the file that belong to a tensor: what they hold, from where, to where."""

    what: str
    start: int
    stop: int


def patched(data: bytes, tensors: Mapping[int, Tensor]) -> bytes:
    """The file with other constants and quantisation parameters.

    data      a file that `tflite.parse` takes
    tensors   number in the file's table of tensors -> what the tensor is to hold; None as its data
              or its quantization leaves what the file has
    returns   bytes, as many
    raises    ModelError naming the tensor that has no room for it, or shares its bytes with another
    """
    places = _places(data)
    result = bytearray(data)
    for index, tensor in tensors.items():
        name = places[0, index].name
        for what, new in _contents(tensor):
            place = places[0, index].by_kind.get(what)
            room = place.stop - place.start if place else 0
            if room != len(new):
                raise ModelError(
                    f"tensor {name}: must have room for {len(new)} bytes of {what}, got {room}"
                )
            assert place is not None
            if data[place.start : place.stop] != new:
                _check_alone(places, (0, index), place)
                result[place.start : place.stop] = new
    return bytes(result)


class _Owner(NamedTuple):
    """A tensor of the file and its places."""

    name: str
    by_kind: Mapping[str, Place]


def _places(data: bytes) -> dict[tuple[int, int], _Owner]:
    """(subgraph, tensor) -> its places; of a verified file."""
    model = model_of(data)
    found = {}
    for s in range(model.SubgraphsLength()):
        subgraph = model.Subgraphs(s)
        for t in range(subgraph.TensorsLength()):
            tensor = subgraph.Tensors(t)
            name = printable(tensor.Name()) or f"tensor_{t}"
            found[s, t] = _Owner(name, {p.what: p for p in _places_of(model, tensor)})
    return found


def _places_of(model: tflite.Model, tensor: tflite.Tensor) -> Iterator[Place]:
    if 0 <= tensor.Buffer() < model.BuffersLength():
        yield from _vector(model.Buffers(tensor.Buffer())._tab, _DATA_SLOT, 1, "data")
    quantization = tensor.Quantization()
    if quantization is not None:
        yield from _vector(quantization._tab, _SCALE_SLOT, 4, "scales")
        yield from _vector(quantization._tab, _ZERO_POINT_SLOT, 8, "zero points")


def _vector(table: Table, slot: int, width: int, what: str) -> Iterator[Place]:
    offset = table.Offset(slot)
    if offset:
        start = table.Vector(offset)
        yield Place(what, start, start + width * table.VectorLen(offset))


def _contents(tensor: Tensor) -> Iterator[tuple[str, bytes]]:
    """What the file is to hold of the tensor, in its byte order."""
    if tensor.data is not None:
        yield "data", tensor.data.astype(tensor.data.dtype.newbyteorder("<")).tobytes()
    q: Quantization | None = tensor.quantization
    if q is not None:
        yield "scales", np.asarray(q.scale, "<f4").tobytes()
        yield "zero points", np.asarray(q.zero_point, "<i8").tobytes()


def _check_alone(
    places: Mapping[tuple[int, int], _Owner], owner: tuple[int, int], place: Place
) -> None:
    """ModelError where the bytes are another tensor's too."""
    for other, (name, by_kind) in places.items():
        for what, start, stop in by_kind.values():
            if other != owner and start < place.stop and place.start < stop:
                raise ModelError(
                    f"tensor {places[owner].name}: its {place.what} must be its own to change, got "
                    f"bytes {place.start}..{place.stop} that are {what} of {name} too"
                )
