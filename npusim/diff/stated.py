"""What two recorded runs say about themselves, where they say different things."""

from collections.abc import Iterator, Mapping

import numpy as np

from ..golden import Golden, RecordedNode

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
        yield (f"A accumulates in {a.accumulator.bits} bits ({a.accumulator.overflow}), "
               f"B in {b.accumulator.bits} ({b.accumulator.overflow})")  # fmt: skip


def _node(a: Golden, b: Golden, node: RecordedNode, other: RecordedNode) -> Iterator[str]:
    if node.rounding != other.rounding:
        yield f"rounding is {node.rounding} in A, {other.rounding} in B"
    changed = [
        name
        for name in sorted(node.parameters.keys() | other.parameters.keys())
        if not _same(node, other, name)
    ]
    if changed:
        more = f" and {len(changed) - NAMED} more" if len(changed) > NAMED else ""
        yield f"parameters are not the same in A and B: {', '.join(changed[:NAMED])}{more}"
    hashes = {t.name: t.sha256 for t in b.tensors if t.kind == "constant"}
    for i in node.inputs:
        tensor = a.tensors[i] if i >= 0 else None
        if tensor is not None and hashes.get(tensor.name, tensor.sha256) != tensor.sha256:
            yield f"the values of {tensor.name} are not the same in A and B"


def _same(node: RecordedNode, other: RecordedNode, name: str) -> bool:
    if name not in node.parameters or name not in other.parameters:
        return False
    return np.array_equal(node.parameters[name].values, other.parameters[name].values)
