"""A description as a page for people: what the model is, a table of its nodes, totals.

The table fits the terminal: columns that a narrow one cannot hold are left out, and named at the
end; into a pipe or a file goes all of it.
"""

import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console

from .columns import LONGEST_NAME, SHORTEST_NAME, Column, fitted, left_out_line, shortened
from .describe import Description, Layer, Port
from .headroom import accumulator_text
from .neural_art.stored import PROFILE, VISIBLE_BITS, Label
from .plurals import counted

PIPE_WIDTH = 10_000
PREFIXES = "kMGTPE"
TIE = "\N{NO-BREAK SPACE}"
"""Stands for a space at which no line is broken."""


COLUMNS = (
    Column("node", "left", lambda x: x.node),
    Column("op", "left", lambda x: x.op),
    Column("output", "left", lambda x: dimensions(x.shape)),
    Column("type", "left", lambda x: x.dtype),
    Column("rounding", "left", lambda x: x.rounding or ""),
    Column("MACs", "right", lambda x: short(x.macs) if x.macs else ""),
    Column("weights", "right", lambda x: short(x.weights) if x.weights else ""),
    Column("bound", "right", lambda x: "" if x.bound is None else f"{x.bound:,}"),
    Column("bits", "right", lambda x: "" if x.bits is None else str(x.bits)),
    Column("kernel", "left", lambda x: x.kernel),
)
FIRST_TO_GO = ("kernel", "weights", "op", "type", "node", "bound", "output", "MACs", "rounding")


def page(
    description: Description,
    console: Console | None = None,
    file: Mapping[str, Any] | None = None,
) -> str:
    """The page, made for `console`: for standard output if None.

    file   "name", "bytes" and "sha256" of the file that holds the model, if one does
    """
    console = console or Console(width=None if sys.stdout.isatty() else PIPE_WIDTH)
    unproven = {layer.node for layer in description.unproven}

    def style(layer: Layer) -> str | None:
        return "bold red" if layer.node in unproven else None

    table, left_out = fitted(COLUMNS, description.layers, console.width, FIRST_TO_GO, style)
    with console.capture() as captured:
        print_lines(console, _heading(description, console.width, file or {}))
        console.print(table)
        _print_wrapped(console, _totals(description))
        if left_out:
            _print_wrapped(console, [left_out_line(left_out)])
        _print_wrapped(console, (*_own_rules(description), *_parameters(description)))
    return captured.get()


def dimensions(shape: Sequence[int]) -> str:
    """ "1x96x96x3"; "scalar" without dimensions."""
    return "x".join(map(str, shape)) or "scalar"


def short(count: int) -> str:
    """Three digits and a decimal prefix: 864, 12.3k, 1.28M."""
    if count < 1000:
        return str(count)
    value, power = count / 1000, 0
    while value >= 999.5:
        value, power = value / 1000, power + 1
    return f"{value:.3g}{PREFIXES[power]}"


def print_lines(console: Console, lines: Iterable[str]) -> None:
    """Every line in the console's width."""
    for line in lines:
        text = shortened(line, console.width)
        console.print(text, markup=False, highlight=False, no_wrap=True)


def _print_wrapped(console: Console, lines: Iterable[str]) -> None:
    """Lines in full, broken where the terminal ends; but not at a TIE."""
    for line in lines:
        wrapped = textwrap.wrap(line, console.width, subsequent_indent="  ",
                                break_on_hyphens=False)  # fmt: skip
        text = "\n".join(wrapped).replace(TIE, " ")
        console.print(text, markup=False, highlight=False, soft_wrap=True)


