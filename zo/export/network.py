"""The forward pass of a run, as C: the model's parts behind function pointers."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from npusim import ModelError
from npusim.arena import tensor_bytes
from npusim.c_syntax import filled
from npusim.export.entries import inputs_of, live_of
from npusim.export.model import Model
from npusim.export.row import c_type

from ..run import Run
from .tensors import Fields, Parts

ALIGNMENT = 8


@dataclass(frozen=True)
class Network:
    """What C training needs to know of a model.

    live      name of a parameter, its tensor, and its first byte in an image's `live`
    classes   of the head
    inputs    of the head where its exact gradient trains it, else 0
    shown     whether what the head reads is all of `live`
    kept      whether there is memory for what the frozen part gives of every image
    """

    model: Model
    live: tuple[tuple[str, int, int], ...]
    classes: int
    inputs: int
    shown: bool
    kept: bool

    @property
    def frozen(self) -> bool:
        """Whether there is a part that training does not change."""
        return self.model.is_split

    @property
    def live_bytes(self) -> int:
        """Of one image, whole lines of ALIGNMENT; of the image itself where nothing is frozen."""
        if not self.frozen:
            return self.model.input_bytes
        ends = (at + tensor_bytes(self.model.graph, i) for _, i, at in self.live)
        return _aligned(max(ends)) if len(self.live) > 1 else max(ends)

    def memory(self, parts: Parts, batch: int) -> Fields:
        """Fields of the memory for a batch."""
        copied = self.inputs > 0 and not self.shown
        return {
            "labels": parts.zeros("labels", "int32_t", batch),
            "live": parts.zeros("live", "int8_t", batch * self.live_bytes * self.frozen),
            "logits": parts.zeros("logits", "int8_t", batch * self.classes),
            "features": parts.zeros("features", "int8_t", batch * self.inputs * copied),
        }


def network_of(model: Model, run: Run, keep: bool) -> Network:
    """The network of a run.

    keep     what frozen layers give of every image, so that they run once
    raises   ModelError where a forward pass may fail
    """
    if model.faults:
        raise ModelError(
            f"{model.graph.name}: accumulator must wrap or saturate for training in C, got error; "
            "choose another with --accumulator"
        )
    classifier = run.step.classifier
    assert classifier is not None
    live, at = [], 0
    for name, i in live_of(model) if model.is_split else ():
        live.append((name, i, at))
        at = _aligned(at + tensor_bytes(model.graph, i))
    features = model.graph.tensor(classifier.features)
    shown = [model.graph.tensors[i].name for _, i, _ in live] == [features.name]
    inputs = prod(features.shape) if run.step.group.exact else 0
    kept = keep and model.is_split
    return Network(model, tuple(live), classifier.classes, inputs, shown, kept)


def source_fields(parts: Parts, network: Network, memory: Fields, name: str, images: int) -> Fields:
    """Of a `struct zo_source` before it has images.

    name     of the part
    images   as many as it will have at most
    """
    size = images * network.live_bytes * network.kept
    return {
        "network": "&network",
        "kept": parts.zeros(f"{name}_kept", "int8_t", size),
        "memory": memory,
    }


def network_text(network: Network) -> Iterator[str]:
    """The arena, the functions of both parts, and the `struct zo_network` that points at them."""
    macro = network.model.names.macro
    yield "static union {"
    yield "    int64_t alignment;"
    yield f"    int8_t bytes[{macro}_ARENA_BYTES];"
    yield "} arena;"
    yield ""
    if network.frozen:
        yield from _frozen(network)
        yield ""
    yield from _rest(network)
    yield ""
    yield "static const struct zo_network network = {"
    yield f"    .frozen = {'run_frozen' if network.frozen else 'NULL'}, .begin = NULL,"
    yield f"    .rest = run_rest, .context = NULL, .live_bytes = {network.live_bytes},"
    yield f"    .classes = {network.classes}, .inputs = {network.inputs},"
    yield "};"


def _frozen(network: Network) -> Iterator[str]:
    model = network.model
    ((_, image),) = inputs_of(model)
    arguments = [_cast(model, image, "image", "const ")]
    arguments += [_cast(model, i, _at("live", at), "") for _, i, at in network.live]
    yield "static void run_frozen(void *context, const int8_t *image, int8_t *live)"
    yield "{"
    yield "    (void)context;"
    yield from _call(f"{model.prefix}_prefix", arguments)
    yield "}"


def _rest(network: Network) -> Iterator[str]:
    model = network.model
    yield "static void run_rest(void *context, const int8_t *live, int8_t *logits,"
    yield "                     int8_t *features)"
    yield "{"
    yield "    (void)context;"
    if network.frozen:
        arguments = [_cast(model, i, _at("live", at), "const ") for _, i, at in network.live]
    else:
        ((_, image),) = inputs_of(model)
        arguments = [_cast(model, image, "live", "const ")]
    arguments.append("logits")
    if len(model.graph.outputs) > 1:
        own = f"arena.bytes + {model.names.macro}_Y_1_OFFSET"
        arguments.append(f"features == NULL ? {own} : features")
    elif network.inputs and not network.frozen:  # the head reads the image itself
        yield "    if (features != NULL) {"
        yield f"        memcpy(features, live, {network.inputs});"
        yield "    }"
    else:
        yield "    (void)features;"
    yield from _call(f"{model.prefix}_{'run_from' if network.frozen else 'run'}", arguments)
    yield "}"


def _call(function: str, arguments: list[str]) -> list[str]:
    head = f"    (void){function}("
    words = [f"{a}," for a in arguments] + ["arena.bytes);"]
    return filled([head + words[0], *words[1:]], "", " " * len(head))


def _cast(model: Model, tensor: int, pointer: str, constant: str) -> str:
    kind = c_type(model.graph.tensors[tensor].dtype)
    return pointer if kind == "int8_t" else f"({constant}{kind} *)({constant}void *)({pointer})"


def _at(pointer: str, offset: int) -> str:
    return f"{pointer} + {offset}" if offset else pointer


def _aligned(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT
