"""The int8 graph of a float graph: ranges observed, weights and biases rounded and corrected."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import count
from typing import NamedTuple

import numpy as np

from ..check import check
from ..check_nodes import SOFTMAX_SCALE, SOFTMAX_ZERO_POINT
from ..floats import check_floats, fold_batch_norms
from ..floats.operators import WEIGHTED
from ..graph import ABSENT, Graph, ModelError, Node, Quantization, Tensor
from ..neural_art.settle import settle
from ..operators import RULES
from ..profiles import find_profile
from ..progress import Progress
from .correction import corrected_biases
from .equalization import equalized, spans
from .observers import OBSERVERS, Reach, reaches, with_counts
from .scales import (
    Scaled,
    activation_quantization,
    bias_codes,
    bias_scale,
    channel_scales,
    output_axis,
    per_tensor,
    raised,
    spread,
    weight_codes,
)


class Headroom(NamedTuple):
    """For a head that will be trained on in int8, see docs/zo.md.

    room    S_w = room max|w| / 126: how far its weights may grow
    delta   output codes by which a step of all its weights moves a logit: sets the logits' scale
    """

    room: float = 8.0
    delta: float = 1.0


class Options(NamedTuple):
    """How a network is quantised.

    equalize          channels' ranges across layers, see `equalization`
    observer          of activations: "minmax", "percentile" or "mse"
    share             of values that "percentile" leaves out on either side
    batches, batch    calibration images: at most batches * batch, the first of those given
    correct_biases    by the first CORRECTION_IMAGES of them
    headroom          of the last node if it is fully connected; None: scaled as the others
    """

    equalize: bool = True
    observer: str = "mse"
    share: float = 1e-5
    batches: int = 25
    batch: int = 32
    correct_biases: bool = True
    headroom: Headroom | None = None


DEFAULT = Options()
CORRECTION_IMAGES = 128


class Pair(NamedTuple):
    """A float graph as it was rounded, and the int8 graph: the same nodes and names of tensors.

    floats   batch norms folded, channels equalised; computes what the float graph did
    """

    floats: Graph
    int8: Graph


def quantize_graph(
    graph: Graph,
    images: np.ndarray,
    options: Options = DEFAULT,
    profile: str = "tflm",
    progress: Progress | None = None,
) -> Graph:
    """The int8 graph of a float graph.

    graph      as `npusim.floats.check_floats` accepts it; batch norms are folded
    images     (N, ..) real, as the float graph takes them
    profile    arithmetic that the graph is made for
    progress   called with batches done and in all
    returns    int8 weights by channel, int8 activations, int32 biases; names are the float graph's
    raises     ModelError for an illegal graph, or when the profile has no rule for an operator;
               ValueError for an option that does not exist, no images, or values not finite
    """
    return quantized_pair(graph, images, options, profile, progress).int8


def quantized_pair(
    graph: Graph,
    images: np.ndarray,
    options: Options = DEFAULT,
    profile: str = "tflm",
    progress: Progress | None = None,
) -> Pair:
    """As `quantize_graph`, with the float graph that the int8 graph's tensors are to be held to."""
    find_profile(profile)
    batches = _batches(images, options)
    check_floats(graph)
    folded = _with_biases(fold_batch_norms(graph))
    seen = _counted(len(batches) * _passes(options), progress)
    if options.equalize:
        folded = equalized(folded, spans(folded, batches, seen))
    found = _observed(folded, batches, options, seen)
    quantizations = _activations(folded, found, options)
    head = _head(folded, options)
    if head is not None and options.headroom is not None:
        quantizations[head.outputs[0]] = _logits(folded, head, found, options.headroom)
    made = _rounded(folded, quantizations, np.concatenate(batches)[:CORRECTION_IMAGES], options)
    tensors = tuple(
        replace(t, dtype="int8", quantization=quantizations[i]) if t.data is None else made[i]
        for i, t in enumerate(folded.tensors)
    )
    int8 = settle(replace(folded, tensors=tensors, profile=profile))
    check(int8)
    return Pair(folded, int8)


def _batches(images: np.ndarray, options: Options) -> list[np.ndarray]:
    if options.observer not in OBSERVERS:
        raise ValueError(
            f"observer: must be one of {', '.join(OBSERVERS)}, got {options.observer!r}"
        )
    if not 0 <= options.share < 0.5:
        raise ValueError(f"share: must be at least 0 and below 0.5, got {options.share}")
    if min(options.batches, options.batch) < 1:
        raise ValueError(f"batches: must be 1 or more, got {options.batches} of {options.batch}")
    used = np.asarray(images, np.float32)[: options.batches * options.batch]
    if not len(used) or not np.isfinite(used).all():
        got = "values that are not" if len(used) else "no image"
        raise ValueError(f"images: must be finite real numbers, got {got}")
    return [used[i : i + options.batch] for i in range(0, len(used), options.batch)]


def _passes(options: Options) -> int:
    """How often all batches are run."""
    return options.equalize + (1 if options.observer == "minmax" else 2)


def _counted(total: int, progress: Progress | None) -> Callable[[], None]:
    """What is called after each batch, and tells how many there were."""
    done = count(1)

    def seen() -> None:
        if progress is not None:
            progress(next(done), total)

    return seen


def _observed(
    graph: Graph, batches: list[np.ndarray], options: Options, seen: Callable[[], None]
) -> dict[str, Reach]:
    found = reaches(graph, batches, seen)
    return found if options.observer == "minmax" else with_counts(graph, batches, found, seen)


