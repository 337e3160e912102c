"""Profiles: what `tflm` promises, and what an unknown name says."""

import pytest

from npusim.graph import Accumulator
from npusim.kernels.structs import DOUBLE_ROUNDING
from npusim.profiles import PROFILES, RULES, find_profile


def test_tflm_rounds_twice_and_wraps():
    profile = find_profile("tflm")
    assert profile.rule == "double_rounding"
    assert profile.rule_number == DOUBLE_ROUNDING
    assert profile.accumulator == Accumulator(32, "wrap")


def test_profiles_are_called_by_their_names_and_have_known_rules():
    assert {name: profile.name for name, profile in PROFILES.items()} == {n: n for n in PROFILES}
    assert {profile.rule for profile in PROFILES.values()} <= set(RULES)


def test_unknown_profile_lists_those_there_are():
    with pytest.raises(ValueError, match=r"profile: must be one of .*tflm.*, got 'tflite'"):
        find_profile("tflite")


def test_profiles_cannot_be_replaced():
    with pytest.raises(TypeError):
        PROFILES["tflm"] = PROFILES["tflm"]
