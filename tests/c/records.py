"""Calls as bytes, and results as numbers and arrays again.

    batch    "calls 1\\n", number of records, records
    record   number of the function, bytes of the arguments, arguments in prototype order
    number   8 bytes, little-endian: two's complement, or a double for what C takes as real
    array    number of elements (2^64-1: NULL), then the elements, padded to 8 bytes
    struct   number of structs (1 where C takes one by value, 2^64-1: NULL), then the fields of each
    result   the return value, then, in the same order, the arrays C may change, and the numbers of
             structs it may change; nothing else

Arguments are given by name: numbers, arrays of the C type, dicts (or lists of them) for structs.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .dispatch import callable_functions
from .headers import REALS, Declarations, Function, Parameter

MAGIC = b"calls 1\n"
NULL = (1 << 64) - 1
SCRATCH = "scratch"
"""Expected of memory in which a function may leave anything."""


class Case(NamedTuple):
    """A call and what must come of it.

    function    its C name
    arguments   by name
    expected    "return", and by dotted path, such as "state.codes", everything C may change;
                SCRATCH where anything may be left
    """

    function: str
    arguments: Mapping[str, Any]
    expected: Mapping[str, Any]


def encode(found: Declarations, cases: Sequence[Case]) -> bytes:
    """The batch of these calls."""
    functions = callable_functions(found)
    numbers = {function.name: i for i, function in enumerate(functions)}
    records = []
    for case in cases:
        function = found.functions[case.function]
        names = [parameter.name for parameter in function.parameters]
        if sorted(names) != sorted(case.arguments):
            raise ValueError(f"{case.function}: must be given {names}, got {[*case.arguments]}")
        body = b"".join(_encode(found, p, case.arguments[p.name]) for p in function.parameters)
        records += [_number(numbers[case.function]), _number(len(body)), body]
    return b"".join([MAGIC, _number(len(cases)), *records])


def decode(found: Declarations, cases: Sequence[Case], data: bytes) -> list[dict[str, Any]]:
    """The results of a batch's calls, each in the form of `Case.expected`."""
    reader, results = _Reader(data), []
    for case in cases:
        function = found.functions[case.function]
        result: dict[str, Any] = {}
        for path, parameter, value in outputs(found, function, case.arguments):
            if parameter.pointer:
                result[path] = reader.array(np.dtype(_dtype(parameter)), value.size)
            else:
                result[path] = reader.number(parameter.type)
        results.append(result)
    if reader.position != len(data):
        raise ValueError(f"results: must end at {reader.position}, got {len(data)} bytes")
    return results


def outputs(
    found: Declarations, function: Function, arguments: Mapping[str, Any]
) -> Iterator[tuple[str, Parameter, Any]]:
    """(path, parameter, value before the call) of everything the results hold, in order."""
    if function.returns.struct:
        yield from _fields(found, "return", function.returns, [{}], True)
    elif function.returns.type != "void":
        yield "return", function.returns, None
    for parameter in function.parameters:
        value = arguments[parameter.name]
        yield from _outputs(found, parameter.name, parameter, value, False)


def _outputs(
    found: Declarations, path: str, parameter: Parameter, value: Any, scalars: bool
) -> Iterator[tuple[str, Parameter, Any]]:
    if parameter.struct:
        inner = not parameter.const if parameter.pointer else scalars
        yield from _fields(found, path, parameter, _many(value), inner)
    elif parameter.pointer:
        if not parameter.const and value is not None:
            yield path, parameter, value
    elif scalars:
        yield path, parameter, value


def _fields(
    found: Declarations, path: str, parameter: Parameter, values: Sequence[Any], scalars: bool
) -> Iterator[tuple[str, Parameter, Any]]:
    for i, value in enumerate(values):
        start = path if len(values) == 1 else f"{path}.{i}"
        for field in found.structs[parameter.struct]:
            inside = value.get(field.name)
            yield from _outputs(found, f"{start}.{field.name}", field, inside, scalars)


def _many(value: Any) -> Sequence[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _encode(found: Declarations, parameter: Parameter, value: Any) -> bytes:
    if value is None and parameter.pointer:
        return _number(NULL)
    if parameter.struct:
        parts = [_number(len(_many(value)))]
        for one in _many(value):
            fields = found.structs[parameter.struct]
            if {field.name for field in fields} != set(one):
                want = [field.name for field in fields]
                raise ValueError(f"{parameter.name}: must have fields {want}, got {[*one]}")
            parts += [_encode(found, field, one[field.name]) for field in fields]
        return b"".join(parts)
    if parameter.pointer:
        dtype = np.dtype(_dtype(parameter))
        if not isinstance(value, np.ndarray) or value.dtype != dtype:
            got = getattr(value, "dtype", type(value))
            raise TypeError(f"{parameter.name}: must be an array of {dtype}, got {got}")
        data = np.ascontiguousarray(value).tobytes()
        return _number(value.size) + data + bytes(-len(data) % 8)
    if parameter.type in REALS:
        return struct.pack("<d", value)
    return _number(int(value))


def _number(value: int) -> bytes:
    return struct.pack("<Q", value & NULL)


def _dtype(parameter: Parameter) -> str:
    if parameter.type == "void":
        return "int8"
    return REALS.get(parameter.type, parameter.type.removesuffix("_t"))


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.position = data, 0

    def number(self, kind: str) -> int | float:
        if kind in REALS:
            (real,) = struct.unpack_from("<d", self.data, self.position)
            self.position += 8
            return float(real)
        (value,) = struct.unpack_from("<q", self.data, self.position)
        self.position += 8
        unsigned = kind in ("uint64_t", "size_t")
        return value & NULL if unsigned else value

    def array(self, dtype: np.dtype[Any], count: int) -> np.ndarray:
        array = np.frombuffer(self.data, dtype, count, self.position)
        self.position += -(-count * dtype.itemsize // 8) * 8
        return array
