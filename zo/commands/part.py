"""The images that a trained model is judged by."""

import argparse
from dataclasses import replace
from typing import NamedTuple

from npusim import Graph

from ..classifier import find_classifier
from ..data import DataError, Dataset, load, split, to_input
from .arguments import normalization
from .origin import Origin, fingerprint, origin_of

PART = {
    "choices": ("validation", "train", "all"),
    "help": "which images; validation if zo train made the model, else all",
}


class Part(NamedTuple):
    """Some images of a data set.

    name       of the data set and the part
    pictures   as they were read
    images     as the graph takes them
    """

    name: str
    pictures: Dataset
    images: Dataset


def chosen_part(arguments: argparse.Namespace, graph: Graph) -> Part:
    """The images to judge a model by: those it was not trained on, unless told otherwise.

    arguments   with `data`, `part` and the options PIXELS
    raises      DataError, ValueError when data and model do not go together
    """
    origin = origin_of(graph)
    part = arguments.part or ("all" if origin is None else "validation")
    found = normalization(arguments, graph)
    dataset = load(arguments.data)
    if part != "all":
        dataset = _drawn(dataset, part, origin)
    classes = find_classifier(graph).classes
    if len(dataset.classes) > classes:
        raise DataError(
            f"{dataset.name}: must have the {classes} classes of the model at most, got "
            f"{len(dataset.classes)}; its labels are other things"
        )
    if origin is None and len(dataset.classes) < classes and not _numbered(dataset.classes):
        raise DataError(
            f"{dataset.name}: must have a class folder for each of the {classes} classes of the "
            f"model, got {len(dataset.classes)}; labels follow the order of the folders, so take "
            "pictures of every class"
        )
    named = _named(dataset, origin)
    return Part(f"{dataset.name}, {part}", named, to_input(named, graph, found))


def _drawn(dataset: Dataset, part: str, origin: Origin | None) -> Dataset:
    if origin is None:
        raise ValueError(
            f"--part {part}: needs a model that zo train made, which remembers its images, got "
            "another; use --part all"
        )
    if fingerprint(dataset) != origin.data:
        raise DataError(
            f"{dataset.name}: must be the data set that the model was trained on to have its "
            f"{part} images, got another; use --part all"
        )
    parts = split(dataset, (origin.train, origin.validation), origin.seed)
    return parts[0 if part == "train" else 1]


def _named(dataset: Dataset, origin: Origin | None) -> Dataset:
    """With the classes called as in training; DataError where the data calls them otherwise."""
    if origin is None or dataset.classes == origin.classes or _numbered(origin.classes):
        return dataset
    if not _numbered(dataset.classes):
        raise DataError(
            f"{dataset.name}: classes must be those of training, {', '.join(origin.classes)}, got "
            f"{', '.join(dataset.classes)}; rename or remove class folders"
        )
    return replace(dataset, classes=origin.classes)


def _numbered(classes: tuple[str, ...]) -> bool:
    """Whether they have no names, as those of arrays."""
    return classes == tuple(map(str, range(len(classes))))
