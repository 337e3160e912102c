"""`zo evaluate`: accuracy of a model, on the images it was not trained on."""

import argparse
import json

from npusim import Session
from npusim.command_line import DONE, load_model
from npusim.head import until_logits
from npusim.progress_bar import bar

from ..batch import Source
from ..classifier import find_classifier
from ..data import Dataset
from ..evaluate import Evaluation, evaluate
from ..loss import cross_entropy_loss
from ..options import Reuse
from .arguments import DATA, JSON, MODEL, PIXELS, THREADS, Command
from .part import PART, chosen_part

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


def run(arguments: argparse.Namespace) -> int:
    """`zo evaluate`"""
    graph = until_logits(load_model(arguments.model, arguments))
    part = chosen_part(arguments, graph)
    found = _evaluation(Session(graph, threads=arguments.threads), part.images)
    if arguments.json:
        report = {**found._asdict(), "loss": found.mean_loss, "accuracy": found.accuracy}
        print(json.dumps({"part": part.name, "classes": part.images.classes, **report}, indent=2))
    else:
        print(f"{part.name}: accuracy {found.accuracy:.4f} ({found.correct} of {found.total}), "
              f"loss {found.mean_loss:.4f}")  # fmt: skip
        print(f"classes: {', '.join(part.images.classes)}")
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
            "--part": PART,
            **PIXELS,
            "--threads": THREADS,
            "--json": JSON,
        }
    },
    run,
)


def _evaluation(session: Session, dataset: Dataset) -> Evaluation:
    classifier = find_classifier(session.graph)
    loss = cross_entropy_loss(classifier.scale, classifier.classes, classifier.logits)
    source = Source(session, dataset, classifier, Reuse(prefix=False))
    with bar("evaluating") as advance:
        return evaluate(source, loss, advance)
