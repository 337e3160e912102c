"""The graph: frozen data that says what a model computes, and nothing else.

A `Graph` holds tensors and nodes. Nodes stand in execution order and refer to tensors by index;
an absent optional input is -1. Activations are NHWC, convolution weights OHWI, depthwise weights
(1, KH, KW, C*M), fully connected weights (O, I).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from operator import index
from types import MappingProxyType
from typing import Any

import numpy as np

from .plurals import counted

KINDS = ("constant", "input", "activation", "state")
DTYPES = ("int8", "int16", "int32", "int64", "uint8", "float32", "bool")
ABSENT = -1
LIKE = 0.5
"""How like a name another must be to be suggested, 0..1: as `difflib` counts equal letters."""

_EMPTY: Mapping[str, Any] = MappingProxyType({})


class ModelError(ValueError):
    """A model cannot be loaded, or cannot be executed as asked.

    The message reads `where: rule, got value; remedy`.
    """


@dataclass(frozen=True, eq=False)
class Quantization:
    """Affine quantisation `real = scale * (code - zero_point)`.

    scale        float32 (n,), n = 1 per tensor, else the length of `axis`
    zero_point   int64 (n,)
    axis         None per tensor, else the dimension the scales belong to
    """

    scale: np.ndarray
    zero_point: np.ndarray
    axis: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _frozen(np.atleast_1d(self.scale), np.float32))
        object.__setattr__(self, "zero_point", _frozen(np.atleast_1d(self.zero_point), np.int64))

    def __eq__(self, other: object) -> bool:
        return _same(self, other)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return _as_call(self)


@dataclass(frozen=True, eq=False)
class Tensor:
    """One tensor of a graph.

    name         unique in the graph
    shape        dimensions, () for a scalar
    dtype        one of DTYPES
    kind         "constant", "input", "activation" or "state"
    data         the values of a constant, read-only; None otherwise
    stream       number of the tensor's random stream, given once when a model is loaded
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    kind: str
    quantization: Quantization | None = None
    data: np.ndarray | None = None
    stream: int = 0

    def __post_init__(self) -> None:
        if self.data is not None:
            object.__setattr__(self, "data", _frozen(self.data, np.dtype(self.dtype)))

    def __eq__(self, other: object) -> bool:
        return _same(self, other)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return _as_call(self)

    def __repr__(self) -> str:
        return f"<Tensor {self.name}: {self.dtype} {self.shape}, {self.kind}>"


@dataclass(frozen=True, eq=False)
class Node:
    """One operation.

    op           operator name, such as "conv2d"
    name         unique in the graph, such as "conv2d_0"
    inputs       tensor indices in the operator's order, ABSENT for a missing optional input
    outputs      tensor indices
    attributes   the operator's options: int, float, str, bool, or tuples of int (of pairs for pad)
    rule         requantisation rule of this node instead of the graph's profile's, or the name of a
                 profile instead of the graph's, see `npusim.rules`
    given        arithmetic parameters that were given and are not derived from the scales, such as
                 "multiplier" and "shift" int32 (O,), or stored statistics
    """

    op: str
    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    attributes: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)
    given: Mapping[str, np.ndarray] = field(default_factory=lambda: _EMPTY)
    rule: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", MappingProxyType(dict(self.attributes)))
        given = {k: _frozen(v, np.asarray(v).dtype) for k, v in self.given.items()}
        object.__setattr__(self, "given", MappingProxyType(given))

    def __eq__(self, other: object) -> bool:
        return _same(self, other)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return _as_call(self)

    def __repr__(self) -> str:
        return (
            f"<Node {self.name}: {self.op}, {counted(len(self.inputs), 'input')}, "
            f"{counted(len(self.outputs), 'output')}>"
        )


