"""npusim's .h5 format: equal graphs, equal bytes, whole files."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from golden import graph_version_1
from graphs import Draft

from npusim.formats import files, h5, tflite
from npusim.graph import Accumulator, Graph, ModelError

CLONE = Path(__file__).parents[2]


def rich(order: int = 1) -> Graph:
    """A graph with every kind of value the format holds; `order` of its mappings."""
    draft = Draft(seed=5)
    x = draft.input((1, 3, 6, 5), dtype="uint8", zero_point=128)
    real = draft.input((), dtype="float32")
    turned = draft.node("transpose", (x,), dtype="uint8", permutation=(0, 2, 3, 1))
    codes = draft.node("quantize", (turned,), affine={"scale": 0.1, "zero_point": -3})
    a = draft.conv2d(codes, 4, padding=(1, 0, 2, 1), bias=False)
    p = draft.node("pad", (a,), padding=((0, 0), (1, 2), (0, 0), (0, 3)))
    mask = draft.constant("mask", np.array([[True, False]]))
    m = draft.node("mean", (p,), axes=(1, 2), keep_dims=False)
    f = draft.fully_connected(m, 3)
    s = draft.node("softmax", (f,), affine={"scale": 1 / 256, "zero_point": -128}, beta=0.1)
    scalar = draft.node("quantize", (real,), dtype="int8", affine={"scale": 0.1})
    graph = draft.graph(s, scalar, layout="NCHW", accumulator=Accumulator(24, "saturate"))
    given = {
        "multiplier": np.full(4, 2**30, np.int32),
        "shift": np.arange(-3, 1, dtype=np.int32),
        "statistics_mean": np.full(4, -5, np.int32),
        "statistics_deviation": np.full(4, 99, np.int32),
    }
    provenance = {
        "file": "r\N{LATIN SMALL LETTER E WITH ACUTE}seau.tflite",
        "format": "",
        "operators": "CONV_2D " * 9000,
    }
    nodes = tuple(
        replace(
            node,
            attributes=dict(list(node.attributes.items())[::order]),
            given=dict(list(given.items())[::order]) if node.op == "conv2d" else {},
        )
        for node in graph.nodes
    )
    assert graph.tensors[mask].dtype == "bool"
    return replace(graph, nodes=nodes, provenance=dict(list(provenance.items())[::order]))


def test_rich_graph_comes_back_equal(tmp_path):
    h5.save(rich(), tmp_path / "m.h5")
    assert h5.load(tmp_path / "m.h5") == rich()


def test_attributes_come_back_as_plain_values(tmp_path):
    h5.save(rich(), tmp_path / "m.h5")
    for node in h5.load(tmp_path / "m.h5").nodes:
        for value in node.attributes.values():
            assert type(value) in (int, float, str, bool, tuple)
        assert {type(index) for index in node.inputs + node.outputs} == {int}


@pytest.mark.parametrize("name", ["coral/tf2_mobilenet_v2_1.0_224_ptq", "tflm/person_detect"])
def test_real_model_comes_back_equal(shared, name, tmp_path):
    graph = tflite.load(shared(f"models/{name}.tflite"))
    h5.save(graph, tmp_path / "m.h5")
    assert h5.load(tmp_path / "m.h5") == graph


def test_equal_graphs_give_the_same_bytes():
    first = h5.to_bytes(rich())
    time.sleep(1.1)  # HDF5's timestamps count seconds
    assert h5.to_bytes(rich(order=-1)) == first


def test_another_process_writes_the_same_bytes(tmp_path):
    program = "import sys; from formats.test_h5 import h5, rich; h5.save(rich(), sys.argv[1])"
    path = os.pathsep.join([str(CLONE), str(CLONE / "tests")])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "7"}
    command = [sys.executable, "-c", program, str(tmp_path / "m.h5")]
    subprocess.run(command, env=environment, check=True, cwd=tmp_path)
    assert (tmp_path / "m.h5").read_bytes() == h5.to_bytes(rich())


def test_loaded_graph_is_written_as_it_was(tmp_path):
    path = tmp_path / "m.h5"
    h5.save(rich(), path)
    written = path.read_bytes()
    h5.save(h5.load(path), path)
    assert path.read_bytes() == written


def test_version_1_is_read():
    """The golden file is kept as it was written when version 1 was new."""
    assert h5.load(graph_version_1.PATH) == graph_version_1.graph()


def test_different_graphs_give_different_bytes():
    graph = rich()
    assert h5.to_bytes(replace(graph, accumulator=Accumulator(25, "saturate"))) != h5.to_bytes(
        graph
    )


def test_illegal_graph_is_not_written(tmp_path):
    path = tmp_path / "m.h5"
    path.write_bytes(b"before")
    with pytest.raises(ModelError) as caught:
        h5.save(replace(rich(), layout="HWC"), path)
    assert str(caught.value) == "draft: layout: must be NHWC or NCHW, got 'HWC'"
    assert path.read_bytes() == b"before"


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_failed_write_leaves_the_old_file_alone(tmp_path, monkeypatch, step):
    def fail(*arguments):
        raise OSError("no space left on device")

    path = tmp_path / "m.h5"
    path.write_bytes(b"before")
    monkeypatch.setattr(files.os, step, fail)
    with pytest.raises(OSError, match="no space left on device"):
        h5.save(rich(), path)
    assert [p.name for p in tmp_path.iterdir()] == ["m.h5"]
    assert path.read_bytes() == b"before"


def test_written_file_has_the_usual_rights(tmp_path):
    (tmp_path / "usual").write_bytes(b"")
    h5.save(rich(), tmp_path / "m.h5")
    rights = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("usual", "m.h5")]
    assert rights[0] == rights[1]


def test_missing_folder_is_reported(tmp_path):
    with pytest.raises(FileNotFoundError):
        h5.save(rich(), tmp_path / "absent" / "m.h5")
