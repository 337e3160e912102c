"""Executed instructions of calls of C on QEMU's Cortex-M55."""

import re
import subprocess
from pathlib import Path

from c.records import Case, encode
from c.toolchain import FIRMWARE, RULES, TARGETS, Code, Runner


class Counter:
    """Counts instructions of one target's program."""

    def __init__(self, kind: str, program: Code, folder: Path) -> None:
        (target,) = (target for target in TARGETS if target.name == f"m55-{kind}")
        self.runner = Runner(target, program, folder)
        self.plugin = folder / "libcount.so"
        source = FIRMWARE / "count_instructions.c"
        command = ["gcc", *RULES, "-shared", "-fPIC", str(source), "-o", str(self.plugin)]
        subprocess.run(command, check=True)
        self._program = program

    def count(self, case: Case, symbol: str | None = None) -> int:
        """Instructions of a call, or those of one function within it."""
        (self.runner.folder / "in").write_bytes(encode(self._program.declarations, [case]))
        low, high = self._range(symbol)
        command = self.runner.command("-plugin", f"{self.plugin},low={low:#x},high={high:#x}")
        done = subprocess.run(
            command, cwd=self.runner.folder, capture_output=True, text=True,
            stdin=subprocess.DEVNULL, check=True,
        )  # fmt: skip
        found = re.search(r"instructions (\d+)", done.stderr)
        assert found, done.stderr
        return int(found[1])

    def _range(self, symbol: str | None) -> tuple[int, int]:
        command = ["arm-none-eabi-nm", "-S", str(self.runner.path)]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        symbols = {line.split()[-1]: line.split()[:2] for line in lines.splitlines()}
        if symbol is None:
            return int(symbols["kernels_start"][0], 16), int(symbols["kernels_end"][0], 16)
        start, size = (int(part, 16) for part in symbols[symbol])
        return start, start + size


def version(*command: str) -> str:
    """The first line of what a tool says of itself."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")[0]
