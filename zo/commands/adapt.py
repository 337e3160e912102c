"""`zo adapt`: a model for images of another look, without labels."""

import argparse
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from npusim import Graph, Session, save
from npusim.command_line import DONE, counting_number, load_model
from npusim.plurals import counted

from ..adapt import Adaptation, adapt
from ..data import KINDS, DataError, Dataset, load_unlabelled, to_input
from ..moments import (
    enough_images,
    measure_statistics,
    store_statistics,
    stored_statistics,
)
from .arguments import (
    DATA,
    JSON,
    MODEL,
    OUTPUT,
    PIXELS,
    SEED,
    THREADS,
    Command,
    h5_file,
    normalization,
)  # fmt: skip

MANUAL = """\
Adapt a model to images of another look, without labels and without training:
bias and scale of every channel are changed, in integers, until its outputs have
the mean and deviation they had on the images the model was made for. Those are
stored in the model, by zo train and zo adapt, or measured on --source.
Neither --data nor --source need labels: a folder of pictures will do.
"""

EXAMPLES = """\
examples:
  zo adapt run/model.h5 --data new_camera/ --output adapted.h5
  zo adapt model.tflite --data new_camera/ --source old_camera/ \\
           --output adapted.h5

"""


def run(arguments: argparse.Namespace) -> int:
    """`zo adapt`"""
    graph = load_model(arguments.model, arguments)
    found = normalization(arguments, graph)
    session = Session(graph, threads=arguments.threads)
    statistics = stored_statistics(graph)
    if arguments.source is not None:
        source = to_input(load_unlabelled(arguments.source), graph, found)
        statistics = measure_statistics(session, _some(source, graph, arguments))
    if not statistics:
        raise ValueError(
            f"{arguments.model}: must hold statistics of its source, got none; name images of the "
            "old look with --source"
        )
    target = to_input(load_unlabelled(arguments.data), graph, found)
    result = adapt(session, _some(target, graph, arguments), statistics)
    save(store_statistics(session.snapshot(), statistics), arguments.output)
    _print(result, arguments)
    return DONE


COMMAND = Command(
    "adapt",
    "match channel statistics to images of another look",
    MANUAL,
    EXAMPLES,
    "not used",
    {
        "": {
            "model": MODEL,
            "--data": {**DATA, "help": f"images of the new look, labelled or not: {KINDS}"},
            "--source": {
                "metavar": "DATA", "help": "images of the old look; as stored in the model",
            },
            "--output": {**OUTPUT, "metavar": "FILE", "type": h5_file, "help": ".h5 file to write"},
            "--images": {
                "type": counting_number, "metavar": "N",
                "help": "images to look at; 256, or all where there are fewer",
            },
            **PIXELS,
            "--seed": SEED,
            "--threads": THREADS,
            "--json": JSON,
        }
    },
    run,
)  # fmt: skip


def _some(dataset: Dataset, graph: Graph, arguments: argparse.Namespace) -> np.ndarray:
    """As many images as asked for, drawn by the seed."""
    wanted: int | None = arguments.images
    if wanted is not None and wanted > len(dataset):
        raise DataError(
            f"{dataset.name}: --images must be {len(dataset)} at most, all there are, got {wanted}"
        )
    return dataset.drawn(wanted or enough_images(graph), arguments.seed).images()


def _print(result: Adaptation, arguments: argparse.Namespace) -> None:
    if arguments.json:
        report: Mapping[str, Any] = {**result._asdict(), "model": str(arguments.output)}
        print(json.dumps(report, indent=2))
        return
    for name, count in result.adapted.items():
        print(f"{name}: {count} of {result.channels[name]} channels adapted")
    print(f"{counted(result.forwards, 'forward')} of an image; written {arguments.output}")
