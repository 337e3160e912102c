"""Golden files: what they hold, and that equal runs give equal bytes."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import h5py
import numpy as np
import pytest
from graphs import Draft, codes

import npusim
from npusim import golden, models
from npusim.golden.file import is_golden
from npusim.golden.record import graph_hash
from npusim.graph import Accumulator
from npusim.parameters import bind


def two_inputs():
    """a + conv(b), both fed, with an output on the way."""
    draft = Draft(seed=3)
    a, b = draft.input((1, 5, 5, 4)), draft.input((1, 5, 5, 3))
    y = draft.conv2d(b, 4)
    return draft.graph(draft.node("add", (a, y), activation="none"), y)


def recorded(graph=None, seed=0, count=3):
    graph = graph or two_inputs()
    return golden.record(graph, codes(graph, count, seed), threads=1)


@pytest.mark.usefixtures("isa")
def test_record_holds_every_tensor_of_a_run():
    graph = two_inputs()
    inputs = codes(graph, 3)
    run = golden.record(graph, inputs)
    traced = dict(npusim.Session(graph).trace(inputs))
    assert [t.name for t in run.sequence()] == list(traced)
    for tensor in run.sequence():
        assert np.array_equal(tensor.values, traced[tensor.name])
        assert tensor.shape == traced[tensor.name].shape
        assert tensor.sha256 == hashlib.sha256(traced[tensor.name].tobytes()).hexdigest()


def test_constants_are_recorded_by_hash_alone():
    graph = two_inputs()
    run = recorded(graph)
    assert [t.name for t in run.tensors] == [t.name for t in graph.tensors]
    for tensor, source in zip(run.tensors, graph.tensors, strict=True):
        assert (tensor.values is None) == (source.kind == "constant")
        if source.data is not None:
            assert tensor.sha256 == hashlib.sha256(source.data.tobytes()).hexdigest()


def test_parameters_are_those_of_the_kernels_for_the_batch_that_ran():
    graph = two_inputs()
    conv = recorded(graph).nodes[0]
    geometry, r = bind(graph, graph.nodes[0])
    parameters = {name: p.values for name, p in conv.parameters.items()}
    assert np.array_equal(parameters["multiplier"], r.multiplier)
    assert np.array_equal(parameters["shift"], r.shift)
    assert parameters["x_zero_point"] == geometry.x_zero_point
    assert (parameters["n"], geometry.n) == (3, 1)
    assert conv.rounding == "double_rounding"


def test_parameters_are_labelled_derived_or_given():
    graph = two_inputs()
    node = graph.nodes[0]
    r = bind(graph, node)[1]
    given = {"multiplier": r.multiplier, "shift": r.shift + 1}
    nodes = (replace(node, given=given), *graph.nodes[1:])
    origins = {
        name: p.origin
        for name, p in recorded(replace(graph, nodes=nodes)).nodes[0].parameters.items()
    }
    assert {name for name, origin in origins.items() if origin == "given"} == set(given)
    assert {p.origin for n in recorded(graph).nodes for p in n.parameters.values()} == {"derived"}


def test_file_round_trips(tmp_path):
    run = recorded(replace(two_inputs(), accumulator=Accumulator(20, "saturate")))
    golden.save(run, tmp_path / "g.h5")
    loaded = golden.load(tmp_path / "g.h5")
    assert golden.to_bytes(loaded) == golden.to_bytes(run) == (tmp_path / "g.h5").read_bytes()
    assert loaded.accumulator == Accumulator(20, "saturate")
    assert loaded.nodes[1].inputs == run.nodes[1].inputs
    assert is_golden((tmp_path / "g.h5").read_bytes())


def test_equal_runs_give_equal_bytes_and_others_do_not():
    first = golden.to_bytes(recorded())
    assert golden.to_bytes(recorded()) == first
    assert golden.to_bytes(recorded(seed=1)) != first
    assert golden.to_bytes(recorded(count=2)) != first


def test_bytes_depend_on_neither_threads_nor_executor(monkeypatch):
    graph = two_inputs()
    expected = golden.to_bytes(recorded(graph))
    assert golden.to_bytes(golden.record(graph, codes(graph, 3), threads=2)) == expected
    monkeypatch.setenv("NPUSIM_ISA", "numpy")
    assert golden.to_bytes(recorded(graph)) == expected


def test_graph_hash_counts_what_decides_bits_and_nothing_else():
    graph = two_inputs()
    named = replace(graph, name="other", provenance={"file": "elsewhere"})
    stated = replace(graph, accumulator=Accumulator(32, "wrap"))
    assert graph_hash(named) == graph_hash(stated) == graph_hash(graph)
    weights = next(i for i, t in enumerate(graph.tensors) if t.kind == "constant")
    data = graph.tensors[weights].data.copy()
    data.flat[0] ^= 1
    tensors = list(graph.tensors)
    tensors[weights] = replace(tensors[weights], data=data)
    changed = (
        replace(graph, accumulator=Accumulator(24, "wrap")),
        replace(graph, tensors=tuple(tensors)),
        replace(graph, outputs=graph.outputs[::-1]),
    )
    assert len({graph_hash(g) for g in (graph, *changed)}) == 4


def test_file_is_plain_hdf5(tmp_path):
    graph = models.digits_cnn()
    golden.save(recorded(graph, count=1), tmp_path / "g.h5")
    with h5py.File(tmp_path / "g.h5") as file:
        assert file.attrs["format"] == b"npusim golden"
        assert file.attrs["profile"] == b"tflm"
        assert file["versions/npusim"][()] == npusim.__version__.encode()
        stored = {key: text[()].decode() for key, text in file["provenance"].items()}
        assert stored == graph.provenance != {}
        assert file["tensors/000000/values"].shape == (1, 8, 8, 1)
        multiplier = file["nodes/000000/parameters/multiplier"]
        assert (multiplier.dtype, multiplier.attrs["origin"]) == (np.int32, b"derived")


def test_model_file_and_other_files_are_no_golden_file(tmp_path):
    npusim.save(two_inputs(), tmp_path / "m.h5")
    assert not is_golden((tmp_path / "m.h5").read_bytes())
    assert not is_golden(b"")
    assert not is_golden(b"TFL3" * 100)


def test_golden_file_is_no_model(tmp_path):
    golden.save(recorded(), tmp_path / "g.h5")
    with pytest.raises(npusim.ModelError, match="must be 'npusim graph', got another HDF5 file"):
        npusim.load(tmp_path / "g.h5")
