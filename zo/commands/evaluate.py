"""`zo evaluate`: accuracy of a model, on the images it was not trained on."""

import argparse
import json
from dataclasses import replace

from npusim import Graph, Session
from npusim.command_line import DONE, load_model
from npusim.head import until_logits
from npusim.progress_bar import bar

from ..batch import Source
from ..classifier import find_classifier
from ..data import DataError, Dataset, load, split, to_input
from ..evaluate import Evaluation, evaluate
from ..loss import cross_entropy_loss
from ..options import Reuse
from .arguments import DATA, JSON, MODEL, PIXELS, THREADS, Command, normalization
from .origin import Origin, fingerprint, origin_of

MANUAL = """\
Accuracy of a model on labelled pictures. A model that `zo train` made remembers
its classes, how pixels became codes, and which images of which data set it was
trained on: by default it is judged on its validation images, which repeats the
accuracy of its training. Of another data set it takes --part all.
"""

EXAMPLES = """\
examples:
  zo evaluate run/model.h5 --data EuroSAT_RGB.zip
  zo evaluate model.tflite --data cifar10.npz

"""

PARTS = ("validation", "train", "all")


def run(arguments: argparse.Namespace) -> int:
    """`zo evaluate`"""
    graph = until_logits(load_model(arguments.model, arguments))
    part, dataset = _part(arguments, graph)
    found = _evaluation(Session(graph, threads=arguments.threads), dataset)
    if arguments.json:
        report = {**found._asdict(), "loss": found.mean_loss, "accuracy": found.accuracy}
        print(json.dumps({"part": part, "classes": dataset.classes, **report}, indent=2))
    else:
        print(f"{part}: accuracy {found.accuracy:.4f} ({found.correct} of {found.total}), "
              f"loss {found.mean_loss:.4f}")  # fmt: skip
        print(f"classes: {', '.join(dataset.classes)}")
    return DONE


COMMAND = Command(
    "evaluate",
    "accuracy of a model on labelled pictures",
    MANUAL,
    EXAMPLES,
    "not used",
    {
        "": {
            "model": MODEL,
            "--data": DATA,
            "--part": {
                "choices": PARTS,
                "help": "which images; validation if zo train made the model, else all",
            },
            **PIXELS,
            "--threads": THREADS,
            "--json": JSON,
        }
    },
    run,
)


def _part(arguments: argparse.Namespace, graph: Graph) -> tuple[str, Dataset]:
    """The images to evaluate: the part that the model did not train on, unless told otherwise."""
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
    return f"{dataset.name}, {part}", _named(to_input(dataset, graph, found), origin)


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


def _evaluation(session: Session, dataset: Dataset) -> Evaluation:
    classifier = find_classifier(session.graph)
    loss = cross_entropy_loss(classifier.scale, classifier.classes, classifier.logits)
    source = Source(session, dataset, classifier, Reuse(prefix=False))
    with bar("evaluating") as advance:
        return evaluate(source, loss, advance)
