"""Verification of flatbuffers: a small one, and every way to break an offset of it."""

from __future__ import annotations

import struct

import pytest

from npusim.formats import flatbuffer
from npusim.formats.flatbuffer import Scalar, Table, Tables, Vector, root, verify
from npusim.graph import ModelError

LEAF = Table("leaf", {0: ("numbers", Vector(4)), 1: ("scalar", Scalar(8))})
TREE = Table("tree", {0: ("leaf", LEAF), 1: ("leaves", Tables(LEAF))})

# position: content
GOOD = b"".join(
    [
        struct.pack("<I", 12),  # 0: the root table stands at 12
        struct.pack("<HHHH", 8, 12, 4, 8),  # 4: its vtable
        struct.pack("<iII", 8, 28, 4),  # 12: vtable at 4, leaf at 44, vector of leaves at 24
        struct.pack("<III", 2, 16, 12),  # 24: two leaves, both at 44
        struct.pack("<HHHH", 8, 16, 4, 8),  # 36: the leaf's vtable
        struct.pack("<iIQ", 8, 12, 7),  # 44: vtable at 36, vector of numbers at 60
        struct.pack("<III", 2, 5, 6),  # 60: two numbers
    ]
)
DAMAGED = "the file is damaged or of another kind"
PATCHES = {
    "root outside": (0, "<I", 72, "root table: must lie inside the file of 72 bytes, "
                     f"got bytes 72..76; {DAMAGED}"),
    "vtable before the file": (12, "<i", 13, "tree: must lie inside the file of 72 bytes, "
                               f"got bytes -1..3; {DAMAGED}"),
    "vtable behind the file": (12, "<i", -60, "tree: must lie inside the file of 72 bytes, "
                               f"got bytes 72..76; {DAMAGED}"),
    "short vtable": (4, "<H", 2, f"tree: vtable must have 4, 6, 8 .. bytes, got 2; {DAMAGED}"),
    "odd vtable": (4, "<H", 7, f"tree: vtable must have 4, 6, 8 .. bytes, got 7; {DAMAGED}"),
    "long vtable": (36, "<H", 38, "leaf: must lie inside the file of 72 bytes, "
                    f"got bytes 36..74; {DAMAGED}"),
    "long table": (38, "<H", 29, "leaf: must lie inside the file of 72 bytes, "
                   f"got bytes 44..73; {DAMAGED}"),
    "field behind its table": (42, "<H", 9, "leaf.scalar: field must lie inside its table of "
                               f"16 bytes, got offset 9; {DAMAGED}"),
    "field on the vtable's offset": (40, "<H", 3, "leaf.numbers: field must lie inside its table "
                                     f"of 16 bytes, got offset 3; {DAMAGED}"),
    "table outside": (16, "<I", 54, "tree.leaf: must lie inside the file of 72 bytes, "
                      f"got bytes 70..74; {DAMAGED}"),
    "vector outside": (20, "<I", 2**32 - 1, "tree.leaves: must lie inside the file of 72 bytes, "
                       f"got bytes 4294967315..4294967319; {DAMAGED}"),
    "long vector of tables": (24, "<I", 12, "tree.leaves: must lie inside the file of 72 bytes, "
                              f"got bytes 28..76; {DAMAGED}"),
    "longest vector of tables": (24, "<I", 2**32 - 1, "tree.leaves: must lie inside the file of "
                                 f"72 bytes, got bytes 28..17179869208; {DAMAGED}"),
    "element outside": (32, "<I", 40, "tree.leaves: must lie inside the file of 72 bytes, "
                        f"got bytes 72..76; {DAMAGED}"),
    "long vector": (60, "<I", 3, "leaf.numbers: must lie inside the file of 72 bytes, "
                    f"got bytes 64..76; {DAMAGED}"),
}  # fmt: skip


def test_whole_buffer_is_verified():
    assert verify(GOOD, TREE, root(GOOD)) is None


def test_absent_fields_are_not_followed():
    data = bytearray(GOOD)
    struct.pack_into("<HH", data, 8, 0, 0)
    assert verify(bytes(data), TREE, root(data)) is None
    struct.pack_into("<H", data, 4, 4)
    assert verify(bytes(data), TREE, root(data)) is None


@pytest.mark.parametrize("case", PATCHES)
def test_broken_offset_is_refused(case):
    position, form, value, expected = PATCHES[case]
    data = bytearray(GOOD)
    struct.pack_into(form, data, position, value)
    with pytest.raises(ModelError) as caught:
        verify(bytes(data), TREE, root(data))
    assert str(caught.value) == expected


@pytest.mark.parametrize("length", range(len(GOOD)))
def test_prefix_is_refused(length):
    with pytest.raises(ModelError, match="must lie inside the file"):
        verify(GOOD[:length], TREE, root(GOOD[:length]))


def test_vector_shared_too_often_is_refused():
    """Twenty leaves share one vector that fills half of the file."""
    numbers, leaves = 200, 40
    head = GOOD[:24] + struct.pack("<I", leaves)
    vtable = len(head) + 4 * leaves
    leaf = vtable + 8
    data = head
    data += b"".join(struct.pack("<I", leaf - (28 + 4 * i)) for i in range(leaves))
    data += GOOD[36:60] + struct.pack("<I", numbers) + bytes(4 * numbers)
    data = data[:16] + struct.pack("<I", leaf - 16) + data[20:]
    with pytest.raises(ModelError) as caught:
        verify(data, TREE, root(data))
    assert str(caught.value) == f"leaf.numbers: vectors must not be shared so often; {DAMAGED}"


def test_too_many_tables_are_refused():
    """One leaf a hundred thousand times."""
    count = flatbuffer.TABLE_LIMIT
    head = GOOD[:24] + struct.pack("<I", count)
    leaf = len(head) + 4 * count + 8
    data = head
    data += b"".join(struct.pack("<I", leaf - (28 + 4 * i)) for i in range(count))
    data += GOOD[36:72]
    data = data[:16] + struct.pack("<I", leaf - 16) + data[20:]
    with pytest.raises(ModelError) as caught:
        verify(data, TREE, root(data))
    assert str(caught.value) == (
        f"tree.leaves: tables must be at most {count}, got more; {DAMAGED}"
    )


def test_doubling_chain_is_refused():
    """Forty tables, each of which refers twice to the next: 2^40 paths."""
    link = Table("link", {})
    object.__setattr__(link, "fields", {0: ("left", link), 1: ("right", link)})
    data = struct.pack("<IHHHH", 12, 8, 12, 4, 8)
    for _ in range(40):
        data += struct.pack("<iII", len(data) - 4, 8, 4)
    data += struct.pack("<iHH", -4, 4, 4)
    with pytest.raises(ModelError) as caught:
        verify(data, link, root(data))
    assert str(caught.value) == (
        f"link.left: tables must be at most {flatbuffer.TABLE_LIMIT}, got more; {DAMAGED}"
    )
