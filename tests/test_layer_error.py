"""Float-against-int8 errors: against their definition, and a layer that hurts is named."""

import numpy as np
import pytest
from rich.console import Console

import npusim
from npusim import calibrate, floats
from npusim.layer_error import layer_errors, made_real
from npusim.layer_error_page import page

UNSCALED = calibrate.Options(equalize=False)
CONV = {"stride": (1, 1), "dilation": (1, 1), "padding": "valid", "activation": "relu"}


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(1).random((40, 4, 4, 3)).astype(np.float32) + 5


@pytest.fixture(scope="module")
def network():
    """The second layer subtracts what its inputs share: rounding of its input is all that stays."""
    rng = np.random.default_rng(2)
    draft = floats.Draft("network", (1, 4, 4, 3))
    y = draft.add("conv2d", "even", (0,), {"weight": rng.random((4, 1, 1, 3), np.float32)}, CONV)
    w = np.float32([[1, -1, 0, 0], [0, 1, -1, 0]]).reshape(2, 1, 1, 4)
    means = floats.run(draft.graph(y), np.full((1, 4, 4, 3), 5.5))[0, 0, 0]
    bias = (-w.reshape(2, 4) @ means).astype(np.float32)
    y = draft.add("conv2d", "difference", (y,), {"weight": w * 50, "bias": bias * 50}, CONV)
    y = draft.add("mean", "features", (y,), {}, {"axes": (1, 2), "keep_dims": False})
    return draft.graph(y)


@pytest.fixture(scope="module")
def int8(network, images):
    return calibrate.quantize_graph(network, images, UNSCALED)


def test_errors_are_those_of_the_running_network(network, int8, images):
    """Recomputed from whole traces, of both networks, in one piece."""
    expected = dict(floats.trace(network, images))
    actual = dict(npusim.Session(int8, threads=1).trace(images))
    for e in layer_errors(network, int8, images, threads=1):
        f = expected[e.output].astype(np.float64)
        y = made_real(actual[e.output], int8.tensor(e.output)).astype(np.float64)
        assert e.sqnr == pytest.approx(10 * np.log10((f**2).sum() / ((f - y) ** 2).sum()))
        assert e.cosine == pytest.approx((f * y).sum() / np.sqrt((f**2).sum() * (y**2).sum()))


def test_own_error_of_the_first_layer_is_all_of_its_error(network, images):
    """Nothing came before it but the input's rounding; requantisation and bias differ by a code."""
    options = UNSCALED._replace(correct_biases=False)
    int8 = calibrate.quantize_graph(network, images, options)
    first = layer_errors(network, int8, images, threads=1)[0]
    assert first.own == pytest.approx(first.sqnr, abs=1.0)


def test_the_layer_that_hurts_is_named(network, int8, images):
    errors = {e.node: e for e in layer_errors(network, int8, images, threads=1)}
    assert [name for name, e in errors.items() if e.hurts] == ["difference"]
    assert errors["difference"].own < errors["even"].own - 10
    assert errors["features"].own > errors["features"].sqnr + 10  # what it has is inherited


def test_progress_counts_images(network, int8, images):
    calls = []
    layer_errors(network, int8, images, 1, lambda done, total: calls.append((done, total)))
    assert calls == [(32, 40), (40, 40)]


def test_page_names_what_hurts(network, int8, images):
    errors = layer_errors(network, int8, images, threads=1)
    lines = page(errors, Console(width=80)).splitlines()
    assert lines[0].split() == ["node", "op", "SQNR", "dB", "cosine", "own", "dB"]
    assert [line.split()[0] for line in lines[1:4]] == ["even", "difference", "features"]
    assert lines[2].split()[-1] == "hurts"
    assert lines[-1] == "half of the noise is made by difference"
    assert lines[-2].startswith("features: SQNR ")


def test_page_fits_narrow_terminals(network, int8, images):
    lines = page(layer_errors(network, int8, images, threads=1), Console(width=40)).splitlines()
    assert max(map(len, lines[:4])) <= 40
    assert lines[4].startswith("left out to fit the terminal: op")


def test_dead_outputs_have_no_error(images):
    """A head of zeros: nothing to compare, and no division by zero."""
    draft = floats.Draft("net", (1, 4, 4, 3))
    y = draft.add("mean", "features", (0,), {}, {"axes": (1, 2), "keep_dims": False})
    y = draft.add("fully_connected", "head", (y,), {"weight": np.zeros((2, 3), np.float32)},
                  {"activation": "none", "keep_dims": False})  # fmt: skip
    graph = draft.graph(y)
    errors = layer_errors(
        graph, calibrate.quantize_graph(graph, images, UNSCALED), images, threads=1
    )
    assert errors[1][3:] == (None, None, None, False)
    told = page(errors, Console(width=80)).splitlines()
    assert told[-2].startswith("features: SQNR ")
    assert page(errors[1:], Console(width=80)).splitlines()[-1] == "float and int8 are equal"
