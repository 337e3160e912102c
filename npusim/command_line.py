"""What every command of the project shares: how models are named, how errors end, exit codes.

0   done
1   done, and the finding is negative (each command's help says what that is)
2   not done; one line on standard error says why
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from .formats import load
from .graph import Accumulator, Graph
from .neural_art.given import read_parameters
from .profiles import PROFILES

DONE, NEGATIVE, FAILED = 0, 1, 2
INTERRUPTED, PIPE_CLOSED = 130, 141

Command = Callable[[argparse.Namespace], int]

_BAD_INPUT = (ValueError, TypeError, KeyError, OSError, ImportError, MemoryError)


class Parser(argparse.ArgumentParser):
    """argparse with manual pages as help and errors on one line; both are its own hooks."""

    def __init__(self, **options: object) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **options)  # type: ignore[arg-type]

    def error(self, message: str) -> NoReturn:
        self.exit(FAILED, f"{self.prog}: {message}; try {self.prog} --help\n")


def execute(parser: argparse.ArgumentParser, argv: Sequence[str] | None = None) -> int:
    """Parse, run the command that the parser's defaults name `command`, and give its exit code.

    Bad input ends in one line on standard error; anything else is a fault of the program and
    keeps its traceback.
    """
    arguments = parser.parse_args(argv)
    command: Command = arguments.command
    try:
        code = command(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # the reader has gone, as in `npusim inspect m.tflite | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except KeyboardInterrupt:
        return INTERRUPTED
    except _BAD_INPUT as error:
        print(f"{parser.prog}: {_one_line(error)}", file=sys.stderr)
        return FAILED
    return code


def _one_line(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename is not None else ""
        return where + error.strerror.lower()
    if isinstance(error, MemoryError):
        return "not enough memory; use a smaller input"
    text = error.args[0] if isinstance(error, KeyError) and error.args else error
    return " ".join(str(text).split()) or type(error).__name__


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """The options that say how a model file is read; `load_model` obeys them."""
    group = parser.add_argument_group("how the model is read")
    group.add_argument(
        "--input-size",
        type=image_size,
        metavar="H[xW]",
        help="derive every shape again for images of this size",
    )
    group.add_argument(
        "--layout",
        choices=("NHWC", "NCHW"),
        help="order of the image's dimensions, where the model does not tell",
    )
    group = parser.add_argument_group("which arithmetic it runs in")
    known = ", ".join(f"{p.name} ({p.reference})" for p in PROFILES.values())
    text = f"arithmetic to reproduce instead of the file's own: {known}"
    group.add_argument("--profile", choices=sorted(PROFILES), metavar="NAME", help=text)
    group.add_argument(
        "--accumulator",
        type=accumulator,
        metavar="BITS[:RULE]",
        help="8..64 bits; when a sum does not fit: wrap (default), saturate or error",
    )
    group.add_argument("--parameters", type=Path, metavar="FILE.json",
                       help='of profile neural-art, such as {"*": {"ties": "up"}}')  # fmt: skip


def load_model(path: Path, arguments: argparse.Namespace) -> Graph:
    """The model of a file, read as the options of `add_model_options` say."""
    given = None if arguments.parameters is None else read_parameters(arguments.parameters)
    graph = load(path, profile=arguments.profile, input_size=arguments.input_size,
                 layout=arguments.layout, parameters=given)  # fmt: skip
    if arguments.accumulator is not None:
        graph = replace(graph, accumulator=arguments.accumulator)
    return graph


def image_size(text: str) -> tuple[int, int]:
    """ "96" or "96x128" as (height, width)."""
    height, _, width = text.lower().partition("x")
    numbers = (height, width or height)
    if not all(n.isascii() and n.isdigit() and int(n) for n in numbers):
        raise argparse.ArgumentTypeError(f"must be H or HxW in pixels, got {text!r}")
    return int(numbers[0]), int(numbers[1])


def accumulator(text: str) -> Accumulator:
    """ "24" or "24:saturate" as an Accumulator."""
    bits, _, overflow = text.partition(":")
    if not (bits.isascii() and bits.isdigit()):
        raise argparse.ArgumentTypeError(f"must be BITS or BITS:RULE, got {text!r}")
    try:
        return Accumulator(int(bits), overflow or "wrap")
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix("accumulator: ")) from None


def counting_number(text: str) -> int:
    """A whole number of 1 or more."""
    if not (text.isascii() and text.isdigit() and int(text)):
        raise argparse.ArgumentTypeError(f"must be a whole number of 1 or more, got {text!r}")
    return int(text)


def seed_number(text: str) -> int:
    """A whole number in 0..2^64-1."""
    if not (text.isascii() and text.isdigit() and int(text) < 1 << 64):
        raise argparse.ArgumentTypeError(f"must be a whole number in 0..2^64-1, got {text!r}")
    return int(text)
