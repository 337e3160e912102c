"""`npusim locate-weights`: where a model's weights lie in a blob that another compiler made."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from .blob import Located, locate_weights
from .blob.locate import FOUND
from .command_line import DONE, JSON, MODEL, NEGATIVE, Command, load_model
from .describe_page import PIPE_WIDTH, dimensions

MANUAL = """\
Find a model's weights in a compiled blob, as a compiler for Neural-ART writes
it beside its C code, so that firmware can train them in place.

The model's own values are looked for under every layout that is known: plain in
any order of axes; 1x1 kernels in pieces of 16 kernels by 128 channels, each
padded to three bytes; depthwise kernels as blocks with zeros off the diagonal.
A tensor is found only where its bytes stand at one place and nowhere else; else
the reason is said. What is found are weights as they are in the file: biases
and multipliers are the compiler's own, and depend on them.
"""

EXAMPLES = """\
examples:
  npusim locate-weights model.tflite network_atonbuf.xSPI2.raw
  npusim locate-weights model.tflite blob.bin --tensor fully_connected_0 --json

"""


def run(arguments: argparse.Namespace) -> int:
    """`npusim locate-weights`: NEGATIVE when a tensor was not found."""
    blob = _read(arguments.blob)
    graph = load_model(arguments.model, arguments)
    found = list(locate_weights(graph, blob, arguments.tensor))
    if not found:
        raise ValueError(f"{arguments.model}: must have weighted nodes, got none")
    if arguments.json:
        print(json.dumps([_as_dict(one) for one in found], indent=2))
    else:
        print(page(found, arguments.blob.name), end="")
    return DONE if all(one.verdict == FOUND for one in found) else NEGATIVE


COMMAND = Command(
    "locate-weights",
    "find a model's weights in a compiled blob",
    MANUAL,
    EXAMPLES,
    "a tensor was not found at one place",
    {
        "": {
            "model": MODEL,
            "blob": {"type": Path, "metavar": "BLOB", "help": "binary file of the compiler"},
            "--tensor": {
                "action": "append", "metavar": "NAME",
                "help": "tensor or node to look for, may be repeated; all if not given",
            },
            "--json": JSON,
        }
    },
    run,
)  # fmt: skip


def page(found: Sequence[Located], blob: str, console: Console | None = None) -> str:
    """A line per tensor, and in words why some were not found."""
    console = console or Console(width=None if sys.stdout.isatty() else PIPE_WIDTH)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("node", overflow="fold")
    table.add_column("weights", no_wrap=True)
    table.add_column("offset", justify="right", no_wrap=True)
    table.add_column("bytes", justify="right", no_wrap=True)
    table.add_column("layout", overflow="fold")
    for one in found:
        place = one.places[0] if one.verdict == FOUND else None
        where = (
            ("-", "-", one.verdict)
            if place is None
            else (f"0x{place.offset:x}", f"{place.size:,}", place.layout.name)
        )
        table.add_row(one.node, dimensions(one.shape), *where)
    lost = [one for one in found if one.verdict != FOUND]
    with console.capture() as captured:
        console.print(table)
        console.print(f"{len(found) - len(lost)} of {len(found)} found in {blob}",
                      markup=False, highlight=False)  # fmt: skip
        for one in lost:
            console.print(f"{one.node}: {one.verdict}: {one.reason}{_whereabouts(one)}",
                          markup=False, highlight=False)  # fmt: skip
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def _whereabouts(one: Located) -> str:
    return "".join(f"\n  0x{p.offset:x}, {p.layout.name}" for p in one.places)


def _read(path: Path) -> bytes:
    blob = path.read_bytes()
    if not blob:
        raise ValueError(f"{path}: blob must have bytes, got none")
    if blob[:1] == b":" and blob[:4096].isascii():
        raise ValueError(
            f"{path}: blob must be binary, got Intel HEX; convert it with objcopy -I ihex -O binary"
        )
    return blob


def _as_dict(one: Located) -> dict[str, object]:
    places = [{"offset": p.offset, "bytes": p.size, "layout": p.layout.name} for p in one.places]
    return {**one._asdict(), "places": places}
