"""CMSIS-NN's own golden outputs: zero differing elements, reference and kernels.

The cases are those of the file, so a case added there is a test added here. Cases of operators or
types that npusim does not have are skipped, each with the reason.
"""

from __future__ import annotations

import h5py
import numpy as np
import pytest
from conformance.cmsis_layers import call, unsupported
from conformance.goldens import parameters, path_of
from kernels import shaped

from npusim import reference

FILE = "cmsis_nn.h5"
EXECUTORS = [pytest.param(reference, id="reference"), pytest.param(shaped, id="kernels")]


def _layers(file: h5py.File) -> list:
    """Every one-operator case; those that cannot run yet are marked."""
    out = []
    for name, group in file.items():
        if group.attrs["operator"] == "network":
            continue
        reason = unsupported(group)
        marks = pytest.mark.skip(reason=f"npusim has no {reason}") if reason else ()
        out.append(pytest.param(name, marks=marks, id=name))
    return out


def _networks(file: h5py.File) -> list:
    return [name for name, group in file.items() if group.attrs["operator"] == "network"]


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("name", parameters(FILE, _layers))
def test_layer_matches_cmsis_nn(name, executor):
    with h5py.File(path_of(FILE), "r") as file:
        group = file[name]
        x = group["input1" if "input1" in group else "input"][...]
        function, arguments = call(group, x)
        expected = group["output_ref"][...]
    actual = getattr(executor, function)(x, *arguments)
    assert actual.dtype == expected.dtype
    assert np.array_equal(actual.reshape(expected.shape), expected)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("name", parameters(FILE, _networks))
def test_network_matches_cmsis_nn(name, executor):
    with h5py.File(path_of(FILE), "r") as file:
        group = file[name]
        x = group["input"][...]
        layers = [group[key] for key in sorted(group) if key.startswith("layer_")]
        assert len(layers) == group.attrs["layers"]
        for layer in layers:
            if layer.attrs["operator"] == "softmax":
                x = x.reshape(layer.attrs["num_rows"], -1)
            function, arguments = call(layer, x)
            x = getattr(executor, function)(x, *arguments)
        expected = group["output_ref"][...]
    assert np.array_equal(x, expected)


def test_supported_operators_all_have_a_case():
    """The file still holds what this suite is meant to prove."""
    if not path_of(FILE).exists():
        pytest.skip(f"{path_of(FILE)} is absent; set NPUSIM_SHARED to the folder of shared data")
    with h5py.File(path_of(FILE), "r") as file:
        found = {g.attrs["operator"] for g in file.values() if unsupported(g) is None}
    expected = {"conv2d", "depthwise_conv", "fully_connected", "average_pool", "max_pool", "add",
                "mul", "pad", "transpose"}  # fmt: skip
    assert found >= expected
