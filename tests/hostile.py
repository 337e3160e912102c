"""Broken copies of a model file, and a worker that loads them under limits.

`python tests/hostile.py FILE STEP RECORD` loads every STEP-th prefix and mutation of FILE. A case
must end in ModelError or in a graph that is whole; anything else ends the worker, and RECORD names
the case. The worker may use 512 MiB more than it starts with, and five seconds for a case.
"""

from __future__ import annotations

import faulthandler
import os
import random
import resource
import struct
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from npusim import Graph, ModelError, formats, reference
from npusim.formats import h5
from npusim.golden import file as golden_file
from npusim.parameters import bind

MUTATIONS = 2000
MEMORY = 512 * 2**20
SECONDS = 5
RUN_BYTES = 2**20
"""Only small graphs are run: a mutated model may well be a legal and very large one."""

EXTREMES = (0, 1, 127, 128, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32 - 4)


def mutated(data: bytes, seed: int) -> bytes:
    """The file after one to eight changes; a pure function of its arguments."""
    rng = random.Random(seed)
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 8))):
        _mutate(changed, rng)
    return bytes(changed)


def _mutate(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data) - 8)
    length = rng.randrange(1, 64)
    match rng.randrange(6):
        case 0:
            data[at] ^= 1 << rng.randrange(8)
        case 1:
            data[at] = rng.randrange(256)
        case 2:
            struct.pack_into("<I", data, at // 4 * 4, rng.choice((*EXTREMES, len(data), at)))
        case 3:
            struct.pack_into("<H", data, at // 2 * 2, rng.randrange(2**16))
        case 4:
            data[at : at + length] = data[rng.randrange(len(data)) :][:length]
        case 5:
            data[at:at] = rng.randbytes(length)


def cases(data: bytes, step: int) -> Iterator[tuple[str, bytes]]:
    """Name and content of every `step`-th prefix and mutation."""
    for length in range(0, len(data), step):
        yield f"prefix of {length} bytes", data[:length]
    for seed in range(0, MUTATIONS, step):
        yield f"mutation {seed}", mutated(data, seed)


def load(data: bytes, path: Path, golden: bool = False) -> str:
    """What becomes of a broken model or golden file: "refused" or "loaded", and then whole."""
    path.write_bytes(data)
    try:
        if golden:
            _check_recorded(golden_file.load(path))
        else:
            _check_whole(formats.load(path))
    except ModelError as error:
        message = str(error)
    else:
        return "loaded"
    assert message.removeprefix(f"{path.parent}/").startswith(f"{path.name}: "), message
    return "refused"


def _check_whole(graph: Graph) -> None:
    """The graph comes back from a file, and runs."""
    assert h5.parse(h5.to_bytes(graph), "m.h5") == graph
    _run(graph)


def _check_recorded(run: golden_file.Golden) -> None:
    """The run comes back from a file."""
    written = golden_file.to_bytes(run)
    assert golden_file.to_bytes(golden_file.parse(written, "g.h5")) == written


def _run(graph: Graph) -> None:
    """One image of zeros through the graph: every output has its declared shape and type."""
    activations = [t for t in graph.tensors if t.data is None]
    if sum(int(np.prod(t.shape)) for t in activations) > RUN_BYTES:
        return
    values = {i: t.data for i, t in enumerate(graph.tensors) if t.data is not None}
    for i in graph.inputs:
        values[i] = np.zeros(graph.tensors[i].shape, graph.tensors[i].dtype)
    bound = [bind(graph, node) for node in graph.nodes]
    reference.execute(graph, range(len(graph.nodes)), bound, values)
    for i in graph.outputs:
        declared = graph.tensors[i]
        assert (values[i].shape, str(values[i].dtype)) == (declared.shape, declared.dtype)


def main(file: Path, step: int, record: Path) -> None:
    data = file.read_bytes()
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    golden = golden_file.is_golden(data)
    counts: Counter[str] = Counter()
    with open(record, "w") as progress:
        for name, content in cases(data, step):
            progress.seek(0)
            progress.truncate()
            print(name, file=progress, flush=True)
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            counts[load(content, record.with_suffix(".model"), golden)] += 1
    faulthandler.cancel_dump_traceback_later()
    print(*(f"{key}={counts[key]}" for key in ("refused", "loaded")))


if __name__ == "__main__":
    os.environ.setdefault("NPUSIM_ISA", "numpy")
    main(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
