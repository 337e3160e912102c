"""What a model remembers of its training: how pixels became codes, and what its classes are called.

It stands in the graph's provenance under `zo_origin`, as JSON (see docs/h5-format.md); members that
are not read here are others' concern. A network quantised from float has `normalization` alone.
"""

import json
from math import prod
from typing import Any, NamedTuple

from .graph import Graph, ModelError
from .images import Normalization

KEY = "zo_origin"
PIXELS = "normalization"
"""Where a float network's graph says how pixels become its input: {"mean": .., "std": ..}."""


class Training(NamedTuple):
    """How a model was trained.

    normalization   of the pixels, None for the input's full range
    classes         their names in the order of the logits, () where none are stored
    """

    normalization: Normalization | None = None
    classes: tuple[str, ...] = ()


def training(graph: Graph) -> Training:
    """What the graph remembers; nothing where it was not trained.

    raises   ModelError when the entry is damaged
    """
    text = graph.provenance.get(KEY)
    if text is None:
        return Training(_of_float_network(graph))
    try:
        plain = json.loads(text)
        pixels, names = plain.get("normalization"), plain.get("classes") or ()
        normalization = pixels and Normalization(_floats(pixels["mean"]), _floats(pixels["std"]))
        return Training(normalization or None, tuple(map(str, names)))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ModelError(
            f"{graph.name}: {KEY} must be as zo train wrote it, got {text[:80]!r}"
        ) from error


def class_names(graph: Graph) -> tuple[str, ...]:
    """The names of the classes, () where none are stored or an output has other classes."""
    names = training(graph).classes
    outputs = [graph.tensors[i].shape for i in graph.outputs]
    return names if all(prod(shape[1:]) == len(names) for shape in outputs) else ()


def _of_float_network(graph: Graph) -> Normalization | None:
    """What a network quantised here takes its pixels by."""
    text = graph.provenance.get(PIXELS)
    if text is None:
        return None
    try:
        plain = json.loads(text)
        return Normalization(_floats(plain["mean"]), _floats(plain["std"]))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelError(
            f"{graph.name}: {PIXELS} must be JSON with mean and std, got {text[:80]!r}"
        ) from error


def _floats(values: Any) -> tuple[float, ...]:
    return tuple(map(float, values))
