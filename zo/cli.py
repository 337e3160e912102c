"""The `zo` command: its grammar and manual; what it does is in `commands`."""

import argparse
import sys
from collections.abc import Sequence

import npusim
from npusim.command_line import INTERRUPTED, Parser, add_command, execute

from .commands import (
    adapt,
    bench,
    demo,
    evaluate,
    export_c,
    report,
    reproduce,
    search,
    train,
    write_back,
)

MANUAL = """\
Train INT8 neural networks by forward passes alone, in integers.

Equal seeds give equal bits on every machine and any number of threads: a
training run on a chip can be checked against a laptop, code by code.
"""

COMMANDS = (
    demo.COMMAND,
    train.COMMAND,
    evaluate.COMMAND,
    adapt.COMMAND,
    bench.COMMAND,
    report.COMMAND,
    write_back.COMMAND,
    export_c.COMMAND,
    reproduce.COMMAND,
    search.COMMAND,
)
RESUMED = {reproduce.COMMAND.name, search.COMMAND.name}
KEPT = "finished runs are kept; the same command goes on"


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code, 130 after a Ctrl-C."""
    code = execute(parser(), argv)
    if code == INTERRUPTED:
        words = sys.argv[1:] if argv is None else argv
        left = KEPT if set(words[:1]) & RESUMED else "nothing more is written"
        print(f"zo: interrupted by Ctrl-C, {left}", file=sys.stderr)
    return code


def parser() -> argparse.ArgumentParser:
    """The command's grammar and manual."""
    manual = Parser(prog="zo", description=MANUAL, epilog="zo COMMAND --help tells more")
    manual.add_argument("--version", action="version", version=f"zo {npusim.__version__}")
    parsers = manual.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        add_command(parsers, command)
    return manual
