"""main.c and self_test.h of an exported model."""

from collections.abc import Mapping

import numpy as np

from ..c_syntax import rows
from ..graph import Graph
from .checksums import checksum_rows
from .entries import Parameters, inputs_of, outputs_of
from .model import Model
from .row import c_type

Arrays = Mapping[str, np.ndarray]


def main_source(model: Model, template: str) -> str:
    """The template with what depends on the model: ports, and the call of `run`."""
    sources, sinks = inputs_of(model), outputs_of(model)
    arguments = [
        *(_argument(model, name, i, "const ") for name, i in sources),
        *(_argument(model, name, i, "") for name, i in sinks),
        "arena.bytes",
    ]
    run = f"{model.prefix}_run(" + (",\n" + " " * 12).join(arguments) + ")"
    marks = {
        "@RUN@": run,
        "@INPUTS@": _ports(model, sources),
        "@OUTPUTS@": _ports(model, sinks),
        "@NAME@": model.prefix,
        "@MACRO@": model.names.macro,
    }
    return filled_template(template, marks)


def filled_template(template: str, marks: Mapping[str, str]) -> str:
    """The template with texts in place of its marks, such as @NAME@."""
    for mark, text in marks.items():
        template = template.replace(mark, text)
    return template


def _argument(model: Model, name: str, tensor: int, constant: str) -> str:
    pointer = f"arena.bytes + {model.names.macro}_{name.upper()}_OFFSET"
    kind = c_type(model.graph.tensors[tensor].dtype)
    return pointer if kind == "int8_t" else f"({constant}{kind} *)({pointer})"


def _ports(model: Model, parameters: Parameters) -> str:
    """Initialisers of (offset, bytes)."""
    macro = model.names.macro
    return ", ".join(
        f"{{{macro}_{name.upper()}_OFFSET, {model.plan.buffers[i].nbytes}}}"
        for name, i in parameters
    )


def self_test_header(model: Model, inputs: Arrays, outputs: Arrays) -> str:
    """Checksums of the constants; inputs of some runs and the outputs they must give.

    inputs, outputs   by tensor name, as a session takes and gives them
    """
    given = _runs(model.graph, model.graph.inputs, inputs)
    expected = _runs(model.graph, model.graph.outputs, outputs)
    lines = [
        "/* Checksums of the constants. What the model must give, byte by byte: the inputs",
        " * of a run one after the other, and its outputs. Wider numbers are little-endian. */",
        "#ifndef SELF_TEST_H",
        "#define SELF_TEST_H",
        "",
        "#include <stdint.h>",
        "",
        *checksum_rows(model),
        "",
        f"#define SELF_TESTS {len(given)}",
        "",
        f"static const int8_t self_test_inputs[SELF_TESTS][{model.names.macro}_INPUT_BYTES] = {{",
        *(line for run in given for line in ("    {", *rows(run), "    },")),
        "};",
        "",
        f"static const int8_t self_test_outputs[SELF_TESTS][{model.names.macro}_OUTPUT_BYTES] = {{",
        *(line for run in expected for line in ("    {", *rows(run), "    },")),
        "};",
        "",
        "#endif",
    ]
    return "".join(f"{line}\n" for line in lines)


def _runs(graph: Graph, tensors: tuple[int, ...], values: Arrays) -> np.ndarray:
    """int8 (runs, bytes): the tensors of each run one after the other."""
    parts = []
    for tensor in (graph.tensors[i] for i in tensors):
        array = values[tensor.name]
        little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        runs = array.shape[0] // (tensor.shape or (1,))[0]
        parts.append(little.reshape(-1).view(np.int8).reshape(runs, -1))
    return np.concatenate(parts, axis=1)
