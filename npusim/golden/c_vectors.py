"""Test vectors for kernels in C: a header per weighted layer, and a main that checks a user's code.

The headers are data. The arithmetic is not in them: `main.c` calls functions that the user
supplies, and compares what they write with the recorded codes.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..c_syntax import harmless, identifiers, rows
from ..constants import with_biases
from ..graph import Graph, Node
from ..headroom import WEIGHTED
from .c_text import MAIN, VECTORS
from .record import Golden, RecordedNode

_GEOMETRY = {
    "conv2d": ("n", "h", "w", "c", "oh", "ow", "o", "kh", "kw", "stride_h", "stride_w",
               "dilation_h", "dilation_w", "pad_top", "pad_left", "groups", "x_zero_point"),
    "fully_connected": ("n", "i", "o", "x_zero_point"),
}  # fmt: skip
_GEOMETRY["depthwise_conv2d"] = _GEOMETRY["conv2d"]
_STRUCT = {op: op if op == "fully_connected" else "conv2d" for op in WEIGHTED}
_C_TYPES = {"int8": "int8_t", "int32": "int32_t", "float64": "double"}
_WEIGHTS = {
    "conv2d": "(O, KH, KW, I)",
    "depthwise_conv2d": "(1, KH, KW, O)",
    "fully_connected": "(O, I)",
}


class Layer(NamedTuple):
    """A weighted layer as the headers hold it.

    name       C identifier, and the header's file name
    recorded   with parameters, geometry included
    arrays     C name -> values, flat: x, weights, bias, multiplier, shift, scale, expected
    shape      of the output as (n, h, w, c)
    """

    name: str
    node: Node
    recorded: RecordedNode
    arrays: Mapping[str, np.ndarray]
    shape: tuple[int, int, int, int]


def write_c_vectors(folder: Path, graph: Graph, golden: Golden) -> tuple[list[str], list[str]]:
    """Write vectors.h, main.c and one header per weighted layer.

    folder    made when missing; ValueError when it holds anything
    golden    a recorded run of the graph
    returns   names of the layers written, and of those left out: layers whose arithmetic is not
              one multiplier and shift per channel
    """
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise ValueError(f"{folder}: folder must be empty; remove its files or name another")
    graph = with_biases(graph)
    weighted = [
        (node, recorded)
        for node, recorded in zip(graph.nodes, golden.nodes, strict=True)
        if node.op in WEIGHTED
    ]
    chosen = [(node, r) for node, r in weighted if "multiplier" in r.parameters]
    layers = [
        _layer(graph, golden, pair, name)
        for pair, name in zip(chosen, identifiers([n.name for n, _ in chosen]), strict=True)
    ]
    origin = f"{harmless(golden.model)}, profile {harmless(golden.profile)}"
    (folder / "vectors.h").write_text(VECTORS.replace("@ORIGIN@", origin))
    for layer in layers:
        (folder / f"{layer.name}.h").write_text("".join(f"{x}\n" for x in _header(layer)))
    (folder / "main.c").write_text(_main(layers))
    left_out = [node.name for node, r in weighted if "multiplier" not in r.parameters]
    return [layer.node.name for layer in layers], left_out


def _layer(graph: Graph, golden: Golden, pair: tuple[Node, RecordedNode], name: str) -> Layer:
    node, recorded = pair
    x, weights, bias = node.inputs
    outputs = graph.tensors[bias].data
    assert outputs is not None
    parameters = recorded.parameters
    spread = {
        key: np.broadcast_to(parameters[key].values, outputs.size)
        for key in ("multiplier", "shift", "scale")
    }
    y = golden.tensors[node.outputs[0]].values
    assert y is not None
    arrays = {
        "x": golden.tensors[x].values,
        "weights": graph.tensors[weights].data,
        "bias": outputs,
        **spread,
        "expected": y,
    }
    shape = y.shape if y.ndim == 4 else (y.size // outputs.size, 1, 1, outputs.size)
    flat = {key: np.ravel(values) for key, values in arrays.items() if values is not None}
    return Layer(name, node, recorded, flat, shape)


def _header(layer: Layer) -> Iterator[str]:
    n = layer.name
    yield f"/* {n}: {layer.node.op}, rounding {harmless(str(layer.recorded.rounding))} */"
    yield f"#ifndef VECTORS_{n.upper()}_H"
    yield f"#define VECTORS_{n.upper()}_H"
    yield ""
    yield '#include "vectors.h"'
    for key, values in layer.arrays.items():
        yield ""
        if key == "weights":
            yield f"/* {_WEIGHTS[layer.node.op]} */"
        yield f"static const {_C_TYPES[values.dtype.name]} {n}_{key}[{values.size}] = {{"
        yield from rows(values)
        yield "};"
    yield ""
    yield from _struct(layer)
    yield ""
    yield "#endif"


def _struct(layer: Layer) -> Iterator[str]:
    n, parameters = layer.name, layer.recorded.parameters
    yield f"static const struct {_STRUCT[layer.node.op]}_layer {n} = {{"
    for field in _GEOMETRY[layer.node.op]:
        yield f"    .{field} = {int(parameters[field].values)},"
    yield f"    .weights = {n}_weights,"
    yield f"    .bias = {n}_bias,"
    yield f"    .multiplier = {n}_multiplier,"
    yield f"    .shift = {n}_shift,"
    yield f"    .scale = {n}_scale,"
    for field, key in (("y_zero_point", "zero_point"), ("act_min", ""), ("act_max", "")):
        yield f"    .{field} = {int(parameters[key or field].values)},"
    yield f'    .rounding = "{harmless(str(layer.recorded.rounding))}",'
    yield "};"


def _main(layers: list[Layer]) -> str:
    includes = "".join(f'#include "{layer.name}.h"\n' for layer in layers)
    calls = ""
    for layer in layers:
        n, shape = layer.name, ", ".join(map(str, layer.shape))
        calls += f"    spoil({n}_expected, {layer.arrays['expected'].size});\n"
        calls += f"    device_{layer.node.op}(&{n}, {n}_x, y);\n"
        calls += f'    wrong += compare("{n}", {n}_expected, (const long[]){{{shape}}});\n'
    largest = max((layer.arrays["expected"].size for layer in layers), default=1)
    text = MAIN.replace("@INCLUDES@", includes).replace("@CALLS@", calls)
    return text.replace("@LARGEST@", str(largest))
