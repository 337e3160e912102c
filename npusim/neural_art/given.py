"""Parameters that a user gives: checked, and in the form that a node stores.

{"*": {"ties": "up"}, "conv2d_0": {"s0": 3, "rows": [3, 2], "ties": ["away", "even", "up"]}}

What "*" gives holds for every node that has such a parameter, unless the node is given its own.
"""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..graph import Graph, ModelError, Node
from ..plurals import counted
from ..requantization import output_channels
from ..rules import stated
from .stored import PROFILE, STAGES, Rule, family, rules

EVERY_NODE = "*"
NEVER_GIVEN = ("cells",)

Parameters = Mapping[str, Mapping[str, Any]]
Arrays = dict[str, np.ndarray]


def read_parameters(path: str | Path) -> Parameters:
    """The parameters in a JSON file.

    raises   ModelError when it is not JSON, OSError when it cannot be read
    """
    try:
        found = json.loads(Path(path).read_text("utf-8"), object_pairs_hook=_once)
    except RecursionError as error:
        raise ModelError(f"{path}: must be JSON of three levels, got far more") from error
    except ValueError as error:
        raise ModelError(f"{path}: must be JSON, got {error}") from error
    if not isinstance(found, dict) or not all(isinstance(v, dict) for v in found.values()):
        raise ModelError(f'{path}: must be like {{"conv2d_0": {{"s0": 3}}}}, got something else')
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object whose names are all different, as JSON itself does not ask."""
    for name, count in Counter(name for name, _ in pairs).items():
        if count > 1:
            raise ValueError(f"the name {name!r} {count} times in one object")
    return dict(pairs)


def by_node(graph: Graph, parameters: Parameters) -> dict[str, Arrays]:
    """The arrays each node is given, by node and name.

    raises   ValueError for a node or parameter that does not exist, or a value that does not fit
    """
    nodes = {node.name: node for node in graph.nodes if family(graph, node)}
    if parameters and not nodes:
        raise ValueError(f"parameters: profile must be {PROFILE} to take any, got {graph.profile}")
    for name in parameters.keys() - nodes.keys() - {EVERY_NODE}:
        known = ", ".join((EVERY_NODE, *nodes))
        hosts = [stated(graph, node) for node in graph.nodes if node.name == name]
        reason = f"; {hosts[0]} and takes none" if hosts else ""
        raise ValueError(f"parameters: nodes must be of {known}, got {name!r}{reason}")
    common = parameters.get(EVERY_NODE, {})
    found = {name: _common(graph, node, common) for name, node in nodes.items()}
    for key in common:
        if not any(key in arrays for arrays in found.values()):
            raise ValueError(f"parameters: {EVERY_NODE}: must be parameters of some node, "
                             f"got {key!r}: {common[key]!r}")  # fmt: skip
    for name in parameters.keys() - {EVERY_NODE}:
        found[name] |= _own(graph, nodes[name], parameters[name])
    return found


def sizes(graph: Graph, node: Node) -> dict[str, int]:
    """How many numbers, or what sum, a rule's `size` asks for."""
    kind = family(graph, node) or ""
    wanted = {"one": 1, "ties": STAGES[kind]}
    if kind == "weighted":
        weights = graph.tensors[node.inputs[1]]
        kernel = (1, 1, weights.shape[1]) if len(weights.shape) == 2 else weights.shape[1:]
        depth = 1 if node.op == "depthwise_conv2d" else kernel[2]
        wanted |= {"outputs": output_channels(node, weights)}
        wanted |= {"rows": kernel[0], "columns": kernel[1], "channels": depth}
    return wanted


def check_values(name: str, values: np.ndarray, rule: Rule, wanted: Mapping[str, int]) -> None:
    """Check what a node stores under `name`.

    raises   ValueError `name must be .., got ..`
    """
    if values.dtype != np.int32 or values.ndim != 1:
        raise ValueError(f"{name} must be an int32 vector, got {values.dtype} {values.shape}")
    outside = values[(values < rule.low) | (values > rule.high)]
    if outside.size:
        raise ValueError(f"{name} must be in {rule.low}..{rule.high}, got {outside[0]}")
    size = wanted[rule.size]
    if rule.size in ("rows", "columns", "channels"):
        if values.sum(dtype=np.int64) != size:
            raise ValueError(f"{name} must add up to {size}, got {values.tolist()}")
    elif len(values) != size:
        raise ValueError(f"{name} must hold {counted(size, 'number')}, got {len(values)}")
    if name == "partial_bits" and values[0] not in (16, 24):
        raise ValueError(f"{name} must be 16 or 24, got {values[0]}")


def _common(graph: Graph, node: Node, common: Mapping[str, Any]) -> Arrays:
    """Those of "*" that the node has."""
    known, wanted = rules(graph, node), sizes(graph, node)
    fitting = {
        key: value
        for key, value in common.items()
        if key in known and key not in NEVER_GIVEN and _has_stages(key, value, wanted["ties"])
    }
    return _own(graph, node, fitting)


def _has_stages(name: str, value: Any, stages: int) -> bool:
    """Whether a list of ties is meant for a node of so many stages."""
    return name != "ties" or isinstance(value, str) or len(value) == stages


def _own(graph: Graph, node: Node, values: Mapping[str, Any]) -> Arrays:
    known, wanted = rules(graph, node), sizes(graph, node)
    found = {}
    for name, value in values.items():
        if name not in known or name in NEVER_GIVEN:
            names = ", ".join(key for key in known if key not in NEVER_GIVEN)
            raise ValueError(f"parameters: {node.name}: must be of {names}, got {name!r}")
        try:
            found[name] = _array(name, value, known[name], wanted)
            check_values(name, found[name], known[name], wanted)
        except ValueError as error:
            raise ValueError(f"parameters: {node.name}: {error}") from error
    return found


def _array(name: str, value: Any, rule: Rule, wanted: Mapping[str, int]) -> np.ndarray:
    """A number, a word or a list of them as an int32 vector; one serves for all of a size."""
    listed = list(value) if isinstance(value, list | tuple | np.ndarray) else [value]
    if rule.names:
        wrong = [word for word in listed if word not in rule.names]
        if wrong:
            raise ValueError(f"{name} must be of {', '.join(rule.names)}, got {wrong[0]!r}")
        listed = [rule.low + rule.names.index(word) for word in listed]
    wrong = [v for v in listed if isinstance(v, bool) or not isinstance(v, int | np.integer)]
    if wrong:
        raise ValueError(f"{name} must be integers, got {wrong[0]!r}")
    outside = [v for v in listed if not rule.low <= v <= rule.high]
    if outside:
        raise ValueError(f"{name} must be in {rule.low}..{rule.high}, got {outside[0]}")
    if len(listed) == 1 and rule.size in ("outputs", "ties"):
        listed *= wanted[rule.size]
    return np.array(listed, np.int32)
