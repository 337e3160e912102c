"""NAME.h of an exported model: its interface, and its sizes as macros."""

import textwrap
from collections.abc import Iterator

from ..c_syntax import WIDTH, aligned, remark
from ..graph import Graph, Tensor
from ..headroom import accumulator
from .entries import entries, inputs_of, outputs_of, signature
from .model import Model, described

OVERFLOW = {"wrap": "wraps", "saturate": "saturates", "error": "must hold every sum"}


def model_header(model: Model, origin: str) -> str:
    """Sizes and prototypes.

    origin   what the model was made from, for the head of the file
    """
    guard = f"{model.names.macro}_H"
    lines = [
        *_interface(model, origin),
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "#include <stdint.h>",
        "",
        *_sizes(model),
        "",
        *_prototypes(model),
        "#endif",
    ]
    return "".join(f"{line}\n" for line in lines)


def _interface(model: Model, origin: str) -> Iterator[str]:
    graph, a = model.graph, accumulator(model.graph)
    yield f"/* {origin}"
    yield f" * Profile {graph.profile}, accumulator of {a.bits} bits that {OVERFLOW[a.overflow]}."
    yield from (f" * {line}" for line in textwrap.wrap(own_rules(graph), WIDTH - 3))
    yield " *"
    for name, i in (*inputs_of(model), *outputs_of(model)):
        yield f" * {name:7} {port(graph.tensors[i])}"
    yield f" * arena   {model.names.macro}_ARENA_BYTES, aligned to 8 bytes"
    yield " *"
    yield " * Images are (N, H, W, C). An input or output that is its own place in the arena, at"
    yield " * the offset below, is not copied. */"


def own_rules(graph: Graph) -> str:
    """The nodes with a rule or profile of their own, in a sentence; "" where there are none."""
    named = ", ".join(f"{remark(n.name)} ({n.rule})" for n in graph.nodes if n.rule is not None)
    return f"Nodes with a rule or profile of their own: {named}." if named else ""


def port(tensor: Tensor) -> str:
    """An input or output in words: type, shape, name, and what its codes mean."""
    text = remark(described(tensor))
    if tensor.quantization is None:
        return text
    zero = int(tensor.quantization.zero_point[0])
    minus = f"- {zero}" if zero >= 0 else f"+ {-zero}"
    return f"{text}, real = {tensor.quantization.scale[0]!s} * (code {minus})"


def _sizes(model: Model) -> Iterator[str]:
    sizes = {
        "INPUT_BYTES": (model.input_bytes, "of one run"),
        "OUTPUT_BYTES": (model.output_bytes, "of one run"),
        "ARENA_BYTES": (model.plan.arena_bytes, "activations and scratch"),
        "SCRATCH_BYTES": (model.scratch_bytes, "of it, scratch of one node at most"),
        "FLASH_BYTES": (model.flash_bytes, "weights and other arrays of constants"),
    }
    if model.writable_bytes:
        sizes["WRITABLE_BYTES"] = model.writable_bytes, "RAM for the arrays that training changes"
    for name, i in (*inputs_of(model), *outputs_of(model)):
        what = f"where {name} lies in the arena"
        sizes[f"{name.upper()}_OFFSET"] = model.plan.buffers[i].offset, what
    macro = f"#define {model.names.macro}"
    yield from aligned([(f"{macro}_{k} {size}", what) for k, (size, what) in sizes.items()])


def _prototypes(model: Model) -> Iterator[str]:
    if model.writable_bytes:
        yield "/* Copies the arrays that training changes from flash; call it before all else. */"
        yield f"void {model.prefix}_load_weights(void);"
        yield ""
    for entry in entries(model):
        yield from _remark(entry.what, model.faults)
        yield from signature(model, entry, ";")
        yield ""


def _remark(what: str, faults: bool) -> Iterator[str]:
    if faults:
        yield f"/* {what}; returns 0, or the number from 1 of the first node with a sum"
        yield " * that the accumulator cannot hold: nothing is written then. */"
    else:
        yield f"/* {what}; returns 0. */"
