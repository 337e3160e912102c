"""The options of `zo train`, and the settings they stand for."""

import argparse
from dataclasses import replace
from pathlib import Path

from npusim.command_line import counting_number

from ..data import Dataset, augmented
from ..data.augment import CROP
from ..estimate import ESTIMATORS
from ..features import default_folder
from ..options import PERTURBATIONS, POLICIES, Method, Reuse
from ..options import Options as Settings
from ..rate import DECAYS, SCALINGS, SPACES
from ..update import RULES
from .arguments import BATCH, DATA, JSON, MODEL, OUTPUT, PIXELS, SEED, THREADS, Options

VALIDATION_SHARE = 5
"""One image in so many validates, where the parts' sizes are not given."""


def fraction(text: str) -> float:
    """A number in 0..1."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 1.0:
        raise argparse.ArgumentTypeError(f"must be a number in 0..1, got {text!r}")
    return value


def whole_number(text: str) -> int:
    """A whole number of 0 or more."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"must be a whole number of 0 or more, got {text!r}")
    return int(text)


TASK: Options = {
    "--model": {**MODEL, "required": True},
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
    "--augment": {
        "type": counting_number, "metavar": "N",
        "help": "flipped and cropped variants of each training image, one an epoch; none",
    },
    "--crop": {
        "type": whole_number, "metavar": "PIXELS",
        "help": "how far the crop of a variant may be off the centre; 4",
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
    "--resume": {
        "action": "store_true",
        "help": "go on from the folder's checkpoint; repeat every option of its run",
    },
    "--overwrite": {"action": "store_true", "help": "replace the run that the folder holds"},
    "--threads": THREADS,
    "--json": JSON,
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
    "--estimator": {"choices": ESTIMATORS, "help": "of the gradient; one_sided"},
    "--rule": {"choices": RULES, "help": "how a gradient changes codes; error_feedback"},
    "--k": {
        "type": counting_number, "default": 1, "metavar": "N",
        "help": "perturbation in weight steps; 1",
    },
    "--perturbation": {"choices": PERTURBATIONS, "help": "what happens at the rails; clip"},
    "--momentum": {"type": float, "metavar": "X", "help": "0.9"},
    "--lr": {"type": float, "metavar": "X", "help": "learning rate at the first q; by rule"},
    "--lr-scaling": {"choices": SCALINGS, "help": "whether the rate follows q; linear"},
    "--decay": {"choices": DECAYS, "help": "of the rate; cosine"},
    "--space": {"choices": SPACES, "help": "rate per channel or one; real"},
    "--warm-up": {
        "type": fraction, "metavar": "X",
        "help": "a new head's float stage ends with the first step that reaches this accuracy, "
        "and may pass it; 0.3",
    },
    "--no-recalibration": {"action": "store_true", "help": "keep all scales"},
    "--no-prefix-reuse": {"action": "store_true", "help": "run frozen layers for every sample"},
    "--no-sign-reuse": {"action": "store_true", "help": "write the weights of every sample"},
}  # fmt: skip


def part_sizes(arguments: argparse.Namespace, images: int) -> tuple[int, int]:
    """Images of both parts: as given, else all, one in five to validate."""
    validation = arguments.validation or max(1, images // VALIDATION_SHARE)
    return arguments.train or images - validation, validation


def chosen_variants(arguments: argparse.Namespace, train: Dataset) -> Dataset:
    """The training images as --augment and --crop ask for them; ValueError for one without."""
    if arguments.augment is None:
        if arguments.crop is not None:
            raise ValueError("--crop: must go with --augment, got it alone")
        return train
    crop = CROP if arguments.crop is None else arguments.crop
    return augmented(train, arguments.augment, arguments.seed, crop)


def features_folder(arguments: argparse.Namespace) -> Path | None:
    """Where features are kept: --features, `none` for nowhere, else the user's cache."""
    if arguments.features is None:
        return default_folder()
    return None if str(arguments.features) == "none" else Path(arguments.features)


def chosen_options(arguments: argparse.Namespace) -> Settings:
    """The run's settings, with its checkpoint in the output folder."""
    return Settings(
        epochs=arguments.epochs,
        batch=arguments.batch,
        seed=arguments.seed,
        stop_after=arguments.stop_after,
        method=chosen_method(arguments),
        reuse=Reuse(
            not arguments.no_prefix_reuse, not arguments.no_sign_reuse, features_folder(arguments)
        ),
        checkpoint=arguments.output / "checkpoint.npz",
        resume=arguments.resume,
    )


def chosen_method(arguments: argparse.Namespace) -> Method:
    """The policy's method with the options that were given."""
    start = POLICIES[arguments.policy]
    names = ("estimator", "k", "perturbation", "rule", "momentum", "lr", "lr_scaling", "decay",
             "space")  # fmt: skip
    given = {n: getattr(arguments, n) for n in names if getattr(arguments, n) is not None}
    recalibrate = start.recalibrate and not arguments.no_recalibration
    return replace(start, exact_head=arguments.exact_head, recalibrate=recalibrate, **given)
