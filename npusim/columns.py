"""A table that fits the terminal: columns that a narrow one cannot hold are left out."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from rich.table import Table
from rich.text import Text

GAP = 2
LONGEST_NAME, SHORTEST_NAME = 24, 12


class Column(NamedTuple):
    """A column: header, justification, one cell per row."""

    header: str
    justify: str
    cell: Callable[[Any], str]


class Fitted(NamedTuple):
    """A table, and the headers of the columns left out of it."""

    table: Table
    left_out: list[str]


def fitted(
    columns: Sequence[Column],
    rows: Sequence[Any],
    width: int,
    first_to_go: Sequence[str],
    style: Callable[[Any], str | None],
) -> Fitted:
    """The rows as a table of `width` characters at most.

    columns       the first one's names are shortened where that helps
    first_to_go   headers in the order in which columns go; at its place in that order the first
                  column is shortened as far as it may
    style         of a row
    """
    first = columns[0].header
    cells = {c.header: [c.cell(row) for row in rows] for c in columns}
    widths = {h: max(map(len, (h, *texts))) for h, texts in cells.items()}
    left_out = _columns_to_drop(widths, width, first_to_go)
    kept = [c for c in columns if c.header not in left_out]
    room = max(width - sum(widths[c.header] + GAP for c in kept[1:]), SHORTEST_NAME)
    cells[first] = [shortened(name, room) for name in cells[first]]
    table = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style="bold")
    for column in kept:
        table.add_column(column.header, justify=column.justify, no_wrap=True)  # type: ignore[arg-type]
    for row, texts in zip(rows, zip(*(cells[c.header] for c in kept), strict=True), strict=True):
        table.add_row(*map(Text, texts), style=style(row))
    return Fitted(table, left_out)


def shortened(text: str, width: int) -> str:
    """The text in `width` characters; what is cut out of the middle becomes an ellipsis."""
    if len(text) <= width:
        return text
    tail = max(width - 1, 0) // 2
    return text[: width - 1 - tail] + "\u2026" + text[len(text) - tail :]


def left_out_line(headers: Sequence[str]) -> str:
    """What is said of columns that are not shown."""
    return f"left out to fit the terminal: {', '.join(headers)}; a pipe and --json have all"


def _columns_to_drop(
    widths: Mapping[str, int], width: int, first_to_go: Sequence[str]
) -> list[str]:
    """The fewest columns, in their order, without which the rest fits."""
    first = next(iter(widths))
    kept = {**widths, first: min(widths[first], LONGEST_NAME)}
    for header in first_to_go:
        if sum(kept.values()) + GAP * (len(kept) - 1) <= width:
            break
        if header == first:
            kept[first] = min(kept[first], SHORTEST_NAME)
        else:
            kept.pop(header, None)
    return [header for header in widths if header not in kept]
