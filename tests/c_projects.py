"""Exported models, built as their README says, and many of them in one program.

BUILDS are the ways in which `make` is called; a Program is a folder that was exported and built.
What is the same in every exported folder is compiled once in a process.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import NamedTuple

import numpy as np
from c.toolchain import BOARD, RULES, SANITIZERS, Target, require

from npusim import Graph, Session
from npusim.engine import as_codes
from npusim.export import Project
from npusim.export.qemu import qemu_command
from npusim.export.targets import FOLDER
from npusim.sources import c_sources

SECONDS = 300


class Build(NamedTuple):
    """How an exported folder is built.

    target      that it was exported for
    tools       that it needs
    variables   of make
    """

    name: str
    target: str
    tools: tuple[str, ...]
    variables: tuple[str, ...]


_SANE = f"CFLAGS=-O2 -Werror {' '.join(SANITIZERS)}"
_M55 = ("make", "arm-none-eabi-gcc", "qemu-system-arm")
BUILDS = (
    Build("gcc", "host", ("make", "gcc"), ("CC=gcc", "CFLAGS=-O2 -Werror")),
    Build("gcc-sanitized", "host", ("make", "gcc"), ("CC=gcc", _SANE)),
    Build("clang-sanitized", "host", ("make", "clang"), ("CC=clang", _SANE)),
    Build("m55-scalar", "qemu-m55", _M55, ("CPU=cortex-m55+nomve", "CFLAGS=-O2 -Werror")),
    Build("m55-mve", "qemu-m55", _M55, ("CFLAGS=-O2 -Werror",)),
)


_SHARED = ("kernels/", "zo/", "target/")
"""Folders that are the same in every project of a target, and include headers of these alone."""
_headers: dict[tuple[str, str], str] = {}
_objects: dict[tuple[Build, str, str], bytes] = {}
"""What this process has compiled, of a build, a source and its text."""


class Program:
    """An exported folder, built."""

    def __init__(self, project: Project, build: Build, folder: Path) -> None:
        require(*build.tools)
        self.folder, self.build = folder, build
        project.write(folder)
        objects = _shared_objects(project, build, folder)
        for path, key in objects.items():
            if key in _objects:
                path.write_bytes(_objects[key])
        self.done("make", "-s", *build.variables)
        _objects.update((key, path.read_bytes()) for path, key in objects.items())

    def copied(self, folder: Path) -> Program:
        """The same program in another folder, where a test may change it."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        program = copy(self)
        program.folder = folder
        return program

    def done(self, *command: str, status: int = 0) -> str:
        """What a command in the folder prints; AssertionError unless it ends as it must."""
        ended = subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, stdin=subprocess.DEVNULL,
            timeout=SECONDS, check=False,
        )  # fmt: skip
        assert ended.returncode == status, f"{command}: {ended.stdout}{ended.stderr}"
        return ended.stdout

    def check(self) -> str:
        """What `make check` prints."""
        return self.done("make", "-s", "check", *self.build.variables)

    def run(self, data: bytes) -> bytes:
        """The bytes of the outputs for those of the inputs."""
        (self.folder / "in.bin").write_bytes(data)
        self.done("./model", "in.bin", "out.bin")
        return (self.folder / "out.bin").read_bytes()


def _shared_objects(
    project: Project, build: Build, folder: Path
) -> dict[Path, tuple[Build, str, str]]:
    """What `make` compiles of the shared folders, and by what it is known again."""
    shared = {path: text for path, text in project.files.items() if path.startswith(_SHARED)}
    for path, text in shared.items():
        if path.endswith(".h"):
            assert _headers.setdefault((build.target, path), text) == text, path
    sources = {path: text for path, text in shared.items() if path.endswith(".c")}
    return {(folder / path).with_suffix(".o"): (build, path, text)
            for path, text in sources.items()}  # fmt: skip


def flip_lowest_bit(source: Path, array: str) -> None:
    """Make the first number of an array in a C file another."""
    head, brace, values = source.read_text("utf-8").partition(f"{array}[")
    size, opening, numbers = values.partition("{")
    first, comma, rest = numbers.partition(",")
    changed = f"\n    {int(first) ^ 1}"
    assert brace
    assert comma
    source.write_text(head + brace + size + opening + changed + comma + rest, "utf-8")


