"""Profiles: what each promises, and what an unknown name says."""

import pytest

from npusim.graph import Accumulator
from npusim.kernels.structs import DEQUANTIZE, QUANTIZE, REQUANTIZE
from npusim.profiles import BOUNDS, PROFILES, SCALES, find_profile

OWN = (
    "add_xnnpack",
    "mean_xnnpack",
    "rescale_xnnpack",
    "add_x86",
    "mean_x86",
    "softmax_x86",
    "half_away",
    "exact",
    "fixed_point",
    "neural_art",
)
NAMES = ("tflm", "litert-ref", "litert-x86", "xnnpack", "single-rounding", "onnx", "neural-art")


def test_profiles_are_called_by_their_names():
    assert {name: profile.name for name, profile in PROFILES.items()} == {n: n for n in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_profiles_wrap_at_32_bits_or_sum_exactly_and_have_known_rules(name):
    profile = find_profile(name)
    assert profile.accumulator == Accumulator(64 if name == "neural-art" else 32, "wrap")
    known = {*REQUANTIZE, *QUANTIZE, *DEQUANTIZE, *OWN}
    for a in profile.operators.values():
        assert a.rule in known
        assert a.rest in known or (a.rest, a.block) == ("", 1)
        assert a.scale in SCALES
        assert a.bounds in BOUNDS


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("tflm", ("double_rounding",) * 5),
        ("litert-ref", ("double_rounding", "float64_away", *("double_rounding",) * 3)),
        ("litert-x86", (*("double_rounding_up",) * 2, "add_x86", *("double_rounding",) * 2)),
        ("xnnpack", ("float32_even", "float32_even", "add_xnnpack", "float32_even",
                     "mean_xnnpack")),
        ("single-rounding", ("single_rounding",) * 5),
        ("neural-art", (*("neural_art",) * 3, *("double_rounding",) * 2)),
    ],
)  # fmt: skip
def test_profile_names_the_rules_of_its_reference(name, rules):
    operators = find_profile(name).operators
    names = ("conv2d", "fully_connected", "add", "mul", "mean")
    assert tuple(operators[op].rule for op in names) == rules


def test_arithmetic_says_what_happens_behind_the_last_block():
    operators = find_profile("litert-x86").operators
    assert str(operators["depthwise_conv2d"]) == "double_rounding_up:8+double_rounding"
    assert str(operators["conv2d"]) == "double_rounding_up"


def test_unknown_profile_is_refused_with_the_known_ones():
    with pytest.raises(ValueError) as caught:
        find_profile("tflite")
    known = "litert-ref, litert-x86, neural-art, onnx, single-rounding, tflm, xnnpack"
    assert str(caught.value) == f"profile: must be one of {known}, got 'tflite'"