def _heading(d: Description, width: int, file: Mapping[str, Any]) -> Iterable[str]:
    sums = accumulator_text(d.profile, d.accumulator)
    yield f"{d.name}: profile {d.profile}, accumulator {sums}, layout {d.layout}"
    if file:
        yield f"file    {file['name']}, {file['bytes']:,} bytes"
        yield f"sha256  {file['sha256']}"
    origin = d.provenance.get("sha256", "unknown")
    if "file" in d.provenance and origin != file.get("sha256"):
        yield f"from    {d.provenance['file']} ({d.provenance.get('format', 'unknown format')})"
        yield f"sha256  {origin}"
    for kind, ports in (("input", d.inputs), ("output", d.outputs)):
        for port in ports:
            facts = f"{kind:<7} {_port(port)}, "
            yield facts + shortened(port.name, max(width - len(facts), SHORTEST_NAME))


def _port(port: Port) -> str:
    codes = "" if port.scale is None else f", scale {port.scale:.6g}, zero point {port.zero_point}"
    return f"{port.dtype} {dimensions(port.shape)}{codes}"


def _totals(d: Description) -> Iterable[str]:
    yield f"{counted(len(d.layers), 'node')}, {d.macs:,} MACs, {d.weights:,} weights"
    yield (
        f"memory: {d.constant_bytes:,} bytes of constants, "
        f"{d.arena_bytes:,} bytes of arena per thread"
    )
    if d.widest is None:
        return
    if d.unproven:
        first, layers = d.unproven[0], counted(len(d.unproven), "layer")
        width = "" if first.accumulator is None else f" {first.accumulator.bits} bits"
        yield (
            f"accumulator: {layers} may overflow{width}, "
            f"first {shortened(first.node, LONGEST_NAME)} ({first.bits} bits)"
        )
    elif d.profile == PROFILE:
        node = shortened(d.widest.node, LONGEST_NAME)
        yield f"sums: {node} needs {d.widest.bits} bits; a board shows {VISIBLE_BITS}"
    else:
        yield (
            f"accumulator: no sum can overflow {d.accumulator.bits} bits; "
            f"{shortened(d.widest.node, LONGEST_NAME)} needs {d.widest.bits}"
        )


def _own_rules(d: Description) -> Iterable[str]:
    """A line for each node with a rule or profile of its own."""
    for layer in d.layers:
        instead = f"instead of {layer.instead_of}" if layer.instead_of else ""
        if layer.profile is not None:
            how = f"rounds by {layer.rounding}" if layer.rounding else ""
            yield " ".join(filter(None, (
                f"{layer.node}: {layer.op} under profile {layer.profile} of its own", how, instead
            )))  # fmt: skip
        elif instead:
            yield (f"{layer.node}: {layer.op} rounds by {layer.rounding}, a rule of its own, "
                   f"{instead}")  # fmt: skip


def _parameters(d: Description) -> Iterable[str]:
    """A line for each node on Neural-ART, under one for all of them."""
    if any(layer.neural_art for layer in d.layers):
        yield "Neural-ART's parameters, given or derived by the compiler's rules:"
    for layer in d.layers:
        parts = []
        for origin in ("given", "derived"):
            named = [_named(p) for p in layer.neural_art if p.origin == origin]
            parts += [f"{origin}{TIE}{', '.join(named)}"] if named else []
        if parts:
            yield f"{layer.node}: {'; '.join(parts)}"


def _named(p: Label) -> str:
    """ "s0 3"; "A_c 100 (not as derived: 4..7, 9 of 9 differ)" where it was given otherwise"""
    text = f"{p.name}{TIE}{_values(p.name, p.values)}"
    if not p.by_rule:
        return text
    count = sum(a != b for a, b in zip(p.values, p.by_rule, strict=True))
    many = f", {count} of {len(p.values)} differ" if len(p.values) > 1 else ""
    return f"{text} (not as derived: {_values(p.name, p.by_rule)}{many})"


def _values(name: str, values: Sequence[int | str]) -> str:
    """One number, a range of many, parts of a kernel, or words."""
    low, high = min(values), max(values)
    if name in ("A_c", "BC_c"):
        return str(low) if low == high else f"{low}..{high}"
    return ("+" if isinstance(values[0], int) else "/").join(map(str, values))
