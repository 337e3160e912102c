"""Executed instructions of calls of C on QEMU's Cortex-M55."""

import subprocess
from pathlib import Path

from c.records import Case, encode
from c.toolchain import TARGETS, Code, Runner

from npusim.export.qemu import build_counter, plugin_options, read_count, symbols


class Counter:
    """Counts instructions of one target's program."""

    def __init__(self, kind: str, program: Code, folder: Path) -> None:
        (target,) = (target for target in TARGETS if target.name == f"m55-{kind}")
        self.runner = Runner(target, program, folder)
        self.plugin = build_counter(folder)
        self._program = program

    def count(self, case: Case, symbol: str | None = None) -> int:
        """Instructions of a call, or those of one function within it."""
        (self.runner.folder / "in").write_bytes(encode(self._program.declarations, [case]))
        command = self.runner.command(*plugin_options(self.plugin, self._range(symbol)))
        done = subprocess.run(
            command, cwd=self.runner.folder, capture_output=True, text=True,
            stdin=subprocess.DEVNULL, check=True,
        )  # fmt: skip
        return read_count(done.stderr, {}).total

    def _range(self, symbol: str | None) -> range:
        found = symbols(self.runner.path)
        if symbol is None:
            return range(found["kernels_start"].start, found["kernels_end"].start)
        return found[symbol]
