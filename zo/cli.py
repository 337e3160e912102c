"""The `zo` command: its grammar and manual; what it does is in `commands`."""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import npusim
from npusim.command_line import INTERRUPTED, Parser, add_model_options, execute

from .commands import adapt, bench, demo, evaluate, train
from .commands.arguments import Command

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
  130  Ctrl-C ended it before there was a result
"""

COMMANDS = (demo.COMMAND, train.COMMAND, evaluate.COMMAND, adapt.COMMAND, bench.COMMAND)


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code, 130 after a Ctrl-C that left no result."""
    code = execute(parser(), argv)
    if code == INTERRUPTED:
        print("zo: interrupted by Ctrl-C, no result is written", file=sys.stderr)
    return code


def parser() -> argparse.ArgumentParser:
    """The command's grammar and manual."""
    manual = Parser(prog="zo", description=MANUAL, epilog="zo COMMAND --help tells more")
    manual.add_argument("--version", action="version", version=f"zo {npusim.__version__}")
    parsers = manual.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        _add(parsers, command)
    return manual


def _add(parsers: Any, command: Command) -> None:
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
