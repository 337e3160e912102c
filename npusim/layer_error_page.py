"""Float-against-int8 errors as a table for people, the layers that hurt named below it."""

import sys
from collections.abc import Sequence

from rich.console import Console

from .columns import Column, fitted, left_out_line
from .describe_page import PIPE_WIDTH
from .layer_error import LayerError


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


COLUMNS = (
    Column("node", "left", lambda e: e.node),
    Column("op", "left", lambda e: e.op),
    Column("SQNR dB", "right", lambda e: _number(e.sqnr, ".1f")),
    Column("cosine", "right", lambda e: _number(e.cosine, ".4f")),
    Column("own dB", "right", lambda e: _number(e.own, ".1f")),
    Column("", "left", lambda e: "hurts" if e.hurts else ""),
)
FIRST_TO_GO = ("op", "node", "own dB")
FEW = 5


def page(errors: Sequence[LayerError], console: Console | None = None) -> str:
    """The table, made for `console`: for standard output if None."""
    console = console or Console(width=None if sys.stdout.isatty() else PIPE_WIDTH)
    table, left_out = fitted(COLUMNS, errors, console.width, FIRST_TO_GO,
                             lambda e: "yellow" if e.hurts else None)  # fmt: skip
    with console.capture() as captured:
        console.print(table)
    lines = [left_out_line(left_out)] if left_out else []
    return captured.get() + "".join(f"{line}\n" for line in [*lines, *verdict(errors)])


def verdict(errors: Sequence[LayerError]) -> list[str]:
    """What the last output with an error is worth, and which nodes make half of the noise."""
    differing = [e for e in errors if e.sqnr is not None]
    if not differing:
        return ["float and int8 are equal"]
    last = differing[-1]
    names = [e.node for e in sorted(errors, key=lambda e: (e.own is None, e.own)) if e.hurts]
    told = [f"{last.node}: SQNR {_number(last.sqnr, '.1f')} dB, "
            f"cosine {_number(last.cosine, '.4f')}"]  # fmt: skip
    if names:
        more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
        told.append(f"half of the noise is made by {', '.join(names[:FEW])}{more}")
    return told
