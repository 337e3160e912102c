"""C against CMSIS-NN's golden outputs: every case whose operator npusim has, on every target."""

from functools import cache

import h5py
import numpy as np
import pytest
from conformance.cmsis_layers import call, unsupported
from conformance.goldens import path_of

from c.agreement import differences
from c.npu_cases import shaped, weighted
from npusim import reference

FILE = "cmsis_nn.h5"
WEIGHTED = ("conv2d", "depthwise_conv2d", "fully_connected")


def case_of(function, x, arguments, y):
    """The call of C for a layer, of which y must come."""
    if function in WEIGHTED:
        case = weighted.call(function, (x, *arguments))
    else:
        case = shaped.FUNCTIONS[function](x, *arguments)
    (expected,) = [value for path, value in case.expected.items() if path == "y"]
    assert expected.size == y.size
    return case._replace(expected={**case.expected, "y": shaped.as_bytes(y)})


def layers(file):
    """(function, x, arguments, y) of every case of one operator."""
    for group in file.values():
        if group.attrs["operator"] != "network" and unsupported(group) is None:
            x = group["input1" if "input1" in group else "input"][...]
            yield (call(group, x), x, group["output_ref"][...])


def layers_of_networks(file):
    """The same of every layer of a network; only the last one's y is in the file."""
    for group in file.values():
        if group.attrs["operator"] == "network":
            x = group["input"][...]
            for name in sorted(key for key in group if key.startswith("layer_")):
                if group[name].attrs["operator"] == "softmax":
                    x = x.reshape(group[name].attrs["num_rows"], -1)
                layer = call(group[name], x)
                y = getattr(reference, layer.function)(x, *layer.arguments)
                yield layer, x, y
                x = y
            assert np.array_equal(x, group["output_ref"][...])


@cache
def cases():
    path = path_of(FILE)
    if not path.exists():
        pytest.skip(f"{path} is absent; set NPUSIM_SHARED to the folder of shared data")
    with h5py.File(path, "r") as file:
        found = [*layers(file), *layers_of_networks(file)]
    return [case_of(layer.function, x, layer.arguments, y) for layer, x, y in found]


def test_c_matches_cmsis_nn(npusim_code, npusim_runner):
    assert differences(npusim_code.declarations, npusim_runner, cases()) == []


def test_every_operator_of_the_file_is_there():
    called = {case.function.removeprefix("npu_") for case in cases()}
    assert called == {*WEIGHTED, "average_pool2d", "max_pool2d", "add", "mul", "pad", "transpose",
                      "softmax"}  # fmt: skip
