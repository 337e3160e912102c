"""What two recorded runs say about themselves, where they say different things."""

from collections.abc import Iterator, Mapping

import numpy as np

from ..golden import Golden, Parameter, RecordedNode
from ..golden.record import GIVEN
from ..headroom import accumulator_text

NAMED = 6


def stated(a: Golden | None, b: Golden | None) -> Mapping[str, tuple[str, ...]]:
    """By node name, and under "" for the whole run: settings that differ, in words."""
    if a is None or b is None:
        return {}
    found = {"": tuple(_settings(a, b))}
    others = {node.name: node for node in b.nodes}
    for node in a.nodes:
        if node.name in others:
            found[node.name] = tuple(_node(a, b, node, others[node.name]))
    return {name: texts for name, texts in found.items() if texts}


def _settings(a: Golden, b: Golden) -> Iterator[str]:
    if a.profile != b.profile:
        yield f"A was recorded under the profile {a.profile}, B under {b.profile}"
    if a.accumulator != b.accumulator:
        words = [accumulator_text(run.profile, run.accumulator) for run in (a, b)]
        yield f"A's accumulator is {words[0]}; B's {words[1]}"


def _node(a: Golden, b: Golden, node: RecordedNode, other: RecordedNode) -> Iterator[str]:
    names = node.parameters.keys() | other.parameters.keys()
    if node.rule != other.rule:
        yield (f"the node's own rule or profile is {node.rule or 'none'} in A, "
               f"{other.rule or 'none'} in B")  # fmt: skip
    if node.rounding != other.rounding:
        yield f"rounding is {node.rounding} in A, {other.rounding} in B"
        names = node.parameters.keys() & other.parameters.keys()  # each rule has some of its own
    changed = [name for name in sorted(names) if not _same(node, other, name)]
    if changed:
        listed = ", ".join(_listed(node, other, name) for name in changed[:NAMED])
        more = f" and {len(changed) - NAMED} more" if len(changed) > NAMED else ""
        yield f"parameters are not the same in A and B: {listed}{more}"
    hashes = {t.name: t.sha256 for t in b.tensors if t.kind == "constant"}
    for i in node.inputs:
        tensor = a.tensors[i] if i >= 0 else None
        if tensor is not None and hashes.get(tensor.name, tensor.sha256) != tensor.sha256:
            yield f"the values of {tensor.name} are not the same in A and B"


def _listed(node: RecordedNode, other: RecordedNode, name: str) -> str:
    """The name; with both values and where they are from, if one of them was given."""
    found = [n.parameters.get(name) for n in (node, other)]
    if not any(p is not None and p.origin == GIVEN for p in found):
        return name
    return f"{name} ({' and '.join(map(_value, found))})"


def _value(parameter: Parameter | None) -> str:
    """ "given 3"; "derived" alone of many numbers."""
    if parameter is None:
        return "absent"
    values = parameter.values
    return f"{parameter.origin} {values.item()}" if values.size == 1 else parameter.origin


def _same(node: RecordedNode, other: RecordedNode, name: str) -> bool:
    if name not in node.parameters or name not in other.parameters:
        return False
    return np.array_equal(node.parameters[name].values, other.parameters[name].values)
