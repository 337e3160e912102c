"""What a trained model remembers of its making: which images it saw, and how pixels became codes.

It lies in the graph's provenance, so `zo evaluate model.h5 --data ...` can repeat an accuracy.
"""

import json
from dataclasses import replace
from typing import NamedTuple

from npusim import Graph, ModelError
from npusim.images import Normalization

KEY = "zo_origin"


class Origin(NamedTuple):
    """How `zo train` cut and read its data set.

    train, validation   images of each part, drawn in this order
    seed                of the draw
    normalization       of the pixels, None for the input's full range
    """

    train: int
    validation: int
    seed: int
    normalization: Normalization | None = None


def with_origin(graph: Graph, origin: Origin) -> Graph:
    """The graph that remembers."""
    plain = {**origin._asdict(), "normalization": None}
    if origin.normalization is not None:
        plain["normalization"] = origin.normalization._asdict()
    return replace(graph, provenance={**graph.provenance, KEY: json.dumps(plain)})


def origin_of(graph: Graph) -> Origin | None:
    """What the graph remembers, None if it was not made by `zo train`.

    raises   ModelError when the entry is damaged
    """
    text = graph.provenance.get(KEY)
    if text is None:
        return None
    try:
        plain = json.loads(text)
        found = plain.pop("normalization")
        numbers = {name: int(plain[name]) for name in ("train", "validation", "seed")}
        normalization = found and Normalization(tuple(found["mean"]), tuple(found["std"]))
    except (ValueError, KeyError, TypeError) as error:
        raise ModelError(
            f"{graph.name}: {KEY} must be as zo train wrote it, got {text!r}"
        ) from error
    return Origin(**numbers, normalization=normalization)
