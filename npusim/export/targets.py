"""What an exported model runs on: the files that come with it from npusim/c/targets.

A target is a folder there. `Makefile` and files without suffix come to lie beside the model, all
others in `target/`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).resolve().parents[1] / "c" / "targets"


class Target(NamedTuple):
    """One target.

    about     what it is, for the README
    needs     the programs to build and run it
    program   whether there is a program around the model, rather than a library for a firmware
    """

    about: str
    needs: str
    program: bool


TARGETS: Mapping[str, Target] = {
    "host": Target("this computer", "a C99 compiler and make", True),
    "qemu-m55": Target(
        "a Cortex-M55 in QEMU (machine mps3-an547)",
        "arm-none-eabi-gcc with newlib, qemu-system-arm and make",
        True,
    ),
    "stm32n6": Target(
        "the Cortex-M55 of an STM32N6, beside its NPU or without",
        "arm-none-eabi-gcc with newlib and make; to link, ST's runtime and a board's firmware",
        False,
    ),
}
"""By the name of their folder."""


def target_files(name: str, folder: Path = FOLDER) -> dict[str, str]:
    """Path in the exported folder -> text.

    folder   of the targets
    """
    root, found = folder / name, {}
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        inside = path.relative_to(root).as_posix()
        found[inside if path.suffix == "" else f"target/{inside}"] = path
    if folder == FOLDER:
        shared = ["constants.h", "constants.c"]
        shared += ["host.h", "report.h", "report.c"] if TARGETS[name].program else []
        found |= {f"target/{file}": FOLDER / file for file in shared}
    return {name: path.read_text("utf-8") for name, path in found.items()}


def main_template() -> str:
    """main.c before the model is known."""
    return (FOLDER / "main.c").read_text("utf-8")
