"""What commands are, and the options that several of them take."""

import argparse
from pathlib import Path

from npusim import Graph
from npusim.command_line import (
    JSON,
    MODEL,
    PIXELS,
    Command,
    Options,
    counting_number,
    seed_number,
)
from npusim.images import Normalization
from npusim.origin import training

from ..data import KINDS

__all__ = [
    "BATCH",
    "DATA",
    "JSON",
    "MODEL",
    "OUTPUT",
    "PIXELS",
    "SEED",
    "THREADS",
    "Command",
    "Options",
    "given_inputs",
    "h5_file",
    "normalization",
]

DATA = {"metavar": "DATA", "required": True, "help": KINDS}
OUTPUT = {"type": Path, "metavar": "DIR", "required": True, "help": "folder to write into"}
BATCH = {"type": counting_number, "default": 64, "metavar": "N", "help": "images a step; 64"}
SEED = {"type": seed_number, "default": 0, "metavar": "N", "help": "decides everything random; 0"}
THREADS = {
    "type": counting_number,
    "metavar": "N",
    "help": "spread images over N threads; one per processor if not given; no bit depends on it",
}


def h5_file(text: str) -> Path:
    """A path that ends in .h5, the format that will be written."""
    path = Path(text)
    if path.suffix.lower() != ".h5":
        raise argparse.ArgumentTypeError(f"must end in .h5, the format it writes, got {text!r}")
    return path


def given_inputs(arguments: argparse.Namespace) -> str:
    """Which of --model and --data are given, for messages; "neither" where none is."""
    given = [f"--{name}" for name in ("model", "data") if getattr(arguments, name) is not None]
    return " and ".join(given) or "neither"


def normalization(arguments: argparse.Namespace, graph: Graph) -> Normalization | None:
    """What the options PIXELS say together, else what the model remembers of its making.

    raises   ValueError for one option without the other
    """
    if (arguments.mean is None) != (arguments.std is None):
        raise ValueError("--mean and --std: must be given together, got one of them")
    if arguments.mean is None:
        return training(graph).normalization
    return Normalization(tuple(arguments.mean), tuple(arguments.std))
