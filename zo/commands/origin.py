"""What a trained model remembers of its making: which images it saw, and how pixels became codes.

It lies in the graph's provenance, so `zo evaluate model.h5 --data ...` can repeat an accuracy.
"""

import json
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from npusim import Graph, ModelError
from npusim.digest import content_hash
from npusim.images import Normalization

from ..data import Dataset

KEY = "zo_origin"
INTERRUPTED = "zo_interrupted"
"""In the provenance: validation images right, of a model from the middle of an epoch."""
HASHED_IMAGES = 64


class Origin(NamedTuple):
    """How `zo train` cut and read its data set.

    train, validation   images of each part, drawn in this order
    seed                of the draw
    data                `fingerprint` of the whole data set
    classes             their names, in the order of the logits
    normalization       of the pixels, None for the input's full range
    """

    train: int
    validation: int
    seed: int
    data: str
    classes: tuple[str, ...]
    normalization: Normalization | None = None


def fingerprint(dataset: Dataset) -> str:
    """A hash of class names, of all labels, and of 64 images spread over the data set as read."""
    count = min(HASHED_IMAGES, len(dataset))
    frames = (dataset.frame(int(row)) for row in np.arange(count) * len(dataset) // count)
    return content_hash("data set", dataset.classes, dataset.labels, *frames)


def with_origin(graph: Graph, origin: Origin) -> Graph:
    """The graph that remembers."""
    plain = {**origin._asdict(), "normalization": None}
    if origin.normalization is not None:
        plain["normalization"] = origin.normalization._asdict()
    return replace(graph, provenance={**graph.provenance, KEY: json.dumps(plain)})


def with_interruption(graph: Graph, correct: int | None) -> Graph:
    """The graph that remembers how many images it classified right when Ctrl-C ended its run.

    correct   None for a run that was not interrupted
    """
    kept = {name: text for name, text in graph.provenance.items() if name != INTERRUPTED}
    found = {} if correct is None else {INTERRUPTED: str(correct)}
    return replace(graph, provenance=kept | found)


def interruption_of(graph: Graph) -> int | None:
    """What `with_interruption` was told; ModelError when the entry is damaged."""
    text = graph.provenance.get(INTERRUPTED)
    if text is not None and not (text.isascii() and text.isdigit()):
        raise ModelError(f"{graph.name}: {INTERRUPTED} must be a whole number, got {text!r}")
    return None if text is None else int(text)


def origin_of(graph: Graph) -> Origin | None:
    """What the graph remembers, None if it was not made by `zo train`.

    raises   ModelError when the entry is damaged
    """
    text = graph.provenance.get(KEY)
    if text is None:
        return None
    try:
        return _parsed(json.loads(text))
    except (ValueError, KeyError, TypeError) as error:
        raise ModelError(
            f"{graph.name}: {KEY} must be as zo train wrote it, got {text!r}"
        ) from error


def _parsed(plain: dict[str, object]) -> Origin:
    numbers = {name: int(str(plain[name])) for name in ("train", "validation", "seed")}
    pixels, names = plain["normalization"], plain["classes"]
    if not isinstance(names, list) or not isinstance(pixels, dict | None):
        raise TypeError(KEY)
    normalization = pixels and Normalization(tuple(pixels["mean"]), tuple(pixels["std"]))
    return Origin(**numbers, data=str(plain["data"]), classes=tuple(map(str, names)),
                  normalization=normalization or None)  # fmt: skip
