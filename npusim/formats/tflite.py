"""Load .tflite models.

The file is hostile until verified: `flatbuffer.verify` proves every offset before the `tflite`
classes follow one, constants must fill their buffers exactly, and the finished graph is checked.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import tflite
from flatbuffers.number_types import Int32Flags

from ..check import check
from ..graph import ABSENT, Graph, ModelError, Node
from . import files
from . import tflite_schema as schema
from .flatbuffer import root, verify
from .tflite_operators import SUPPORTED, Operands, Support
from .tflite_tensors import TensorTable, printable

SCHEMA_VERSION = 3
IDENTIFIER = b"TFL3"

_OPERATOR_NAMES = {v: k for k, v in vars(tflite.BuiltinOperator).items() if not k.startswith("_")}
_BUILTIN_CODE_SLOT = 4 + 2 * 3
_TO_NHWC = (0, 2, 3, 1)


class Operator(NamedTuple):
    """One operator of the file: its code, version, name, and table."""

    code: int
    version: int
    label: str
    table: tflite.Operator


def load(path: str | Path) -> Graph:
    """The graph of a .tflite file, checked.

    raises   ModelError `file: node or tensor: rule, got value; remedy`
    """
    return parse(files.read(path), Path(path).name)


def parse(data: bytes, file_name: str) -> Graph:
    """As `load`, from the bytes of a file."""
    graph = parse_unchecked(data, file_name)
    check(graph, graph.provenance["file"])
    return replace(graph, layout=image_layout(graph))


def parse_unchecked(data: bytes, file_name: str) -> Graph:
    """What the file says, of any types: its operators are known, its graph may be illegal."""
    file_name = printable(os.fsencode(file_name))
    try:
        model = model_of(data)
        subgraph = model.Subgraphs(0)
        operators = _operators(model, subgraph)
        graph = _graph(subgraph, TensorTable(model, subgraph), operators, Path(file_name).stem)
        if model.SubgraphsLength() > 1:
            raise ModelError(f"model: must have one subgraph, got {model.SubgraphsLength()}")
    except ModelError as error:
        raise ModelError(f"{file_name}: {error}") from error
    provenance = {
        "file": file_name,
        "sha256": hashlib.sha256(data).hexdigest(),
        "format": f"tflite {SCHEMA_VERSION}",
        "operators": " ".join(operator.label for operator in operators),
    }
    return replace(graph, provenance=provenance)


def image_layout(graph: Graph) -> str:
    """Order of the images' dimensions: NCHW when they are first turned by (0, 2, 3, 1)."""
    images = {i for i in graph.inputs if len(graph.tensors[i].shape) == 4}
    readers = []
    for node in graph.nodes:
        if images.intersection(node.inputs):
            if node.op == "quantize":
                images.update(node.outputs)
            else:
                readers.append(node)
    turned = [node.attributes.get("permutation") == _TO_NHWC for node in readers]
    return "NCHW" if turned and all(turned) else "NHWC"


def model_of(data: bytes) -> tflite.Model:
    """The model in the bytes of a file, verified.

    raises   ModelError
    """
    if data[4:8] != IDENTIFIER:
        raise ModelError(f"model: identifier must be {IDENTIFIER.decode()}, got {data[4:8]!r}")
    verify(data, schema.MODEL, root(data))
    model = tflite.Model.GetRootAs(data)
    if model.Version() != SCHEMA_VERSION:
        raise ModelError(f"model: schema version must be {SCHEMA_VERSION}, got {model.Version()}")
    if model.SubgraphsLength() == 0:
        raise ModelError("model: must have a subgraph, got none")
    return model


def _operators(model: tflite.Model, subgraph: tflite.SubGraph) -> list[Operator]:
    """The subgraph's operators with their codes looked up."""
    codes = [_code(model.OperatorCodes(i)) for i in range(model.OperatorCodesLength())]
    operators = []
    for i in range(subgraph.OperatorsLength()):
        table = subgraph.Operators(i)
        if table.OpcodeIndex() >= len(codes):
            raise ModelError(
                f"operator {i}: opcode index must be below {len(codes)}, got {table.OpcodeIndex()}"
            )
        code, version, label = codes[table.OpcodeIndex()]
        operators.append(Operator(code, version, label, table))
    return operators


def _code(entry: tflite.OperatorCode) -> tuple[int, int, str]:
    """Code, version and name; codes above 127 left the old one-byte field for a new one.

    The `tflite` classes give the old field for every code below 127, even where only the new one
    is set.
    """
    new_field = entry._tab.GetSlot(_BUILTIN_CODE_SLOT, 0, Int32Flags)
    code = max(new_field, entry.DeprecatedBuiltinCode())
    if code == tflite.BuiltinOperator.CUSTOM:
        return code, entry.Version(), f"CUSTOM:{printable(entry.CustomCode())}"
    return code, entry.Version(), _OPERATOR_NAMES.get(code, f"code_{code}")


