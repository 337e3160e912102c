"""The functions of an exported model that others call: what each takes, runs and gives."""

from collections.abc import Iterator
from dataclasses import dataclass

from ..arena import tensor_bytes
from ..c_syntax import filled
from ..engine import live_tensors
from .model import Model
from .row import c_type

Parameters = tuple[tuple[str, int], ...]
"""Name of a parameter, and the tensor it is."""


@dataclass(frozen=True)
class Part:
    """A stretch of nodes, run by a function of the file's own.

    first, stop   numbers of the nodes
    """

    name: str
    what: str
    first: int
    stop: int


@dataclass(frozen=True)
class Entry:
    """A function others call: copies tensors into the arena, runs parts, copies tensors out."""

    name: str
    what: str
    sources: Parameters
    parts: tuple[Part, ...]
    sinks: Parameters


def inputs_of(model: Model) -> Parameters:
    """The parameters of the graph's inputs."""
    return _numbered("x", model.graph.inputs)


def outputs_of(model: Model) -> Parameters:
    """The parameters of the graph's outputs."""
    return _numbered("y", model.graph.outputs)


def live_of(model: Model) -> Parameters:
    """The parameters of what passes from the part that training does not change to the rest."""
    return _numbered("live", live_tensors(model.graph, model.frozen))


def entries(model: Model) -> tuple[Entry, ...]:
    """`run`; and where training changes some nodes, what runs those before, and the others."""
    sources, sinks = inputs_of(model), outputs_of(model)
    count, cut = len(model.graph.nodes), model.frozen
    if not model.is_split:
        whole = Part("run_nodes", "Every node", 0, count)
        return (Entry("run", "Runs the model", sources, (whole,), sinks),)
    frozen = Part("run_frozen", "The nodes before the first that training changes", 0, cut)
    rest = Part("run_rest", "That node and all behind it", cut, count)
    live = live_of(model)
    return (
        Entry("run", "Runs the model", sources, (frozen, rest), sinks),
        Entry("prefix", "Runs the nodes that training does not change", sources, (frozen,), live),
        Entry("run_from", "Runs the others from what `prefix` gave", live, (rest,), sinks),
    )


def signature(model: Model, entry: Entry, end: str) -> list[str]:
    """The head of the function's prototype or definition."""
    head = f"int32_t {model.prefix}_{entry.name}("
    words = [
        *(f"const {_kind(model, i)} *{name}," for name, i in entry.sources),
        *(f"{_kind(model, i)} *{name}," for name, i in entry.sinks),
        f"int8_t *arena){end}",
    ]
    return filled([head + words[0], *words[1:]], "", " " * len(head))


def definition(model: Model, entry: Entry) -> Iterator[str]:
    """The function."""
    places, graph = model.names.places, model.graph
    yield from signature(model, entry, "")
    yield "{"
    for name, i in entry.sources:
        yield f"    if ((const void *){name} != arena + {places[i]}) {{"
        yield f"        memcpy(arena + {places[i]}, {name}, {tensor_bytes(graph, i)});"
        yield "    }"
    for part in entry.parts:
        yield from _part_call(part, model.faults)
    for name, i in entry.sinks:
        yield f"    if ((void *){name} != arena + {places[i]}) {{"
        yield f"        memcpy({name}, arena + {places[i]}, {tensor_bytes(graph, i)});"
        yield "    }"
    yield "    return 0;"
    yield "}"


def _part_call(part: Part, faults: bool) -> Iterator[str]:
    if not faults:
        yield f"    {part.name}(arena);"
        return
    yield f"    const int32_t {part.name}_failed = {part.name}(arena);"
    yield f"    if ({part.name}_failed != 0) {{"
    yield f"        return {part.name}_failed;"
    yield "    }"


def _kind(model: Model, tensor: int) -> str:
    return c_type(model.graph.tensors[tensor].dtype)


def _numbered(name: str, tensors: tuple[int, ...]) -> Parameters:
    """The name alone, or with numbers where there are several."""
    if len(tensors) == 1:
        return ((name, tensors[0]),)
    return tuple((f"{name}_{k}", i) for k, i in enumerate(tensors))
