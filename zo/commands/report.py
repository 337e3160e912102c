"""`zo report`: a run as one HTML page."""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from npusim import Graph, load
from npusim.command_line import DONE
from npusim.head import until_logits
from npusim.progress_bar import bar

from ..atomic import replace_bytes
from ..classifier import find_classifier
from ..data import Dataset
from ..history import read_lines
from ..plots import figures
from ..report import RunReport, html, judge, layer_facts
from .arguments import DATA, PIXELS, Command
from .origin import interruption_of
from .part import PART, Part, chosen_part
from .run_folder import HISTORY, MODEL

MANUAL = """\
Write a run of zo train as one HTML page: accuracy and loss over forward passes,
the path of q, what it cost, the codes of every layer, and what lies at a rail.
With --data also which classes are taken for which, the images that are
classified most wrongly, and how far outputs are cut off.

The page is one file, without scripts, and fetches nothing.
"""

EXAMPLES = """\
examples:
  zo report run/
  zo report run/ --data EuroSAT_RGB.zip --output eurosat.html

"""

MOST_PICTURES = 24
IMAGES_TRACED = 256
"""Images whose activations are counted."""


def run(arguments: argparse.Namespace) -> int:
    """`zo report`"""
    figures()  # a missing matplotlib shows now
    folder: Path = arguments.run
    output: Path = arguments.output or folder / "report.html"
    if not (folder / HISTORY).is_file():
        got = f"one without {HISTORY}" if folder.is_dir() else "no such folder"
        raise ValueError(f"{folder}: must be a folder of zo train, got {got}")
    history = read_lines(folder / HISTORY)
    graph = until_logits(load(folder / MODEL))
    report = RunReport(folder.resolve().name, history, (), interrupted=interruption_of(graph))
    if arguments.data is None:
        report = replace(report, layers=layer_facts(graph))
    else:
        report = _with_answers(report, graph, chosen_part(arguments, graph))
    replace_bytes(output, html(report).encode())
    print(f"written {output}")
    return DONE


COMMAND = Command(
    "report",
    "a training run as one HTML page",
    MANUAL,
    EXAMPLES,
    "not used",
    {
        "": {
            "run": {"type": Path, "metavar": "RUN", "help": "folder that zo train wrote"},
            "--data": {**DATA, "required": False, "help": f"the images: {DATA['help']}"},
            "--part": PART,
            **PIXELS,
            "--output": {"type": Path, "metavar": "FILE",
                         "help": "page to write; RUN/report.html if not given"},
        }
    },
    run,
)  # fmt: skip


def _with_answers(report: RunReport, graph: Graph, part: Part) -> RunReport:
    with bar("classifying") as advance:
        confusion = judge(graph, part.images, advance)
    traced = part.images.images(np.arange(min(IMAGES_TRACED, len(part.images))))
    names = part.images.classes
    known = (*names, *map(str, range(len(names), find_classifier(graph).classes)))
    return replace(
        report,
        layers=layer_facts(graph, traced),
        images=part.name,
        classes=known,
        confusion=confusion,
        pictures=_pictures(part.pictures, [w.row for w in confusion.wrong[:MOST_PICTURES]]),
    )


def _pictures(dataset: Dataset, rows: list[int]) -> tuple[np.ndarray, ...]:
    """uint8 (H, W, 1 or 3) of these rows."""
    return tuple(_shown(dataset.frame(row)) for row in rows)


def _shown(frame: np.ndarray) -> np.ndarray:
    """Any image as pixels: codes and real numbers stretched over the whole range."""
    if frame.dtype == np.uint8:
        pixels = frame
    else:
        low, high = float(frame.min()), float(frame.max())
        pixels = np.rint((frame.astype(np.float64) - low) * (255 / ((high - low) or 1)))
        pixels = pixels.astype(np.uint8)
    return pixels if pixels.shape[-1] in (1, 3) else pixels[..., :1]
