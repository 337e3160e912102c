"""Programs that run a batch of calls: on this host, and on a Cortex-M55 in QEMU.

Each target is one compiler with one set of options; the sources are the same. A missing tool skips
the test and says which; with NPUSIM_C_TOOLS=required it fails, so that CI cannot skip unseen.
"""

import ctypes
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from npusim.export.qemu import qemu_command
from npusim.export.targets import FOLDER

from .dispatch import dispatcher
from .headers import Declarations, read_headers

FIRMWARE = Path(__file__).parent / "firmware"
BOARD = FOLDER / "qemu-m55"
STACK_BYTES = 2048
RULES = [
    "-std=c99",
    "-O2",
    "-ffp-contract=off",
    "-Wall",
    "-Wextra",
    "-Wconversion",
    "-Wsign-conversion",
    "-pedantic",
    "-Werror",
]
SANITIZERS = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
SSE = ["-msse2", "-mfpmath=sse"]  # real numbers of 32 and 64 bits, as everywhere else
M55 = ["-mthumb", "-mfloat-abi=hard", "-ffunction-sections"]
SECONDS = 300


class Code(NamedTuple):
    """What is tested.

    sources       C files
    folders       where their headers are
    declarations  of what a batch may call
    """

    sources: tuple[Path, ...]
    folders: tuple[Path, ...]
    declarations: Declarations


class Target(NamedTuple):
    """A compiler and its options.

    kind   "library" is loaded into this process, "program" runs on this host, "m55" in QEMU
    """

    name: str
    compiler: str
    options: tuple[str, ...]
    kind: str


TARGETS = (
    Target("library", "gcc", (), "library"),
    Target("gcc-sanitized", "gcc", (*SANITIZERS,), "program"),
    Target("clang-sanitized", "clang", (*SANITIZERS,), "program"),
    Target("gcc-32-bit", "gcc", ("-m32", *SSE, *SANITIZERS), "program"),
    Target("m55-scalar", "arm-none-eabi-gcc", ("-mcpu=cortex-m55+nomve", *M55), "m55"),
    Target("m55-mve", "arm-none-eabi-gcc", ("-mcpu=cortex-m55", *M55), "m55"),
)
BY_DEFAULT = ("library", "m55-mve")
EACH_TARGET = [
    pytest.param(
        target, id=target.name, marks=[] if target.name in BY_DEFAULT else pytest.mark.builds
    )
    for target in TARGETS
]
"""Of a test or fixture; all but two run with `pytest -m builds`."""


def code(sources: Sequence[Path], replays: Sequence[Path] = ()) -> Code:
    """The code of these .c and .h files; headers for one instruction set declare nothing to call.

    replays   headers and sources of tests/c/firmware that call the code with function pointers
    """
    headers = [path for path in sources if path.suffix == ".h" and "_mve" not in path.stem]
    declarations = read_headers([*headers, *(path for path in replays if path.suffix == ".h")])
    folders = dict.fromkeys(path.parent for path in (*sources, *replays))
    compiled = tuple(path for path in (*sources, *replays) if path.suffix == ".c")
    return Code(compiled, tuple(folders), declarations)


def require(*tools: str) -> None:
    """Skip the test unless these programs are installed; fail it if CI requires them."""
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        unavailable(f"needs {', '.join(missing)}; install it, see tests/c/README.md")


def unavailable(reason: str) -> None:
    """Skip, or fail where nothing may be skipped."""
    if os.environ.get("NPUSIM_C_TOOLS") == "required":
        pytest.fail(reason)
    pytest.skip(reason)


class Runner:
    """A target's program, built in `folder`."""

    def __init__(self, target: Target, program: Code, folder: Path) -> None:
        require(target.compiler, *(["qemu-system-arm"] if target.kind == "m55" else []))
        if "-m32" in target.options:
            _require_32_bit(target, folder)
        self.target, self.folder = target, folder
        self._compiler = [target.compiler, *RULES, *target.options]
        self._compiler += [f"-I{path}" for path in (*program.folders, FIRMWARE, BOARD, FOLDER)]
        (folder / "dispatch.c").write_text(dispatcher(program.declarations))
        self.path = self._build(program)

    def run(self, batch: bytes) -> bytes:
        """The results of a batch; AssertionError with what the program said if it failed."""
        if self.target.kind == "library":
            return _run_library(self.path, batch)
        (self.folder / "in").write_bytes(batch)
        (self.folder / "out").unlink(missing_ok=True)
        done = subprocess.run(
            self.command(), cwd=self.folder, capture_output=True, text=True,
            stdin=subprocess.DEVNULL, timeout=SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{self.target.name}: {done.stdout}{done.stderr}"
        return (self.folder / "out").read_bytes()

    def command(self, *options: str) -> list[str]:
        """What runs the files in and out of the folder; options are QEMU's."""
        if self.target.kind == "program":
            return [str(self.path), "in", "out"]
        return qemu_command(self.path, ("batch", "in", "out"), *options)

    def _build(self, program: Code) -> Path:
        if self.target.kind == "library":
            parts = ["calls.c", "memory_guarded.c"]
            return self._link(program, parts, "library.so", ["-shared", "-fPIC"])
        if self.target.kind == "program":
            return self._link(program, ["calls.c", "memory_exact.c", "main_host.c"], "program", [])
        archive = self._archive(program)
        start = [BOARD / "startup.c", BOARD / "semihost.c"]
        parts = ["calls.c", "memory_guarded.c", "main_m55.c"]
        script = ["-T", str(BOARD / "an547.ld"), "-nostartfiles", "-Wl,--gc-sections"]
        own = (FIRMWARE / part for part in parts)
        sources = [*start, *own, self.folder / "dispatch.c", archive]
        return self._compile([*map(str, sources), *script], "firmware.elf")

    def _link(self, program: Code, parts: list[str], name: str, options: list[str]) -> Path:
        sources = [*program.sources, *(FIRMWARE / part for part in parts)]
        return self._compile([*map(str, sources), str(self.folder / "dispatch.c"), *options], name)

    def _archive(self, program: Code) -> Path:
        """The code under test as libkernels.a, whose place in memory is known, with its stack."""
        for source in program.sources:
            name = f"{source.stem}.o"
            self._compile(["-c", f"-Wstack-usage={STACK_BYTES}", str(source)], name)
        archive = self.folder / "libkernels.a"
        objects = [str(self.folder / f"{source.stem}.o") for source in program.sources]
        subprocess.run(["arm-none-eabi-ar", "rcs", str(archive), *objects], check=True)
        return archive

    def _compile(self, arguments: list[str], name: str) -> Path:
        output = self.folder / name
        command = [*self._compiler, *arguments, "-o", str(output)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
        return output


def _run_library(path: Path, batch: bytes) -> bytes:
    library = ctypes.CDLL(str(path))
    library.run_batch.restype = ctypes.c_int32
    library.run_batch.argtypes = [ctypes.c_char_p, ctypes.c_size_t] * 2
    out = ctypes.create_string_buffer(max(1 << 20, 4 * len(batch)))
    written = library.run_batch(batch, len(batch), out, len(out))
    assert written >= 0, f"batch error {written}"
    return out.raw[:written]


def _require_32_bit(target: Target, folder: Path) -> None:
    (folder / "empty.c").write_text("int main(void) { return 0; }\n")
    command = [target.compiler, *target.options, "empty.c", "-o", "empty"]
    if subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode:
        unavailable(f"needs 32-bit libraries for {target.compiler}; install gcc-multilib")
