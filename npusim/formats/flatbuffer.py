"""Verification of a flatbuffer before anything is read from it.

A flatbuffer is offsets all the way down; its readers follow them unchecked. `verify` walks the
tables a loader is going to read, iteratively and in Python ints, and proves that every offset,
vector and string lies inside the file. Fields that are not listed are never read.
Source: https://flatbuffers.dev/internals
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ..graph import ModelError

TABLE_LIMIT = 100_000
SHARING_LIMIT = 4
DAMAGED = "the file is damaged or of another kind"

_UINT16 = struct.Struct("<H")
_INT32 = struct.Struct("<i")
_UINT32 = struct.Struct("<I")


@dataclass(frozen=True)
class Scalar:
    """A number of `width` bytes inside the table."""

    width: int


@dataclass(frozen=True)
class Vector:
    """A vector of numbers of `width` bytes; a string is one of width 1."""

    width: int


@dataclass(frozen=True)
class Table:
    """A table: its name in messages and the fields that are read, by slot in the schema."""

    name: str
    fields: Mapping[int, tuple[str, "Scalar | Vector | Table | Tables"]] = field(
        default_factory=dict
    )


@dataclass(frozen=True)
class Tables:
    """A vector of tables."""

    element: Table


Kind = Scalar | Vector | Table | Tables


def root(data: bytes) -> int:
    """Position of the root table; ModelError when it is outside `data`."""
    return _follow(data, 0, "root table")


def verify(data: bytes, table: Table, position: int) -> None:
    """Prove that `table` at `position`, and all it refers to, lies inside `data`.

    Every reference counts against the limits, shared ones too, so that time and memory stay within
    bounds however the offsets are knotted.
    raises   ModelError naming table and field
    """
    budget = _Budget(TABLE_LIMIT, SHARING_LIMIT * len(data))
    pending = [(table, position)]
    while pending:
        pending.extend(_children(data, *pending.pop(), budget))


@dataclass
class _Budget:
    """What may still be referred to."""

    tables: int
    vector_bytes: int

    def spend(self, where: str, tables: int = 0, vector_bytes: int = 0) -> None:
        self.tables -= tables
        self.vector_bytes -= vector_bytes
        if self.tables < 0:
            raise ModelError(f"{where}: tables must be at most {TABLE_LIMIT}, got more; {DAMAGED}")
        if self.vector_bytes < 0:
            raise ModelError(f"{where}: vectors must not be shared so often; {DAMAGED}")


def _children(
    data: bytes, table: Table, position: int, budget: _Budget
) -> Iterator[tuple[Table, int]]:
    """Check one table's own fields; the tables it refers to."""
    for name, kind, at in _present_fields(data, table, position):
        where = f"{table.name}.{name}"
        if isinstance(kind, Vector):
            _, length = _elements(data, at, kind.width, where)
            budget.spend(where, vector_bytes=kind.width * length)
        elif isinstance(kind, Table):
            budget.spend(where, tables=1)
            yield kind, _follow(data, at, where)
        elif isinstance(kind, Tables):
            start, length = _elements(data, at, 4, where)
            budget.spend(where, tables=length)
            for element in range(start, start + 4 * length, 4):
                yield kind.element, _follow(data, element, where)


def _present_fields(data: bytes, table: Table, position: int) -> Iterator[tuple[str, Kind, int]]:
    """(name, kind, position) of the listed fields that the table holds."""
    _inside(data, position, 4, table.name)
    vtable = position - _INT32.unpack_from(data, position)[0]
    _inside(data, vtable, 4, table.name)
    vtable_size = _UINT16.unpack_from(data, vtable)[0]
    table_size = _UINT16.unpack_from(data, vtable + 2)[0]
    if vtable_size < 4 or vtable_size % 2:
        raise ModelError(
            f"{table.name}: vtable must have 4, 6, 8 .. bytes, got {vtable_size}; {DAMAGED}"
        )
    _inside(data, vtable, vtable_size, table.name)
    _inside(data, position, table_size, table.name)
    for slot, (name, kind) in table.fields.items():
        entry = 4 + 2 * slot
        offset = _UINT16.unpack_from(data, vtable + entry)[0] if entry < vtable_size else 0
        if offset == 0:
            continue
        width = kind.width if isinstance(kind, Scalar) else 4
        if offset < 4 or offset + width > table_size:
            raise ModelError(
                f"{table.name}.{name}: field must lie inside its table of {table_size} bytes, "
                f"got offset {offset}; {DAMAGED}"
            )
        yield name, kind, position + offset


def _elements(data: bytes, at: int, width: int, where: str) -> tuple[int, int]:
    """(start, length) of the vector whose offset stands at `at`."""
    vector = _follow(data, at, where)
    length = _UINT32.unpack_from(data, vector)[0]
    _inside(data, vector + 4, length * width, where)
    return vector + 4, length


def _follow(data: bytes, at: int, where: str) -> int:
    """The position that the offset standing at `at` leads to."""
    _inside(data, at, 4, where)
    target = at + _UINT32.unpack_from(data, at)[0]
    _inside(data, target, 4, where)
    return target


def _inside(data: bytes, start: int, length: int, where: str) -> None:
    if start < 0 or start + length > len(data):
        raise ModelError(
            f"{where}: must lie inside the file of {len(data)} bytes, "
            f"got bytes {start}..{start + length}; {DAMAGED}"
        )
