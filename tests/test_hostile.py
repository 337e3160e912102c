"""Every prefix and 2,000 mutations of model files: ModelError or a whole graph, within limits."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import hostile
import pytest
from formats.models import network
from golden import graph_version_1

CLONE = Path(__file__).resolve().parents[1]
SHARED_MODELS = ("hello_world_int8", "keyword_scrambled_8bit")
EVERY_CASE = pytest.param(1, marks=pytest.mark.full)
STEPS = [10, EVERY_CASE]


def work(file: Path, step: int, folder: Path) -> dict[str, int]:
    """Counts of refused and loaded cases; fails with the case that broke the worker."""
    record = folder / "case"
    command = [
        sys.executable,
        str(CLONE / "tests" / "hostile.py"),
        str(file),
        str(step),
        str(record),
    ]
    environment = {**os.environ, "PYTHONPATH": str(CLONE)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        pytest.fail(
            f"{file.name}, {record.read_text().strip()}: exit {done.returncode}\n{done.stderr}"
        )
    pairs = (word.split("=") for word in done.stdout.split())
    return {key: int(count) for key, count in pairs}


def expected_cases(data: bytes, step: int) -> int:
    return len(range(0, len(data), step)) + len(range(0, hostile.MUTATIONS, step))


@pytest.mark.parametrize("step", STEPS)
def test_built_model(step, tmp_path):
    file = tmp_path / "network.tflite"
    file.write_bytes(network())
    counts = work(file, step, tmp_path)
    assert sum(counts.values()) == expected_cases(network(), step)
    assert counts["loaded"] > 0


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", SHARED_MODELS)
def test_real_model(shared, name, step, tmp_path):
    file = shared(f"models/tflm/{name}.tflite")
    counts = work(file, step, tmp_path)
    assert sum(counts.values()) == expected_cases(file.read_bytes(), step)


@pytest.mark.parametrize("step", [40, EVERY_CASE])
def test_saved_graph(step, tmp_path):
    counts = work(graph_version_1.PATH, step, tmp_path)
    assert sum(counts.values()) == expected_cases(graph_version_1.PATH.read_bytes(), step)
    assert counts["loaded"] > 0


def test_mutations_differ_and_repeat():
    data = network()
    first = [hostile.mutated(data, seed) for seed in range(200)]
    assert first == [hostile.mutated(data, seed) for seed in range(200)]
    assert len(set(first)) > 190


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("import time; time.sleep(20)", "Timeout"),
        ("bytearray(600 * 2**20)", "MemoryError"),
        ("import os; os.abort()", ""),
        ("raise KeyError", "KeyError"),
    ],
)
def test_worker_notices_faults(fault, expected, tmp_path, monkeypatch):
    """A loader that hangs, takes memory, crashes or raises anything else fails the test."""
    program = (
        "import sys; sys.path.insert(0, sys.argv.pop(1))\n"
        "import hostile; from pathlib import Path\n"
        "hostile.SECONDS = 1\n"
        f"def load(path):\n    {fault}\n"
        "hostile.formats.load = load\n"
        "hostile.main(Path(sys.argv[1]), 1000, Path(sys.argv[2]))\n"
    )
    file = tmp_path / "m.tflite"
    file.write_bytes(network())
    command = [
        sys.executable,
        "-c",
        program,
        str(CLONE / "tests"),
        str(file),
        str(tmp_path / "case"),
    ]
    environment = {**os.environ, "PYTHONPATH": str(CLONE)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert expected in done.stderr
    assert (tmp_path / "case").read_text() == "prefix of 0 bytes\n"
