"""NAME.c of an exported model: one call of a kernel for each node."""

from collections.abc import Iterable, Iterator

from ..c_syntax import aligned, filled, remark
from ..graph import Graph
from .entries import Part, definition, entries
from .model import Model, Step


def model_source(model: Model, headers: Iterable[str]) -> str:
    """The arena's places, the kernels' parameters, the nodes, and the functions others call.

    headers   of the kernels
    """
    functions = entries(model)
    parts = dict.fromkeys(part for entry in functions for part in entry.parts)
    lines = [
        f'#include "{model.prefix}.h"',
        "",
        "#include <string.h>",
        "",
        f'#include "{model.prefix}_weights.h"',
        *(f'#include "{name}"' for name in headers),
        "",
        *_places(model),
        *(line for step in model.steps for line in _parameters(step)),
        *(line for part in parts for line in ("", *_part(model, part))),
        *(line for entry in functions for line in ("", *definition(model, entry))),
    ]
    return "".join(f"{line}\n" for line in lines)


def _places(model: Model) -> Iterator[str]:
    yield "/* Places in the arena, in bytes; one is used again when its tensor has been read. */"
    yield "enum {"
    lines = [(f"{place.name} = {place.offset},", remark(place.what)) for place in model.places]
    yield from aligned(lines, "    ")
    yield "};"


def _parameters(step: Step) -> Iterator[str]:
    if step.structs:
        yield ""
        yield from step.structs


def _part(model: Model, part: Part) -> Iterator[str]:
    """A function that calls the kernels of some nodes."""
    steps = list(enumerate(model.steps))[part.first : part.stop]
    yield f"/* {part.what}, on tensors in the arena. */"
    yield f"static {'int32_t' if model.faults else 'void'} {part.name}(int8_t *arena)"
    yield "{"
    if all(step.call is None for _, step in steps):
        yield "    (void)arena;"
    if any(step.call is not None and step.call.faults for _, step in steps):
        yield "    int64_t fault[2] = {-1, -1}; /* output and value of the first sum too large */"
    for number, step in steps:
        yield f"    /* {_summary(model.graph, step)} */"
        yield from _call(step, number + 1 if model.faults else None)
    if model.faults:
        yield "    return 0;"
    yield "}"


def _call(step: Step, number: int | None) -> Iterator[str]:
    """The call.

    number   of the node, where sums may be too large
    """
    call = step.call
    if call is None:
        return
    head = f"    {call.function}("
    words = [f"{word}," for word in call.arguments[:-1]] + [f"{call.arguments[-1]});"]
    yield from filled([head + words[0], *words[1:]], "", " " * len(head))
    if call.faults and number is not None:
        yield "    if (fault[0] >= 0) {"
        yield f"        return {number};"
        yield "    }"


def _summary(graph: Graph, step: Step) -> str:
    node = step.node
    x, y = graph.tensors[node.inputs[0]], graph.tensors[node.outputs[0]]
    place = ", which stays in its place" if step.call is None else ""
    return remark(f"{node.name}: {node.op}, {x.shape} -> {y.shape}{place}")