def _activations(
    graph: Graph, found: Mapping[str, Reach], options: Options
) -> dict[int, Quantization]:
    """Of the input and every activation; operators that move codes hand theirs on."""
    observe = OBSERVERS[options.observer]

    def own(index: int) -> Quantization:
        ends = observe(found[graph.tensors[index].name], options.share)
        return activation_quantization(*ends)

    made = {index: own(index) for index in graph.inputs}
    for node in graph.nodes:
        y = node.outputs[0]
        if node.op == "softmax":
            made[y] = per_tensor(SOFTMAX_SCALE, SOFTMAX_ZERO_POINT)
        else:
            made[y] = made[node.inputs[0]] if RULES[node.op].moves else own(y)
    return made


def _head(graph: Graph, options: Options) -> Node | None:
    last = graph.nodes[-1] if graph.nodes else None
    if options.headroom is None:
        return None
    if last is None or last.op != "fully_connected" or graph.outputs != last.outputs:
        what = "no node" if last is None else f"{last.name}/{last.op}"
        raise ModelError(
            f"{graph.name}: must end in a fully connected layer to have head-room, got {what}"
        )
    return last


def _logits(graph: Graph, head: Node, found: Mapping[str, Reach], room: Headroom) -> Quantization:
    """s_y = mean(S_w) rms(||x||) / delta, zero point 0."""
    weights, x = graph.tensors[head.inputs[1]].data, found[graph.tensors[head.inputs[0]].name]
    assert weights is not None
    scale = float(channel_scales(weights, 0, room.room).mean(dtype=np.float64))
    return per_tensor(scale * max(x.square_norm, 1e-12) ** 0.5 / room.delta, 0)


def _rounded(
    graph: Graph,
    quantizations: Mapping[int, Quantization],
    images: np.ndarray,
    options: Options,
) -> dict[int, Tensor]:
    """The int8 weights and int32 biases, by index."""
    head = _head(graph, options)
    weighted = [node for node in graph.nodes if node.op in WEIGHTED]
    biases = {n.inputs[2]: _values(graph, n.inputs[2]).astype(np.float64) for n in weighted}
    rooms = {n.name: options.headroom.room for n in [head] if n and options.headroom}

    def scaled() -> dict[str, Scaled]:
        return {n.name: _scaled(graph, n, quantizations, biases, rooms.get(n.name, 1))
                for n in weighted}  # fmt: skip

    found = scaled()
    if options.correct_biases:
        means = {n.inputs[1]: _meant(graph, n, found[n.name]) for n in weighted}
        biases = corrected_biases(graph, means, quantizations, images)
        found = scaled()
    return {i: t for n in weighted for i, t in _tensors(graph, n, found[n.name], quantizations)}


def _scaled(
    graph: Graph,
    node: Node,
    quantizations: Mapping[int, Quantization],
    biases: Mapping[int, np.ndarray],
    room: float,
) -> Scaled:
    w, bias = _values(graph, node.inputs[1]), biases[node.inputs[2]]
    axis = output_axis(w, node.op)
    s_x, s_y = (quantizations[i].scale[0] for i in (node.inputs[0], node.outputs[0]))
    scale = raised(channel_scales(w, axis, room), bias, s_x, s_y, w.size // w.shape[axis])
    return Scaled(weight_codes(w, axis, scale), scale, bias_codes(bias, s_x, scale))


def _meant(graph: Graph, node: Node, s: Scaled) -> np.ndarray:
    """The real weights that the codes stand for."""
    axis = output_axis(s.codes, node.op)
    return (s.codes * spread(s.scale, s.codes.ndim, axis)).astype(np.float32)


def _tensors(
    graph: Graph, node: Node, s: Scaled, quantizations: Mapping[int, Quantization]
) -> Iterator[tuple[int, Tensor]]:
    """A weighted node's constants by index."""
    zeros, axis = np.zeros(len(s.scale)), output_axis(s.codes, node.op)
    real = bias_scale(quantizations[node.inputs[0]].scale[0], s.scale)
    for index, dtype, data, q in (
        (node.inputs[1], "int8", s.codes, Quantization(s.scale, zeros, axis)),
        (node.inputs[2], "int32", s.bias, Quantization(real, zeros, 0)),
    ):
        yield index, replace(graph.tensors[index], dtype=dtype, quantization=q, data=data)


def _values(graph: Graph, index: int) -> np.ndarray:
    data = graph.tensors[index].data
    assert data is not None
    return data


def _with_biases(graph: Graph) -> Graph:
    """The graph with a bias of zeros where a weighted node has none."""
    tensors, nodes = list(graph.tensors), []
    for node in graph.nodes:
        if node.op in WEIGHTED and (len(node.inputs) < 3 or node.inputs[2] == ABSENT):
            weights, y = graph.tensors[node.inputs[1]], graph.tensors[node.outputs[0]]
            zeros = np.zeros(y.shape[-1], np.float32)
            name = weights.name.removesuffix("weight") + "bias"
            stream = max(t.stream for t in tensors) + 1
            tensors.append(Tensor(name, zeros.shape, "float32", "constant", None, zeros, stream))
            node = replace(node, inputs=(*node.inputs[:2], len(tensors) - 1))
        nodes.append(node)
    return replace(graph, tensors=tuple(tensors), nodes=tuple(nodes))
