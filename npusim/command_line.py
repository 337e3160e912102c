"""What every command of the project shares: how models are named, how errors end, exit codes.

0   done
1   done, and the finding is negative (each command's help says what that is)
2   not done; one line on standard error says why
"""

import argparse
import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from .c_syntax import identifier, is_prefix
from .formats import load
from .graph import Accumulator, Graph
from .neural_art.given import read_parameters
from .profiles import PROFILES

DONE, NEGATIVE, FAILED = 0, 1, 2
INTERRUPTED, PIPE_CLOSED = 130, 141

Run = Callable[[argparse.Namespace], int]
Options = Mapping[str, Mapping[str, Any]]
"""Name of an option -> the keywords of `add_argument`."""

EXIT_STATUS = """\
exit status:
  0    done
  1    {}
  2    not done; one line on standard error says why
  130  Ctrl-C ended it before there was a result
"""

_BAD_INPUT = (ValueError, TypeError, KeyError, OSError, ImportError, MemoryError)


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
    run: Run

    @property
    def reads_model(self) -> bool:
        """Whether it takes a model file, and so the options that say how one is read."""
        return any({"model", "--model"} & set(options) for options in self.groups.values())


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
    command: Run = arguments.command
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


def add_command(parsers: Any, command: Command) -> None:
    """Give a command its grammar and manual among the sub-commands of a parser."""
    parser = parsers.add_parser(
        command.name,
        help=command.summary,
        description=command.manual,
        epilog=command.examples + EXIT_STATUS.format(command.negative),
    )
    parser.set_defaults(command=command.run)
    for title, options in command.groups.items():
        group = parser.add_argument_group(title) if title else parser
        for name, settings in options.items():
            group.add_argument(name, **settings)
    if command.reads_model:
        add_model_options(parser)


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
    _add_arithmetic(parser.add_argument_group("which arithmetic it runs in"))


def _add_arithmetic(group: Any) -> None:
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
                       help='of profile neural-art, such as {"*": {"ties": "up"}}; npusim diff '
                       "--write-parameters finds a board's")  # fmt: skip
    group.add_argument("--node-rule", type=node_rule, action="append", metavar="NODE=RULE",
                       help="another rule or profile for one node, such as "
                       "conv2d_0=single_rounding or add_0=xnnpack; "
                       "may be given more than once")  # fmt: skip


def load_model(path: Path, arguments: argparse.Namespace) -> Graph:
    """The model of a file, read as the options of `add_model_options` say."""
    given = None if arguments.parameters is None else read_parameters(arguments.parameters)
    rules = _rules(arguments.node_rule or ())
    try:
        graph = load(path, profile=arguments.profile, input_size=arguments.input_size,
                     layout=arguments.layout, parameters=given, rules=rules)  # fmt: skip
    except ValueError as error:
        if not rules or not str(error).startswith("rules: "):
            raise
        raise ValueError(f"--node-rule: {str(error).removeprefix('rules: ')}") from error
    if arguments.accumulator is not None:
        graph = replace(graph, accumulator=arguments.accumulator)
    return graph


def _rules(pairs: Sequence[tuple[str, str]]) -> Mapping[str, str]:
    """The rules and profiles that --node-rule gave; each node once."""
    for node, count in Counter(node for node, _ in pairs).items():
        if count > 1:
            raise ValueError(f"--node-rule: must give a node one rule, got {count} for {node}")
    return dict(pairs)


def node_rule(text: str) -> tuple[str, str]:
    """ "conv2d_0=single_rounding" as (node, rule); a node's name may hold a "="."""
    node, _, rule = text.rpartition("=")
    if not node or not rule:
        raise argparse.ArgumentTypeError(f"must be NODE=RULE, got {text!r}")
    return node, rule


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


def c_name(text: str) -> str:
    """What C names may begin with."""
    if not is_prefix(text):
        raise argparse.ArgumentTypeError(
            "must be a C identifier of lower-case letters, digits and inner underscores, "
            f"got {text!r}; such as {identifier(text)}"
        )
    return text


MODEL = {"type": Path, "metavar": "MODEL", "help": ".tflite or .h5 file"}
JSON = {"action": "store_true", "help": "print JSON instead of text"}
SOURCES: Options = {
    "--input": {"metavar": "FILE", "help": ".npy, .npz, .npz:NAME, .bin or a picture"},
    "--random": {"type": seed_number, "metavar": "SEED", "help": "random inputs from a seed"},
}
PIXELS: Options = {
    "--mean": {
        "type": float,
        "nargs": "+",
        "metavar": "M",
        "help": "mean of pixel/255, one number or one per channel",
    },
    "--std": {"type": float, "nargs": "+", "metavar": "S", "help": "their standard deviation"},
}