@dataclass(frozen=True)
class Accumulator:
    """The accumulator of weighted operators: its width and what happens when it is too narrow.

    bits         8..64
    overflow     "wrap" two's complement; "saturate" clamp after every multiply-accumulate, in the
                 order kernel row, kernel column, input channel, starting from the bias;
                 "error" raise, naming node, output coordinate and value
    """

    bits: int = 32
    overflow: str = "wrap"

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "bits", index(self.bits))
        except TypeError:
            rule = "accumulator: bits must be a whole number in 8..64"
            raise TypeError(f"{rule}, got {self.bits!r}") from None
        if not 8 <= self.bits <= 64:
            raise ValueError(f"accumulator: bits must be 8..64, got {self.bits}")
        if self.overflow not in ("wrap", "saturate", "error"):
            raise ValueError(
                f"accumulator: overflow must be wrap, saturate or error, got {self.overflow!r}"
            )

    def __str__(self) -> str:
        """32 bits, wrap"""
        return f"{self.bits} bits, {self.overflow}"


@dataclass(frozen=True, eq=False)
class Graph:
    """A whole model.

    inputs       indices of the tensors a caller feeds
    outputs      indices of the tensors a caller reads
    profile      name of the arithmetic, see `npusim.profiles`
    accumulator  overrides the profile's accumulator when not None
    layout       "NHWC" or "NCHW": order of image dimensions at the graph's inputs
    provenance   where the graph came from: "file", "sha256", "format", ...
    """

    name: str
    tensors: tuple[Tensor, ...]
    nodes: tuple[Node, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    profile: str = "tflm"
    accumulator: Accumulator | None = None
    layout: str = "NHWC"
    provenance: Mapping[str, str] = field(default_factory=lambda: _EMPTY)

    def __post_init__(self) -> None:
        object.__setattr__(self, "provenance", MappingProxyType(dict(self.provenance)))

    def __eq__(self, other: object) -> bool:
        return _same(self, other)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return _as_call(self)

    def __repr__(self) -> str:
        return (
            f"<Graph {self.name}: {counted(len(self.nodes), 'node')}, "
            f"{counted(len(self.tensors), 'tensor')}, profile {self.profile}>"
        )

    def tensor(self, name: str) -> Tensor:
        """The tensor called `name`; KeyError names the closest ones."""
        for tensor in self.tensors:
            if tensor.name == name:
                return tensor
        known = closest_names(name, [tensor.name for tensor in self.tensors])
        raise KeyError(f"graph {self.name}: no tensor is called {name!r}; {known}")

    def node(self, name: str) -> Node:
        """The node called `name`; KeyError names the closest ones."""
        for node in self.nodes:
            if node.name == name:
                return node
        known = closest_names(name, [node.name for node in self.nodes])
        raise KeyError(f"graph {self.name}: no node is called {name!r}; {known}")


def closest_names(name: str, known: Collection[str]) -> str:
    """What a message says of the names there are: how many, and up to three that are like `name`.

    Where none is, the first three.
    """
    if not known:
        return "there are none"
    closest = get_close_matches(str(name), known, n=3, cutoff=LIKE)
    which = "closest" if closest else "first"
    return f"{which} of {len(known)}: {', '.join(closest or list(known)[:3])}"


def _frozen(values: Any, dtype: Any) -> np.ndarray:
    """A read-only C-contiguous copy (or the array itself where it is so already)."""
    array = np.ascontiguousarray(values, dtype=dtype).reshape(np.shape(values))
    if array.flags.writeable:
        array = array.copy() if array is values or array.base is not None else array
        array.setflags(write=False)
    return array


def _as_call(part: Any) -> tuple[Any, ...]:
    """How to make an equal part: its class and its fields, with mappings that can be pickled."""
    values = (getattr(part, f.name) for f in fields(part))
    return type(part), tuple(dict(v) if isinstance(v, Mapping) else v for v in values)


def _same(a: Any, b: Any) -> bool:
    """Equality through dataclasses, mappings, tuples and arrays; dtypes count."""
    if type(a) is not type(b):
        return False
    if hasattr(a, "__dataclass_fields__"):
        return all(_same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    if isinstance(a, Mapping):
        return a.keys() == b.keys() and all(_same(a[k], b[k]) for k in a)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return bool(a == b)
