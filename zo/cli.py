"""The `zo` command: demo, train, evaluate, adapt and bench."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import npusim
from npusim.command_line import Parser, add_model_options, counting_number, execute

from . import commands, demo_command, train_command
from .bench import Q_RANGE
from .data import KINDS
from .estimate import ESTIMATORS
from .options import PERTURBATIONS, POLICIES
from .update import RULES

Options = Mapping[str, Mapping[str, Any]]

MANUAL = """\
Train INT8 neural networks by forward passes alone, in integers.

Equal seeds give equal bits on every machine and any number of threads: a
training run on a chip can be checked against a laptop, code by code.
"""

EXIT_STATUS = """\
exit status:
  0    done
  1    {}
  2    not done; one line on standard error says why
"""

DEMO = """\
A digit reader on a chip meets images that are moved by a pixel, inverted, or of
low contrast. What brings its accuracy back? Seven answers, one table, and
pictures of how each got there. Everything needed ships with the package.
"""

TRAIN = """\
Train tensors of an int8 model on labelled pictures.

With --classes the model's classifier is replaced: a float warm-up takes the new
one a little above chance, then its weights become int8 with head-room, and
everything from there on is integers. Without it the model's own classifier is
kept, and the data must have its classes.

The loss is cross-entropy of the int8 logits. By default q forward passes with
perturbed weights estimate the gradient, and q grows when accuracy stagnates
(QScheduler); --exact-head trains the classifier by its exact gradient instead,
together with zeroth order for layers below it. Features of layers before the
first trained one are computed once per image and kept on disk.

Writes into the folder: model.h5, history.csv, curves.png, checkpoint.npz.
Ctrl-C stops after the present step and keeps what was done; --resume goes on
from the last whole epoch, to the same bits as without the interruption.
"""

TRAIN_EXAMPLES = """\
examples:
  zo train --model mobilenet_v2.tflite --data EuroSAT_RGB.zip --classes 10 \\
           --input-size 96 --train 4000 --validation 1000 --output run/
  zo train --model m.h5 --data pictures/ --trainable stem head --exact-head \\
           --q 16 --output run/
  zo train --model nchw.tflite --data EuroSAT_RGB.zip --classes 10 \\
           --mean 0.485 0.456 0.406 --std 0.229 0.224 0.225 --output run/

"""

EVALUATE = """\
Accuracy of a model on labelled pictures. A model that `zo train` made remembers
which images it was trained on and how pixels became codes: by default it is
judged on its validation images, which repeats the accuracy of its training.
"""

EVALUATE_EXAMPLES = """\
examples:
  zo evaluate run/model.h5 --data EuroSAT_RGB.zip
  zo evaluate model.tflite --data cifar10.npz

"""

ADAPT = """\
Adapt a model to images of another look, without labels and without training:
bias and scale of every channel are changed, in integers, until its outputs have
the mean and deviation they had on the images the model was made for. Those are
stored in the model, or measured on --source.
"""

ADAPT_EXAMPLES = """\
examples:
  zo adapt model.h5 --data new_camera/ --source old_camera/ --output adapted.h5

"""

BENCH = """\
Time one training step on this machine, part by part and for every q, with and
without reuse, beside the formula (q+1)*C_fwd + q*C_perturb.
"""

BENCH_EXAMPLES = """\
examples:
  zo bench run/model.h5
  zo bench model.tflite --input-size 96 --q 1 16 64 --json

