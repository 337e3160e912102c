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
    run       how the README calls the program
    files     folders of its files below FOLDER
    """

    about: str
    needs: str
    folder: str


TARGETS: Mapping[str, Target] = {
    "host": Target("this computer", "a C99 compiler and make", "host"),
    "qemu-m55": Target(
        "a Cortex-M55 in QEMU (machine mps3-an547)",
        "arm-none-eabi-gcc with newlib, qemu-system-arm and make",
        "qemu-m55",
    ),
}


def target_files(name: str) -> dict[str, str]:
    """Path in the exported folder -> text."""
    found = {"target/host.h": FOLDER / "host.h"}
    for path in sorted((FOLDER / TARGETS[name].folder).iterdir()):
        beside = path.suffix == ""
        found[path.name if beside else f"target/{path.name}"] = path
    return {name: path.read_text("utf-8") for name, path in found.items()}


def main_template() -> str:
    """main.c before the model is known."""
    return (FOLDER / "main.c").read_text("utf-8")