def _graph(
    subgraph: tflite.SubGraph, tensors: TensorTable, operators: Sequence[Operator], name: str
) -> Graph:
    _check_known(operators)
    nodes: list[Node] = []
    counts: Counter[str] = Counter()
    for i, operator in enumerate(operators):
        try:
            node = _node(operator, tensors)
        except ModelError as error:
            raise ModelError(f"operator {i}/{operator.label}: {error}") from error
        nodes.append(replace(node, name=f"{node.op}_{counts[node.op]}"))
        counts[node.op] += 1
    inputs = _indices(subgraph.Inputs, subgraph.InputsLength(), len(tensors), "graph input")
    outputs = _indices(subgraph.Outputs, subgraph.OutputsLength(), len(tensors), "graph output")
    return _compact(Graph(name, (), tuple(nodes), inputs, outputs), tensors)


def _check_known(operators: Sequence[Operator]) -> None:
    """Refuse a model with operators that are not supported, naming all of them at once."""
    missing = [i for i, operator in enumerate(operators) if operator.code not in SUPPORTED]
    if not missing:
        return
    first = operators[missing[0]]
    known = ", ".join(_OPERATOR_NAMES[code] for code in sorted(SUPPORTED))
    others = dict.fromkeys(operators[i].label for i in missing)
    del others[first.label]
    raise ModelError(
        f"operator {missing[0]}/{first.label}: operator must be one of {known}, "
        f"got {first.label} version {first.version}"
        + (f", and after it {', '.join(others)}" if others else "")
    )


def _support(operator: Operator) -> Support:
    code, version, _, _ = operator
    support = SUPPORTED[code]
    if not 1 <= version <= support.version:
        raise ModelError(f"version must be 1..{support.version}, got {version}")
    return support


def _node(operator: Operator, tensors: TensorTable) -> Node:
    support = _support(operator)
    table = operator.table
    inputs = _indices(table.Inputs, table.InputsLength(), len(tensors), "input")
    outputs = _indices(table.Outputs, table.OutputsLength(), len(tensors), "output")
    attributes = support.attributes(_options(table, support), Operands(inputs, tensors))
    data = inputs[: support.data_inputs]
    while data and data[-1] == ABSENT:
        data = data[:-1]
    return Node(support.op, "", data, outputs, attributes)


def _options(operator: tflite.Operator, support: Support) -> Any:
    """The operator's options, verified; None when there are none."""
    table = operator.BuiltinOptions()
    if support.options is None or (table is None and support.op == "reshape"):
        return None
    options_class, layout = support.options
    wanted = getattr(tflite.BuiltinOptions, options_class.__name__)
    if table is None or operator.BuiltinOptionsType() != wanted:
        raise ModelError(
            f"options must be {options_class.__name__} ({wanted}), "
            f"got type {operator.BuiltinOptionsType()}"
        )
    verify(table.Bytes, layout, table.Pos)
    options = options_class()
    options.Init(table.Bytes, table.Pos)
    return options


def _indices(read: Any, length: int, limit: int, what: str) -> tuple[int, ...]:
    indices = tuple(read(i) for i in range(length))
    for index in indices:
        if not ABSENT <= index < limit:
            raise ModelError(f"{what} must be a tensor below {limit}, got {index}")
    return indices


def _compact(graph: Graph, table: TensorTable) -> Graph:
    """The graph with only the tensors it uses, in the file's order, with unique names."""
    nodes = graph.nodes
    used = {*graph.inputs, *graph.outputs}.union(*(n.inputs + n.outputs for n in nodes))
    used.discard(ABSENT)
    kept = sorted(used)
    place = {index: i for i, index in enumerate(kept)} | {ABSENT: ABSENT}
    names = _unique_names([table[index].name for index in kept])
    inputs = frozenset(graph.inputs)
    tensors = tuple(
        replace(table[index], name=name, kind="input" if index in inputs else table[index].kind)
        for index, name in zip(kept, names, strict=True)
    )
    return replace(
        graph,
        tensors=tensors,
        nodes=tuple(
            replace(n, inputs=_moved(n.inputs, place), outputs=_moved(n.outputs, place))
            for n in nodes
        ),
        inputs=_moved(graph.inputs, place),
        outputs=_moved(graph.outputs, place),
    )


def _moved(indices: tuple[int, ...], place: Mapping[int, int]) -> tuple[int, ...]:
    return tuple(place[index] for index in indices)


def _unique_names(names: Sequence[str]) -> list[str]:
    """The second tensor called x becomes x#2."""
    taken = set(names)
    seen: dict[str, int] = {}
    unique = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        chosen = name
        if seen[name] > 1:
            while (chosen := f"{name}#{seen[name]}") in taken:
                seen[name] += 1
            taken.add(chosen)
        unique.append(chosen)
    return unique
