"""A row of the operation table as C: operands become pointers, numbers become structs.

Twin of npusim/kernels/operands.py.
"""

import re
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

import numpy as np

from ..c_syntax import initializer
from ..graph import Graph, Node
from ..kernels import table
from ..kernels.structs import REQUANTIZE
from ..plan import Plan
from .names import Names

_C_TYPES = {
    "int8": "int8_t",
    "uint8": "uint8_t",
    "int16": "int16_t",
    "int32": "int32_t",
    "int64": "int64_t",
    "float32": "float",
    "bool": "uint8_t",
}

WEIGHTS, BIASES, PARAMETERS = "weights", "biases", "multipliers, shifts and other parameters"
"""Kinds of constants."""

Fields = dict[str, object]
"""Fields of a struct: numbers, C text, or the fields of a struct inside."""


@dataclass(frozen=True)
class Array:
    """Constants, flat.

    what       they are, for a comment
    kind       of constants, such as "weights", for a sum of bytes
    writable   whether the program may change them: they are copied from flash at boot
    """

    name: str
    values: np.ndarray
    what: str
    kind: str
    writable: bool = False


class Place(NamedTuple):
    """A named stretch of the arena.

    offset, nbytes   in bytes
    what             is there, for a comment
    user             the node it is scratch of; None for a tensor
    """

    name: str
    offset: int
    nbytes: int
    what: str
    user: int | None = None


def c_type(dtype: str) -> str:
    """The C type of a tensor's elements."""
    return _C_TYPES[dtype]


def enumerator(number: int, names: tuple[str, ...]) -> str:
    """The C name of a rule's number."""
    return f"NPU_{names[number].upper()}"


@dataclass
class Row:
    """One row, read as C; what its call needs besides tensors is collected on the way.

    rescaled  whether the program may change the node's shifts
    structs   definitions, lines of C
    arrays    constants besides tensors
    scratch   places in the arena
    """

    graph: Graph
    plan: Plan
    names: Names
    index: int
    rescaled: bool = False
    structs: list[str] = field(default_factory=list)
    arrays: list[Array] = field(default_factory=list)
    scratch: list[Place] = field(default_factory=list)

    @property
    def node(self) -> Node:
        return self.graph.nodes[self.index]

    @property
    def name(self) -> str:
        """The node's identifier."""
        return self.names.nodes[self.index]

    @property
    def operation(self) -> str:
        """Name of the kernel."""
        return self.plan.kernel(self.index)

    @property
    def size(self) -> int:
        """Elements of the node's output."""
        return prod(self.graph.tensors[self.node.outputs[0]].shape)

    def number(self, k: int) -> int:
        """The k-th number of the kernel's structs."""
        return int(self.plan.table[self.index, table.PARAMETERS + k])

    def place(self, slot: int) -> tuple[int, int, int]:
        """(space, offset, bytes) of an operand."""
        column = table.OPERANDS + slot * table.OPERAND_COLUMNS
        space, offset, nbytes = self.plan.table[self.index, column : column + 3].tolist()
        return space, offset, nbytes

    def array(self, slot: int, dtype: str) -> np.ndarray:
        """The values of a constant operand."""
        _, offset, nbytes = self.place(slot)
        return self.plan.constants[offset : offset + nbytes].view(dtype)

    def input(self, k: int) -> str:
        """Pointer to the node's k-th input."""
        i = self.node.inputs[k]
        constant = self.names.constants.get(i)
        return constant or _pointer(self.names.places[i], c_type(self.graph.tensors[i].dtype))

    def output(self) -> str:
        """Pointer to the node's output."""
        i = self.node.outputs[0]
        return _pointer(self.names.places[i], c_type(self.graph.tensors[i].dtype))

    def scratch_memory(self, slot: int, what: str, kind: str) -> str:
        """Pointer to scratch; NULL where the node has none."""
        _, offset, nbytes = self.place(slot)
        return self.stretch(what, kind, offset, nbytes) if nbytes else "NULL"

    def stretch(self, what: str, kind: str, offset: int, nbytes: int) -> str:
        """Pointer to a stretch of the arena."""
        name, comment = f"{self.name}_{what}".upper(), f"scratch of {self.name}"
        place = Place(name, offset, nbytes, comment, self.index)
        self.scratch.append(place)
        return _pointer(place.name, kind)

    def constants(self, what: str, values: np.ndarray, writable: bool = False) -> str:
        """Name of an array of constants."""
        name = f"{self.names.prefix}_{self.name}_{what}"
        self.arrays.append(Array(name, values, what.replace("_", " "), PARAMETERS, writable))
        return name

    def vector(self, slot: int, what: str) -> str:
        """Name of an array of numbers; int64 in the table, int32 in C."""
        return self.constants(what, self.array(slot, "int64").astype(np.int32))

    def length(self, slot: int) -> int:
        """How many numbers a vector has."""
        return self.place(slot)[2] // 8

    def struct(self, suffix: str, kind: type, fields: Fields) -> str:
        """Address of a constant struct, the twin of a NamedTuple of npusim.kernels.structs."""
        name = f"{self.name}_{suffix}"
        head = f"static const struct {struct_name(kind)} {name} = {{"
        self.structs += [head, *initializer(fields), "};"]
        return f"&{name}"

    def numbered(self, kind: type, first: int, skip: int = 0) -> Fields:
        """Fields that are numbers, the k-th and those behind; `skip` fields in front are none."""
        names = kind._fields[skip:]  # type: ignore[attr-defined]
        return {name: self.number(first + k) for k, name in enumerate(names)}

    def rounding(self, first: int, names: tuple[str, ...] = REQUANTIZE) -> Fields:
        """A Rounding, its numbers from the k-th on."""
        rule, block, rest = (self.number(first + k) for k in range(3))
        return {"rule": enumerator(rule, names), "block": block, "rest": enumerator(rest, names)}

    def requantization(
        self, first: int, place: int = 0, count: int = 1, prefix: str = ""
    ) -> Fields:
        """A Requantization, its numbers from the k-th on.

        place, count   which one it is of those that share the row's multipliers and shifts
        """
        multiplier, shift = (
            np.split(self.array(slot, "int32"), count)[place]
            for slot in (table.MULTIPLIER, table.SHIFT)
        )
        return {
            "multiplier": self.constants(f"{prefix}multiplier", multiplier),
            "shift": self.constants(f"{prefix}shift", shift, self.rescaled),
            "channels": len(multiplier),
            "zero_point": self.number(first),
            "act_min": self.number(first + 1),
            "act_max": self.number(first + 2),
            "rounding": self.rounding(first + 3),
        }


def struct_name(kind: type) -> str:
    """AddXnnpack -> npu_add_xnnpack"""
    return "npu" + re.sub(r"[A-Z]", lambda m: f"_{m.group().lower()}", kind.__name__)


def _pointer(place: str, kind: str) -> str:
    pointer = f"arena + {place}"
    return pointer if kind == "int8_t" else f"({kind} *)({pointer})"