"""

DATA = {"metavar": "DATA", "required": True, "help": KINDS}
OUTPUT = {"type": Path, "metavar": "DIR", "required": True, "help": "folder to write into"}
JSON = {"action": "store_true", "help": "print JSON instead of text"}
BATCH = {"type": counting_number, "default": 64, "metavar": "N", "help": "images a step; 64"}
SEED = {"type": int, "default": 0, "metavar": "N", "help": "decides everything random; 0"}
THREADS = {
    "type": counting_number,
    "metavar": "N",
    "help": "spread images over N threads; one per processor if not given; no bit depends on it",
}
PIXELS: Options = {
    "--mean": {
        "type": float, "nargs": "+", "metavar": "M",
        "help": "mean of pixel/255, one number or one per channel",
    },
    "--std": {"type": float, "nargs": "+", "metavar": "S", "help": "their standard deviation"},
}  # fmt: skip

DEMO_OPTIONS: Options = {
    "--output": {**OUTPUT, "required": False, "default": Path("zo-demo")},
    "--epochs": {
        "type": counting_number, "default": 40, "metavar": "N",
        "help": "passes over the 1,078 training digits; 40",
    },
    "--seed": SEED,
    "--threads": THREADS,
    "--json": JSON,
}  # fmt: skip

TRAIN_DATA: Options = {
    "--model": {"type": Path, "metavar": "MODEL", "required": True, "help": ".tflite or .h5 file"},
    "--data": DATA,
    "--output": OUTPUT,
    "--classes": {
        "type": counting_number, "metavar": "N",
        "help": "replace the classifier by a new one for N classes",
    },
    "--train": {
        "type": counting_number, "metavar": "N",
        "help": "training images, drawn by the seed; all that do not validate",
    },
    "--validation": {
        "type": counting_number, "metavar": "N", "help": "validation images; one in five",
    },
    **PIXELS,
    "--features": {
        "metavar": "DIR",
        "help": "where outputs of frozen layers are kept; the user's cache if not given, "
        "`none` for nowhere",
    },
}  # fmt: skip

RUN: Options = {
    "--epochs": {"type": counting_number, "default": 60, "metavar": "N", "help": "at most; 60"},
    "--batch": BATCH,
    "--stop-after": {
        "type": int, "default": 30, "metavar": "N",
        "help": "epochs without a better accuracy until it stops, 0 for never; 30",
    },
    "--seed": SEED,
    "--resume": {"action": "store_true", "help": "go on from the folder's checkpoint"},
    "--threads": THREADS,
    "--json": JSON,
}  # fmt: skip

SAMPLES: Options = {
    "--q": {"type": counting_number, "metavar": "N", "help": "samples a step in every epoch"},
    "--q0": {"type": counting_number, "default": 8, "metavar": "N", "help": "at the start; 8"},
    "--q-max": {"type": counting_number, "default": 64, "metavar": "N", "help": "at most; 64"},
    "--factor": {"type": float, "default": 2.0, "metavar": "X", "help": "by which q grows; 2"},
    "--patience": {
        "type": counting_number, "default": 5, "metavar": "N",
        "help": "epochs without a better accuracy until q grows; 5",
    },
    "--threshold": {
        "type": float, "default": 0.005, "metavar": "X",
        "help": "by how much an accuracy must be better; 0.005",
    },
}  # fmt: skip

METHOD: Options = {
    "--trainable": {
        "nargs": "+", "metavar": "NAME",
        "help": "tensors to train, by their name, their node's, or `NODE/bias`; the head's weights",
    },
    "--exact-head": {
        "action": "store_true", "help": "train the head by its exact gradient",
    },
    "--policy": {
        "choices": tuple(POLICIES), "default": "ours",
        "help": "paper: one rate for every q, integer space, fixed scales, as QScheduler's authors",
    },
    "--estimator": {"choices": ESTIMATORS, "help": "one_sided"},
    "--rule": {"choices": RULES, "help": "how a gradient changes codes; error_feedback"},
    "--k": {
        "type": counting_number, "default": 1, "metavar": "N",
        "help": "perturbation in weight steps; 1",
    },
    "--perturbation": {"choices": PERTURBATIONS, "help": "what happens at the rails; clip"},
    "--momentum": {"type": float, "metavar": "X", "help": "0.9"},
    "--lr": {"type": float, "metavar": "X", "help": "learning rate at the first q; by rule"},
    "--lr-scaling": {"choices": ("linear", "none"), "help": "whether the rate follows q; linear"},
    "--decay": {"choices": ("cosine", "constant"), "help": "of the rate; cosine"},
    "--space": {"choices": ("real", "integer"), "help": "rate per channel or one; real"},
    "--warm-up": {
        "type": float, "default": 0.30, "metavar": "X",
        "help": "accuracy at which a new head's float stage ends; 0.3",
    },
    "--no-recalibration": {"action": "store_true", "help": "keep all scales"},
    "--no-prefix-reuse": {"action": "store_true", "help": "run frozen layers for every sample"},
    "--no-sign-reuse": {"action": "store_true", "help": "write the weights of every sample"},
}  # fmt: skip

MODEL = {"type": Path, "metavar": "MODEL", "help": ".tflite or .h5 file"}

EVALUATE_OPTIONS: Options = {
    "model": MODEL,
    "--data": DATA,
    "--part": {
        "choices": commands.PARTS,
        "help": "which images; validation if zo train made the model, else all",
    },
    **PIXELS,
    "--threads": THREADS,
    "--json": JSON,
}

ADAPT_OPTIONS: Options = {
    "model": MODEL,
    "--data": {**DATA, "help": f"images of the new look: {KINDS}"},
    "--source": {"metavar": "DATA", "help": "images of the old look; as stored in the model"},
    "--output": {**OUTPUT, "metavar": "FILE", "help": ".h5 file to write"},
    "--images": {
        "type": counting_number, "default": 256, "metavar": "N", "help": "images to look at; 256",
    },
    **PIXELS,
    "--seed": SEED,
    "--threads": THREADS,
    "--json": JSON,
}  # fmt: skip

BENCH_OPTIONS: Options = {
    "model": MODEL,
    "--trainable": {
        "nargs": "+", "metavar": "NAME", "help": "tensors to train; the head's weights",
    },
    "--batch": BATCH,
    "--q": {
        "type": counting_number, "nargs": "+", "default": list(Q_RANGE), "metavar": "N",
        "help": "samples a step; 1 2 4 .. 1024",
    },
    "--limit": {
        "type": float, "default": 5.0, "metavar": "SECONDS",
        "help": "longest whole step that is measured; 5",
    },
    "--threads": THREADS,
    "--json": JSON,
}  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    return execute(parser(), argv)


def parser() -> argparse.ArgumentParser:
    """The command's grammar and manual."""
    manual = Parser(prog="zo", description=MANUAL, epilog="zo COMMAND --help tells more")
    manual.add_argument("--version", action="version", version=f"zo {npusim.__version__}")
    parsers = manual.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_demo(parsers)
    _add_train(parsers)
    _add_evaluate(parsers)
    _add_adapt(parsers)
    _add_bench(parsers)
    return manual


