"""From a row of the operation table to the text of a kernel's call, by family.

Twin of npusim/kernels/steps.py and npusim/kernels/neural_art_steps.py.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from ..kernels import table
from ..kernels.structs import (
    DEQUANTIZE,
    OVERFLOW,
    QUANTIZE,
    TIES,
    Accumulation,
    Add,
    AddXnnpack,
    Conv2d,
    Dequantize,
    FullyConnected,
    Mean,
    Mul,
    NeuralArt,
    NeuralArtAdd,
    NeuralArtMean,
    Pairs,
    Pool2d,
    Quantize,
    Requantization,
    Rescale,
    RescaleXnnpack,
    Softmax,
)
from .row import Fields, Row, enumerator

_GEOMETRY: Mapping[str, type[Conv2d] | type[FullyConnected]] = {
    "conv2d": Conv2d,
    "depthwise_conv2d": Conv2d,
    "fully_connected": FullyConnected,
}


class Call(NamedTuple):
    """A call of a C kernel.

    function    its name
    arguments   C expressions
    faults      whether the last argument takes the first sum that left the accumulator
    """

    function: str
    arguments: tuple[str, ...]
    faults: bool = False


def call_of(row: Row) -> Call | None:
    """What executes the row; None where there is nothing to do.

    raises   KeyError for an operation without a twin in C, see `has_twin`
    """
    return _CALLS[row.operation](row)


def has_twin(operation: str) -> bool:
    """Whether C has the kernel of an operation of the table."""
    return operation in _CALLS


def _weighted(row: Row) -> Call:
    """conv2d, depthwise_conv2d, fully_connected."""
    operands, tail = _summed(row)
    r = row.struct("r", Requantization, row.requantization(tail))
    memory = [row.scratch_memory(table.SUMS, "sums", "int32_t")]
    if row.operation == "conv2d":
        memory.insert(0, row.scratch_memory(table.SCRATCH, "patch", "int8_t"))
    return Call(f"npu_{row.operation}", (*operands, r, row.output(), *memory))


def _ordered(row: Row) -> Call:
    """Their twins that sum in the documented order, in two arrays of int64."""
    operands, tail = _summed(row)
    r = row.struct("r", Requantization, row.requantization(tail))
    fields: Fields = row.numbered(Accumulation, tail + table.TAIL)
    fields["overflow"] = enumerator(row.number(tail + table.TAIL + 1), tuple(OVERFLOW))
    a = row.struct("a", Accumulation, fields)
    _, offset, nbytes = row.place(table.SUMS)
    half = nbytes // 16 * 8
    acc = row.stretch("acc", "int64_t", offset, half)
    first = row.stretch("first", "int64_t", offset + half, half)
    arguments = (*operands, r, a, row.output(), acc, first, "fault")
    return Call(f"npu_{row.operation}", arguments, faults=True)


def _summed(row: Row) -> tuple[list[str], int]:
    """x, weights, bias and geometry; and where the numbers behind the geometry begin."""
    kind = _GEOMETRY[row.node.op]
    g = row.struct("g", kind, row.numbered(kind, 0))
    return [row.input(0), row.input(1), row.input(2), g], len(kind._fields)


def _add(row: Row) -> Call:
    operands = {
        "a": row.requantization(4, 0, 3, "a_"),
        "b": row.requantization(4 + table.TAIL, 1, 3, "b_"),
    }
    p = row.struct("p", Add, row.numbered(Add, 0) | operands)
    r = row.requantization(4 + 2 * table.TAIL, 2, 3)
    return _scaled_pairs(row, p, row.struct("r", Requantization, r))


def _mul(row: Row) -> Call:
    p = row.struct("p", Mul, row.numbered(Mul, 0))
    return _scaled_pairs(row, p, row.struct("r", Requantization, row.requantization(2)))


def _scaled_pairs(row: Row, p: str, r: str) -> Call:
    """add and mul."""
    return Call(f"npu_{row.operation}", (row.input(0), row.input(1), p, r, _pairs(row),
                                         row.output(), *_int32_scratch(row)))  # fmt: skip


def _add_xnnpack(row: Row) -> Call:
    p = row.struct("p", AddXnnpack, row.numbered(AddXnnpack, 0))
    return Call("npu_add_xnnpack", (row.input(0), row.input(1), p, _pairs(row), row.output()))


def _pairs(row: Row) -> str:
    """The walk over two operands."""
    slots = (table.V0, table.V1, table.V2)
    arrays = {n: row.vector(s, n) for n, s in zip(Pairs._fields, slots, strict=True)}
    return row.struct("walk", Pairs, {**arrays, "rank": row.length(table.V0)})


def _int32_scratch(row: Row) -> tuple[str, str]:
    """Scratch and how many int32 it holds."""
    count = row.place(table.SCRATCH)[2] // 4
    return row.scratch_memory(table.SCRATCH, "scratch", "int32_t"), str(count)


def _pool(row: Row) -> Call:
    g = row.struct("g", Pool2d, row.numbered(Pool2d, 0))
    sums = [row.scratch_memory(table.SCRATCH, "sums", "int32_t")]
    if row.operation == "max_pool2d":
        sums = []
    return Call(f"npu_{row.operation}", (row.input(0), g, row.output(), *sums))


def _mean(row: Row) -> Call:
    p = row.struct("p", Mean, row.numbered(Mean, 0))
    r = row.struct("r", Requantization, row.requantization(2))
    sums = row.scratch_memory(table.SCRATCH, "sums", "int32_t")
    return Call("npu_mean", (row.input(0), *_walk(row, "y_strides"), p, r, row.output(), sums,
                             str(row.size)))  # fmt: skip


def _softmax(row: Row) -> Call:
    p = row.struct("p", Softmax, row.numbered(Softmax, 0))
    scratch = row.scratch_memory(table.SCRATCH, "exponentials", "int32_t")
    return Call("npu_softmax", (row.input(0), p, row.output(), scratch))


def _pad(row: Row) -> Call:
    start, value, size = (row.number(k) for k in range(3))
    outside = row.constants("value", np.array([value], f"int{8 * size}"))
    return Call("npu_pad", (row.input(0), *_walk(row, "y_strides"), str(start), outside, str(size),
                            row.output(), str(row.size)))  # fmt: skip


def _transpose(row: Row) -> Call:
    walk, size = _walk(row, "x_strides"), str(row.number(0))
    return Call("npu_transpose", (row.input(0), *walk, size, row.output()))


def _walk(row: Row, strides: str) -> tuple[str, str, str]:
    """Shape, rank and strides of a walk."""
    rank = str(row.length(table.V0))
    return row.vector(table.V0, "shape"), rank, row.vector(table.V1, strides)


def _move(row: Row) -> Call | None:
    if row.place(table.X) == row.place(table.Y):
        return None
    return Call("npu_move", (row.input(0), row.output(), str(row.place(table.Y)[2])))


def _quantize(row: Row) -> Call:
    p = row.struct("p", Quantize, _real(row, QUANTIZE))
    return Call(f"npu_{row.operation}", (row.input(0), str(row.size), p, row.output()))


def _dequantize(row: Row) -> Call:
    p = row.struct("p", Dequantize, _real(row, DEQUANTIZE))
    return Call(f"npu_{row.operation}", (row.input(0), str(row.size), p, row.output()))


def _real(row: Row, rules: tuple[str, ...]) -> Fields:
    """Scale, zero point and rule between real numbers and codes."""
    (scale,) = row.array(table.V0, "float32").tolist()
    return {"scale": f"{scale.hex()}f", "zero_point": row.number(0),
            "rounding": row.rounding(1, rules)}  # fmt: skip


def _rescale(row: Row) -> Call:
    p = row.struct("p", Rescale, row.numbered(Rescale, 0))
    r = row.struct("r", Requantization, row.requantization(1))
    return Call(f"npu_{row.operation}", (row.input(0), str(row.size), p, r, row.output(),
                                         *_int32_scratch(row)))  # fmt: skip


def _rescale_xnnpack(row: Row) -> Call:
    p = row.struct("p", RescaleXnnpack, row.numbered(RescaleXnnpack, 0))
    return Call("npu_rescale_xnnpack", (row.input(0), str(row.size), p, row.output()))


def _neural_art_weighted(row: Row) -> Call:
    kind = _GEOMETRY[row.node.op]
    g = row.struct("g", kind, row.numbered(kind, 0))
    tail = row.struct("r", NeuralArt, _neural_art_tail(row, len(kind._fields)))
    if row.node.op == "depthwise_conv2d":
        _, offset, _ = row.place(table.SUMS)
        half = 8 * row.number(Conv2d._fields.index("o"))
        memory = [row.stretch("acc", "int64_t", offset, half),
                  row.stretch("partial", "int64_t", offset + half, half)]  # fmt: skip
    else:
        memory = [row.scratch_memory(table.SCRATCH, "patch", "int16_t")]
    arguments = (row.input(0), row.input(1), g, tail, row.output(), *memory)
    return Call(f"npu_{row.operation}", arguments)


def _neural_art_tail(row: Row, first: int) -> Fields:
    arrays: Fields = {
        "a_c": row.constants("a_c", row.array(table.MULTIPLIER, "int32")),
        "bc_c": row.constants("bc_c", row.array(table.BIAS, "int32")),
        "runs": row.vector(table.V0, "runs"),
        "run_count": row.length(table.V0) // 3,
    }
    return arrays | _with_ties(row.numbered(NeuralArt, first, skip=3))


def _neural_art_add(row: Row) -> Call:
    p = row.struct("p", NeuralArtAdd, _with_ties(row.numbered(NeuralArtAdd, 0)))
    shape, rank, a_strides = _walk(row, "a_strides")
    b_strides = row.vector(table.V2, "b_strides")
    return Call("npu_neural_art_add", (row.input(0), row.input(1), p, shape, rank, a_strides,
                                       b_strides, row.output()))  # fmt: skip


def _neural_art_mean(row: Row) -> Call:
    p = row.struct("p", NeuralArtMean, _with_ties(row.numbered(NeuralArtMean, 0)))
    sums = row.scratch_memory(table.SCRATCH, "sums", "int32_t")
    return Call("npu_neural_art_mean", (row.input(0), p, row.output(), str(row.size), sums))


def _with_ties(fields: Fields) -> Fields:
    """The fields with the names of tie rules in place of their numbers."""
    return {
        name: enumerator(v, tuple(TIES)) if name.startswith("round") else v  # type: ignore[arg-type]
        for name, v in fields.items()
    }


_CALLS: Mapping[str, Callable[[Row], Call | None]] = {
    **dict.fromkeys(_GEOMETRY, _weighted),
    **dict.fromkeys((f"{op}_ordered" for op in _GEOMETRY), _ordered),
    "add": _add,
    "mul": _mul,
    "add_xnnpack": _add_xnnpack,
    "average_pool2d": _pool,
    "max_pool2d": _pool,
    "mean": _mean,
    "softmax": _softmax,
    "pad": _pad,
    "transpose": _transpose,
    "move": _move,
    **dict.fromkeys((f"quantize_{code}" for code in table.CODE_TYPES), _quantize),
    **dict.fromkeys((f"dequantize_{code}" for code in table.CODE_TYPES), _dequantize),
    **dict.fromkeys((f"rescale_{x}_{y}" for x, y in table.RESCALES), _rescale),
    "rescale_xnnpack": _rescale_xnnpack,
    **dict.fromkeys((f"neural_art_{op}" for op in _GEOMETRY), _neural_art_weighted),
    "neural_art_add": _neural_art_add,
    "neural_art_mean": _neural_art_mean,
}
"""By operation; what computes in float32 (softmax_x86, mean_xnnpack) is not here."""
