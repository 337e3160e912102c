"""Coefficients decoded from compiled networks against the rules: equal, layer by layer.

Groups of the file are networks; their members are layers (convolutions, fully connected), adds and
pools, each with the coefficients of the compiled stream beside the scales they came from.
"""

from __future__ import annotations

from collections.abc import Callable

import h5py
import numpy as np
import pytest
from conformance.goldens import parameters, path_of

from npusim.neural_art import derive
from npusim.neural_art.derive import Affine, Scales
from npusim.neural_art.pieces import CHANNELS, split

FILE = "neural_art_layers.h5"
# one channel with s_x * s_w = 8.0e-8 was emitted as 0; the rule gives 5
EMITTED_AS_ZERO = {("mobilenet_v1_025_96/layer_06", 11): 5}


def _having(*attributes: str) -> Callable[[h5py.File], list]:
    """Lists the groups with all of these attributes."""

    def listed(file: h5py.File) -> list:
        names: list[str] = []
        file.visititems(
            lambda name, item: names.append(name) if set(attributes) <= set(item.attrs) else None
        )
        return [pytest.param(name, id=name) for name in names]

    return listed


def layer(name: str) -> tuple[dict, dict]:
    """Attributes and datasets of a group."""
    with h5py.File(path_of(FILE), "r") as file:
        group = file[name]
        data = {key: item[...] for key, item in group.items() if isinstance(item, h5py.Dataset)}
        return {key: value.item() for key, value in group.attrs.items()
                if not isinstance(value, str)}, data  # fmt: skip


def scales_of(attributes: dict, data: dict, outputs: int = 1) -> Scales:
    s_w = data.get("s_w", np.full(outputs, attributes.get("s_w", 0), np.float32))
    bias = data.get("bias", np.zeros(len(s_w), np.int32))
    return Scales(attributes["s_x"], s_w, attributes["s_y"], attributes["zp_x"],
                  attributes["zp_y"], bias)  # fmt: skip


@pytest.mark.parametrize("name", parameters(FILE, _having("f", "s1", "A2")))
def test_three_stage_coefficients_match_the_compilers(name):
    attributes, data = layer(name)
    scales = scales_of(attributes, data)
    f, s0 = derive.fraction_bits(scales.s_y), attributes["s0"]
    largest = scales.s_x * float(scales.s_w.max())
    s1 = derive.largest_shift(float(np.ldexp(largest, f + s0)))
    assert (f, s1) == (attributes["f"], attributes["s1"])
    assert derive.output_coefficient(scales.s_y, f) == attributes["A2"]
    a_c = derive.channel_coefficients(scales, f + s0 + s1)
    emitted = np.atleast_1d(data.get("A_c", attributes.get("A"))).astype(np.int64)
    for channel in np.flatnonzero(emitted != a_c).tolist():
        assert emitted[channel] == 0
        assert EMITTED_AS_ZERO[name, channel] == a_c[channel]


@pytest.mark.parametrize("name", parameters(FILE, _having("f", "s1", "A2")))
def test_offsets_match_the_compilers(name):
    attributes, data = layer(name)
    if "BC_c" not in data:
        pytest.skip(f"{name}: the stream's BC_c was not decoded")
    scales = scales_of(attributes, data)
    if "bias_float" in data:  # the float bias itself: as codes of the scale 1
        scales = scales._replace(s_x=1.0, s_w=data["bias_float"],
                                 bias=np.ones(len(data["bias_float"]), np.int32))  # fmt: skip
    assert derive.offsets(scales).tolist() == data["BC_c"].tolist()


@pytest.mark.parametrize("name", parameters(FILE, _having("f", "s1", "A2")))
def test_default_s0_is_near_the_compilers(name):
    attributes, data = layer(name)
    bound = derive.static_bound(data["sum_w_positive"], data["sum_w_negative"], attributes["zp_x"])
    assert -2 <= attributes["s0"] - derive.default_s0(bound) <= 1