def _add_demo(parsers: Any) -> None:
    demo = parsers.add_parser(
        "demo",
        help="what brings accuracy back on a chip that only runs forward",
        description=DEMO,
        epilog=EXIT_STATUS.format("not used"),
    )
    _complete(demo, demo_command.run, DEMO_OPTIONS)


def _add_train(parsers: Any) -> None:
    train = parsers.add_parser(
        "train",
        help="train a model on labelled pictures",
        description=TRAIN,
        epilog=TRAIN_EXAMPLES + EXIT_STATUS.format("stopped by Ctrl-C; what was done is written"),
    )
    _complete(train, train_command.run, TRAIN_DATA)
    groups = {
        "the run": RUN,
        "samples: q is fixed by --q, else it grows when accuracy stagnates": SAMPLES,
        "the method": METHOD,
    }
    for title, options in groups.items():
        _add(train.add_argument_group(title), options)
    add_model_options(train)


def _add_evaluate(parsers: Any) -> None:
    evaluate = parsers.add_parser(
        "evaluate",
        help="accuracy of a model on labelled pictures",
        description=EVALUATE,
        epilog=EVALUATE_EXAMPLES + EXIT_STATUS.format("not used"),
    )
    _complete(evaluate, commands.evaluate_command, EVALUATE_OPTIONS)
    add_model_options(evaluate)


def _add_adapt(parsers: Any) -> None:
    adapt = parsers.add_parser(
        "adapt",
        help="match channel statistics to images of another look",
        description=ADAPT,
        epilog=ADAPT_EXAMPLES + EXIT_STATUS.format("not used"),
    )
    _complete(adapt, commands.adapt_command, ADAPT_OPTIONS)
    add_model_options(adapt)


def _add_bench(parsers: Any) -> None:
    bench = parsers.add_parser(
        "bench",
        help="what one training step costs here",
        description=BENCH,
        epilog=BENCH_EXAMPLES + EXIT_STATUS.format("not used"),
    )
    _complete(bench, commands.bench_command, BENCH_OPTIONS)
    add_model_options(bench)


def _complete(
    parser: argparse.ArgumentParser, command: Callable[..., int], options: Options
) -> None:
    parser.set_defaults(command=command)
    _add(parser, options)


def _add(parser: Any, options: Options) -> None:
    for name, settings in options.items():
        parser.add_argument(name, **settings)
