"""Dumps of TFLite Micro's interpreter: equal to the model, and faults put into them are found."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from oracles import networks, tflm
from oracles.mobile_network import mobile_network

import npusim
from npusim import cli
from npusim.diff import diff, of_golden, open_path
from npusim.golden import record

SEEDS = range(6)


def traced(network, folder: Path, raw: bool) -> tuple[Path, list[Path]]:
    """The model's file, and one dump per tensor, named by its place in the model alone."""
    model = folder / "model.tflite"
    model.write_bytes(network.model)
    dumps = folder / "dumps"
    dumps.mkdir()
    files = []
    for index, values in tflm.trace(network.model, [network.x]).items():
        file = dumps / f"tensor{index}.{'bin' if raw else 'npy'}"
        if raw:
            file.write_bytes(values.tobytes())
        else:
            np.save(file, values)
        files.append(file)
    return model, files


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_dumps_of_tflite_micro_are_equal(seed, raw, tmp_path):
    network = networks.network(seed)
    model, files = traced(network, tmp_path, raw)
    graph = npusim.load(model)
    golden = record(graph, {graph.tensors[graph.inputs[0]].name: network.x})
    report = diff(of_golden("model", golden, graph), open_path(tmp_path / "dumps"))
    assert report.equal
    assert len(report.tensors) == len(files) == len(list(golden.sequence()))


def test_command_finds_a_mobile_network_equal(tmp_path, capsys):
    network = mobile_network(1)
    model, files = traced(network, tmp_path, raw=False)
    code = cli.main(["diff", str(model), str(tmp_path / "dumps"), "--json"])
    facts = json.loads(capsys.readouterr().out)
    assert (code, facts["equal"], facts["first"]) == (0, True, None)
    assert len(facts["tensors"]) == len(files)


@pytest.mark.parametrize("seed", SEEDS)
def test_fault_in_a_dump_of_tflite_micro_is_found(seed, tmp_path):
    """One tensor is written upside down in its last bit; the interpreter computed on rightly."""
    network = networks.network(seed)
    model, files = traced(network, tmp_path, raw=False)
    rng = np.random.default_rng(seed)
    file = files[int(rng.integers(len(files)))]
    values = np.load(file)
    np.save(file, values ^ np.array(1, values.dtype) if values.dtype.kind != "f" else -values - 1)
    graph = npusim.load(model)
    golden = record(graph, {graph.tensors[graph.inputs[0]].name: network.x})
    report = diff(of_golden("model", golden, graph), open_path(tmp_path / "dumps"))
    (departed,) = report.departures
    assert departed.file == file.name
    assert [t.verdict for t in report.tensors if t is not departed] == ["equal"] * (len(files) - 1)