@pytest.mark.parametrize("name", parameters(FILE, _having("n_slabs")))
def test_slabs_match_the_compilers(name):
    attributes, data = layer(name)
    shape = data["w_shape"].tolist()
    dense = len(shape) == 2
    pointwise = dense or (shape[0] > 1 and shape[1:3] == [1, 1])
    slabs = split(shape[-1], CHANNELS if pointwise else shape[-1])
    assert len(slabs) == attributes["n_slabs"]
    assert not pointwise or max(slabs) == attributes["batch_depth"]


@pytest.mark.parametrize("name", parameters(FILE, _having("A", "s0", "s2", "inputs")))
def test_two_stage_coefficients_match_the_compilers(name):
    attributes, data = layer(name)
    real = derive.whole_factor(scales_of(attributes, data), attributes["s0"])
    s2 = derive.largest_shift(real)
    assert (derive.coefficient(real, s2), s2) == (attributes["A"], attributes["s2"])


@pytest.mark.parametrize("name", parameters(FILE, _having("mulval", "pool_shift")))
def test_mean_coefficients_match_the_compilers(name):
    attributes, _ = layer(name)
    x, y = (Affine(attributes[f"s_{k}"], attributes[f"zp_{k}"]) for k in "xy")
    k, q = derive.pool_shift(attributes["n"]), derive.mean_shift(x, y)
    assert (k - 8, (1 << k) // attributes["n"]) == (attributes["pool_shift"], attributes["mulval"])
    assert q == attributes["res_shift"]
    assert derive.coefficient(x.scale / y.scale, q) == attributes["A"]
    assert derive.mean_offset(x, y, q) == attributes["C32"]


def _pools(file: h5py.File) -> list:
    """(group, index) of global averages whose scales are not known."""
    groups = [name for name in file if {"mulval", "outshift"} <= set(file[name])]
    return [
        pytest.param((name, k), id=f"{name}-{k}")
        for name in groups
        for k in range(len(file[name]["n"]))
    ]


@pytest.mark.parametrize("case", parameters(FILE, _pools))
def test_pool_factors_match_the_compilers(case):
    """mulval and its shift follow from the cells, A and its shift are normal, and there are zero
    points that give C."""
    name, index = case
    _, data = layer(name)
    p = {key: int(values[index]) for key, values in data.items()}
    k = derive.pool_shift(p["n"])
    assert (k - 8, (1 << k) // p["n"]) == (p["outshift"], p["mulval"])
    assert 2**14 <= p["A"] < 2**15
    q, lowest, highest = p["res_shift"], p["A"] - 0.5, p["A"] + 0.5
    codes = np.arange(-128, 128)
    ends = [codes[None, :] * 2.0**q - a * codes[:, None] for a in (lowest, highest)]
    assert np.any((np.minimum(*ends) - 1 < p["C32"]) & (p["C32"] < np.maximum(*ends) + 1))


def _adds(file: h5py.File) -> list:
    groups = [f"{name}/adds" for name in file if "adds" in file[name]]
    return [
        pytest.param((group, k), id=f"{group}-{k}")
        for group in groups
        for k in range(len(file[group]["A"]))
    ]


@pytest.mark.parametrize("case", parameters(FILE, _adds))
def test_add_coefficients_match_the_compilers(case):
    group, index = case
    _, data = layer(group)
    p = {key: values[index].item() for key, values in data.items() if values.dtype.kind in "if"}
    a, b, y = (Affine(p[f"s_{k}"], p[f"zp_{k}"]) for k in "aby")
    k = [derive.largest_shift(operand.scale / y.scale) for operand in (a, b)]
    shift, zero = min(k), derive.add_zero(a, b, y)
    c_shift = derive.offset_shift(zero, shift)
    factors = [derive.coefficient(o.scale / y.scale, n) for o, n in zip((a, b), k, strict=True)]
    assert factors == [p["A"], p["B"]]
    assert [n - shift for n in k] == [p["ax_shift"], p["by_shift"]]
    assert (shift, c_shift) == (p["shift_o"], p["c_shift"])
    assert derive.coefficient(zero, shift - c_shift) == p["C"]
