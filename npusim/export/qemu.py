"""Programs in QEMU's Cortex-M55 (machine mps3-an547), and how many instructions they execute.

These are instructions, not cycles, which QEMU does not know.
"""

import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from .targets import FOLDER
from .tools import run

MACHINE = ("qemu-system-arm", "-M", "mps3-an547", "-display", "none", "-serial", "none",
           "-monitor", "none")  # fmt: skip
EVERYWHERE = range(1 << 32)
"""All addresses."""


class Counted(NamedTuple):
    """What a program executed.

    total    instructions within the addresses that count
    passed   (name of a mark, instructions before it), in the order they were passed
    stack    bytes that it went deep, 0 where nobody asked
    """

    total: int
    passed: tuple[tuple[str, int], ...]
    stack: int


def qemu_command(program: Path, words: Sequence[str], *options: str) -> list[str]:
    """The command that runs an ELF file.

    words     what main gets as arguments, its own name first; they hold no spaces and no commas
    options   of QEMU
    """
    semihosting = ",".join(["enable=on,target=native,chardev=host", *(f"arg={w}" for w in words)])
    return [*MACHINE, "-chardev", "stdio,id=host", "-semihosting-config", semihosting, *options,
            "-kernel", str(program)]  # fmt: skip


def build_counter(folder: Path) -> Path:
    """Compile QEMU's plugin for this computer into a folder; OSError where gcc fails."""
    plugin = folder / "libcount.so"
    source = FOLDER / "count_instructions.c"
    run(["gcc", "-std=c99", "-O2", "-Wall", "-Wextra", "-pedantic", "-shared", "-fPIC",
         str(source), "-o", str(plugin)])  # fmt: skip
    return plugin


def symbols(program: Path) -> dict[str, range]:
    """Name -> addresses of every symbol of an ELF file; none where it has no size."""
    found = {}
    for line in run(["arm-none-eabi-nm", "-S", str(program)]).splitlines():
        words = line.split()
        if len(words) > 2:
            start = int(words[0], 16)
            size = int(words[1], 16) if len(words) > 3 else 0
            found[words[-1]] = range(start, start + size)
    return found


def plugin_options(
    plugin: Path, within: range, marks: Sequence[int] = (), stack: int = 0
) -> list[str]:
    """Options of QEMU that count.

    within   addresses that count
    marks    addresses at whose execution the count so far is told
    stack    address below which the stack begins; its depth is told unless this is 0
    """
    words = [str(plugin), f"low={within.start:#x}", f"high={within.stop:#x}"]
    words += [f"mark={at:#x}" for at in marks] + [f"stack={stack:#x}"] * bool(stack)
    return ["-plugin", ",".join(words)]


def count_instructions(
    program: Path, words: Sequence[str], plugin: Path, marks: Sequence[str]
) -> Counted:
    """Run an ELF file in its folder, count everything it executes, and see how deep its stack is.

    words    see `qemu_command`
    marks    functions at whose entry the count is told
    raises   KeyError for a function the file has not; OSError where the program fails
    """
    places = symbols(program)
    at = {places[name].start: name for name in marks}
    options = plugin_options(plugin, EVERYWHERE, list(at), places["stack_top"].start)
    command = qemu_command(program, words, *options)
    done = subprocess.run(command, cwd=program.parent, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, check=False)  # fmt: skip
    if done.returncode:
        said = " ".join(f"{done.stdout} {done.stderr}".split())[-300:]
        raise OSError(f"{program.name}: must end with status 0, got {done.returncode}: {said}")
    return read_count(done.stderr, at)


def read_count(said: str, at: Mapping[int, str]) -> Counted:
    """What the plugin wrote to standard error.

    at       address -> name of each mark
    raises   OSError where it wrote no count
    """
    total = re.search(r"^instructions (\d+)$", said, re.MULTILINE)
    if total is None:
        raise OSError(f"qemu-system-arm: must tell a count of instructions, got {said[-200:]!r}")
    marks = re.findall(r"^mark 0x([0-9a-f]+) (\d+)$", said, re.MULTILINE)
    passed = tuple((at[int(address, 16)], int(count)) for address, count in marks)
    stack = re.search(r"^stack (\d+)$", said, re.MULTILINE)
    return Counted(int(total[1]), passed, int(stack[1]) if stack else 0)
