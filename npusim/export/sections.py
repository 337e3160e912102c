"""Bytes that an exported model takes on a Cortex-M55, linked without the program around it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from .tools import run

CPUS: Mapping[str, str] = {"scalar": "cortex-m55+nomve", "mve": "cortex-m55"}
"""Portable C, and Helium."""
_FIELDS = {"text": "code", "rodata": "constants", "data": "data", "bss": "zeros"}
LIBRARY = "libkernels.a"


class Sections(NamedTuple):
    """Bytes of what is reached from the functions that a firmware calls.

    code        in flash
    constants   in flash
    data        in RAM, and in flash what it begins with
    zeros       in RAM
    """

    code: int
    constants: int
    data: int
    zeros: int

    @property
    def ram(self) -> int:
        """Of all that is linked; the stack comes on top."""
        return self.data + self.zeros


def linked_sections(
    folder: Path, entries: Sequence[str], cpu: str, library: Path | None = None
) -> Sections:
    """Build the project's parts and link what is reached from `entries`, as a firmware would.

    folder    a project exported for qemu-m55
    entries   symbols, the first of them the entry point
    cpu       a value of CPUS
    library   libkernels.a of the same kernels, made before; None makes it
    raises    OSError where a tool fails
    """
    sources = sorted((*folder.glob("model*.c"), *folder.glob("samples.c")))
    parts = [path.with_suffix(".o").name for path in sources]
    run(["make", "-s", "clean"], cwd=folder)
    if library is None:
        run(["make", "-s", f"CPU={cpu}", LIBRARY], cwd=folder)
    run(["make", "-s", f"CPU={cpu}", *parts], cwd=folder)
    options = [f"-mcpu={cpu}", "-mthumb", "-mfloat-abi=hard", "-nostartfiles", "-Wl,--gc-sections"]
    options += [f"-Wl,-e,{entries[0]}", *(f"-Wl,-u,{name}" for name in entries)]
    options += ["-o", "linked.elf", *parts, LIBRARY if library is None else str(library)]
    run(["arm-none-eabi-gcc", *options], cwd=folder)
    return read_sections(run(["arm-none-eabi-size", "-A", "linked.elf"], cwd=folder))


def read_sections(said: str) -> Sections:
    """The sums of what `arm-none-eabi-size -A` prints; sections of no interest are left out."""
    sizes = dict.fromkeys(_FIELDS.values(), 0)
    for line in said.splitlines():
        name, *rest = line.split() or [""]
        if field := _FIELDS.get(name.removeprefix(".")):
            sizes[field] += int(rest[0])
    return Sections(**sizes)
