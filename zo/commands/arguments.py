"""Commands as data, and the options that several of them take."""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from npusim.command_line import counting_number, seed_number
from npusim.images import Normalization

from ..data import KINDS

Options = Mapping[str, Mapping[str, Any]]
"""Name of an option -> the keywords of `add_argument`."""


class Command(NamedTuple):
    """One command.

    name       as it is called
    summary    one line about it
    manual     what `--help` says above the options
    examples   what it says below them
    negative   what exit status 1 means, "not used" if it never ends so
    groups     its options by the title of their group, "" for those without one
    run        does it: parsed arguments -> exit code
    """

    name: str
    summary: str
    manual: str
    examples: str
    negative: str
    groups: Mapping[str, Options]
    run: Callable[[argparse.Namespace], int]

    @property
    def reads_model(self) -> bool:
        """Whether it takes a model file, and so the options that say how one is read."""
        return any({"model", "--model"} & set(options) for options in self.groups.values())


MODEL = {"type": Path, "metavar": "MODEL", "help": ".tflite or .h5 file"}
DATA = {"metavar": "DATA", "required": True, "help": KINDS}
OUTPUT = {"type": Path, "metavar": "DIR", "required": True, "help": "folder to write into"}
JSON = {"action": "store_true", "help": "print JSON instead of text"}
BATCH = {"type": counting_number, "default": 64, "metavar": "N", "help": "images a step; 64"}
SEED = {"type": seed_number, "default": 0, "metavar": "N", "help": "decides everything random; 0"}
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


def h5_file(text: str) -> Path:
    """A path that ends in .h5, the format that will be written."""
    path = Path(text)
    if path.suffix.lower() != ".h5":
        raise argparse.ArgumentTypeError(f"must end in .h5, the format it writes, got {text!r}")
    return path


def normalization(arguments: argparse.Namespace) -> Normalization | None:
    """What the options PIXELS say together; ValueError for one without the other."""
    if (arguments.mean is None) != (arguments.std is None):
        raise ValueError("--mean and --std: must be given together, got one of them")
    if arguments.mean is None:
        return None
    return Normalization(tuple(arguments.mean), tuple(arguments.std))