def packed(
    graph: Graph, tensors: Sequence[int], arrays: Mapping[str, np.ndarray] | np.ndarray
) -> bytes:
    """Arrays of a batch as a program reads and writes them: run after run.

    arrays   by tensor name; or the array of the only tensor
    """
    parts = []
    for tensor in (graph.tensors[i] for i in tensors):
        array = arrays[tensor.name] if isinstance(arrays, Mapping) else arrays
        codes = np.ascontiguousarray(as_codes(array, tensor, graph.profile))
        parts.append(codes.reshape(len(array) // (tensor.shape or (1,))[0], -1).view(np.int8))
    return np.concatenate(parts, axis=1).tobytes()


def assert_program_matches(
    program: Program, graph: Graph, inputs: np.ndarray | Mapping[str, np.ndarray]
) -> None:
    """Every byte of the program's outputs is the session's."""
    session = Session(graph, threads=1)
    expected = packed(session.graph, session.graph.outputs, session.run(inputs))
    assert program.run(packed(session.graph, session.graph.inputs, inputs)) == expected


_FLEET = """\
#include "host.h"

@DECLARATIONS@
static const struct {
    const char *name;
    int (*check)(int argc, char **argv);
} models[] = {
@MODELS@};

int main(void)
{
    int failed = 0;
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        if (models[i].check(1, NULL) != 0) {
            host_print("failed: ");
            host_print(models[i].name);
            host_print("\\n");
            failed = 1;
        }
    }
    return failed;
}
"""


def check_together(projects: Sequence[Project], target: Target, folder: Path) -> None:
    """Link exported models into one program, each with its own main, and run their self-tests."""
    require(target.compiler, *(["qemu-system-arm"] if target.kind == "m55" else []))
    names = [project.model.prefix for project in projects]
    assert len(set(names)) == len(names)
    for project in projects:
        project.write(folder / project.model.prefix)
        (folder / f"{project.model.prefix}_all.c").write_text(_unit(project.model.prefix))
    declarations = "".join(f"int {name}_main(int argc, char **argv);\n" for name in names)
    models = "".join(f'    {{"{name}", {name}_main}},\n' for name in names)
    fleet = _FLEET.replace("@DECLARATIONS@", declarations).replace("@MODELS@", models)
    (folder / "fleet.c").write_text(fleet)
    units = [folder / f"{name}_all.c" for name in names]
    _run(_compile(target, [folder / "fleet.c", *units], folder), target)


def _unit(name: str) -> str:
    """One file that is a whole exported model, its main called NAME_main."""
    return (
        f'#include "{name}/{name}_weights.c"\n#include "{name}/{name}.c"\n'
        f"int {name}_main(int argc, char **argv);\n#define main {name}_main\n"
        f'#include "{name}/main.c"\n'
    )


def _compile(target: Target, sources: Sequence[Path], folder: Path) -> Path:
    kernels = [path for path in c_sources() if path.suffix == ".c"]
    folders = [c_sources()[0].parent, FOLDER, BOARD]
    command = [target.compiler, *RULES, *target.options, *(f"-I{path}" for path in folders)]
    if target.kind == "m55":
        start = [BOARD / "startup.c", BOARD / "semihost.c"]
        command += ["-T", str(BOARD / "an547.ld"), "-nostartfiles", "-Wl,--gc-sections",
                    "-fno-tree-vectorize"]  # fmt: skip
    else:
        start = [FOLDER / "host" / "stdio.c"]
    start += [FOLDER / "constants.c", FOLDER / "report.c"]
    output = folder / "fleet"
    command += [*map(str, (*sources, *kernels, *start)), "-o", str(output)]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return output


def _run(program: Path, target: Target) -> None:
    command = [str(program)]
    if target.kind == "m55":
        command = qemu_command(program, ("fleet",))
    ended = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                           timeout=SECONDS, check=False)  # fmt: skip
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
