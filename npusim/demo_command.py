"""`npusim demo`: a device's dump against its model, as a table and as a page."""

import argparse
import json
from pathlib import Path

from .command_line import DONE, JSON, Command
from .demo import IMAGES, demo
from .diff.listing import as_dict

MANUAL = """\
A digit reader is recorded as TFLite Micro runs it. A device runs it on the same
images and leaves its tensors in a folder. Is the device wrong, or does it only
compute differently? Where does it depart first, and why? Everything needed
ships with the package; model, golden file and dump stay for you to play with.
"""

EXAMPLES = """\
examples:
  npusim demo
  npusim demo --output out/ --json | jq .first

"""

STORY = """\
A digit reader was recorded as TFLite Micro runs it: {golden}
A device ran it too, and left its tensors behind:    {device}
It reads {agreement} of {images} digits as the reference does. Is it the same?

  npusim diff {golden} {device} \\
              --model {model} --html {page}
"""


def run(arguments: argparse.Namespace) -> int:
    """`npusim demo`"""
    from .diff.page import html
    from .diff.table import page

    folder: Path = arguments.output
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise ValueError(f"{folder}: folder must be empty; remove its files or name another")
    found = demo(folder)
    target = folder / "report.html"
    target.write_text(html(found.report), "utf-8")
    if arguments.json:
        print(json.dumps(as_dict(found.report, (), []), indent=2))
        return DONE
    print(STORY.format(images=IMAGES, golden=found.golden, device=found.device, page=target,
                       model=found.model, agreement=found.agreement))  # fmt: skip
    print(page(found.report))
    print(f"the same with maps of every tensor: {target}")
    return DONE


COMMAND = Command(
    "demo",
    "where a device departs from its model, in half a minute",
    MANUAL,
    EXAMPLES,
    "not used",
    {
        "": {
            "--output": {
                "type": Path, "metavar": "DIR", "default": Path("npusim-demo"),
                "help": "folder to write into, empty or new; npusim-demo",
            },
            "--json": JSON,
        }
    },
    run,
)  # fmt: skip
