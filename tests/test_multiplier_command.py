"""`npusim multiplier`: against exact fractions, field cases, what it prints and refuses."""

import json
from fractions import Fraction

import numpy as np
import pytest
from graphs import Draft
from hypothesis import given
from hypothesis import strategies as st
from naive.rounding import quantize_multiplier as naive_multiplier

from npusim import Quantization, Session, cli
from npusim.multiplier_command import OPERATORS, of_factor, of_scales
from npusim.profiles import PROFILES, SCALES

SCALE = st.floats(2.0**-20, 2.0**5, width=32)  # so M is below 2^31


GIVE = "give s_x * s_w / s_y, or the three scales"


@pytest.fixture
def multiplier(capsys):
    """Runs the command in this process: (exit code, standard output, standard error)."""

    def run(*arguments):
        try:
            code = cli.main(["multiplier", *map(str, arguments)])
        except SystemExit as error:
            code = error.code
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@given(st.floats(2.0**-31, 2.0**30))
def test_no_other_multiplier_is_nearer(real):
    form = of_factor(real)
    assert (form.multiplier, form.shift) == naive_multiplier(real)
    step = Fraction(2) ** (form.shift - 31)
    assert abs(form.error) <= step / 2
    assert form.stands_for == form.multiplier * step


@given(SCALE, SCALE, SCALE)
def test_three_scales_are_computed_in_each_way(s_x, s_w, s_y):
    exact = Fraction(s_x) * Fraction(s_w) / Fraction(s_y)
    product = np.float32(s_x) * np.float32(s_w)
    expected = {
        "double": s_x * s_w / s_y,
        "float32_product": float(product) / s_y,
        "float32": float(product / np.float32(s_y)),
    }
    for form in of_scales([s_x, s_w, s_y]):
        assert form.real == expected[form.way]
        assert (form.multiplier, form.shift) == naive_multiplier(expected[form.way])
        assert form.error == form.stands_for - exact


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_every_operator_of_a_profile_computes_in_one_way(profile):
    users = [op for form in of_scales([0.5, 0.25, 0.75], profile) for op in form.users[profile]]
    rules = PROFILES[profile].operators
    expected = {op for op in OPERATORS if op in rules and rules[op].rule != "neural_art"}
    assert sorted(users) == sorted(expected)
    assert {form.way for form in of_scales([1, 1, 1])} == set(SCALES)


@pytest.mark.parametrize("profile", ["tflm", "litert-x86"])
@pytest.mark.parametrize("op", ["conv2d", "fully_connected"])
def test_the_session_computes_with_what_is_printed(profile, op):
    """The scales of case 15, for which the ways give three multipliers."""
    s_x, s_w, s_y = map(np.float32, (0.5416631102561951, 0.003441296052187681, 0.1264280378818512))
    draft = Draft()
    shape = (1, 1, 1, 2) if op == "conv2d" else (1, 2)
    x = draft.input(shape, scale=s_x)
    y = draft.conv2d(x, 1, (1, 1)) if op == "conv2d" else draft.fully_connected(x, 1)
    for index, scale in ((draft.nodes[0].inputs[1], s_w), (y, s_y)):
        old = draft.tensors[index]
        q = Quantization(np.full(1, scale, np.float32), np.zeros(1, np.int64))
        draft.tensors[index] = type(old)(old.name, old.shape, old.dtype, old.kind, q, old.data)
    r = Session(draft.graph(y, profile=profile)).requantization[f"{op}_0"]
    found = [f for f in of_scales([s_x, s_w, s_y], profile) if op in f.users[profile]]
    assert [(int(r.multiplier[0]), int(r.shift[0]))] == [(f.multiplier, f.shift) for f in found]


def test_field_case_15_prints_q31_and_a_signed_shift(multiplier):
    scales = ("0.5416631102561951", "0.003441296052187681", "0.1264280378818512")
    code, out, err = multiplier(*scales, "--profile", "tflm")
    assert (code, err) == (0, "")
    assert out == (
        "computed    in double, by tflm\n"
        "M           0.014743747938904983\n"
        "multiplier  2026365287, 0x78C7E167\n"
        "shift       -6, to the right by 6\n"
        "stands for  0.014743747939064633 = 2026365287 * 2^(-6 - 31)\n"
        "error       1.6e-13, 1.08e-11 of M\n"
    )
    (form,) = of_scales([float(s) for s in scales], "tflm")
    assert round(5523 * form.stands_for) == 81


@pytest.mark.parametrize("real", [1 - 2.0**-33, 1 - 2.0**-32])
def test_field_case_7_halves_a_mantissa_of_2_to_the_31(real, multiplier):
    code, out, _ = multiplier(repr(real))
    lines = out.splitlines()
    assert code == 0
    assert lines[1:4] == ["multiplier  1073741824, 0x40000000", "shift       1, to the left by 1",
                          "stands for  1.0 = 1073741824 * 2^(1 - 31)"]  # fmt: skip


def test_field_case_8_loses_its_multiplier(multiplier):
    code, out, _ = multiplier(2.0**-33)
    assert code == 1
    assert out.splitlines()[1:3] == ["multiplier  0, 0x00000000", "shift       0, no shift"]
    assert out.splitlines()[-1] == (
        "lost        M is below 2^-32: every output becomes the zero point"
    )
    code, out, _ = multiplier(2.0**-32)
    assert code == 0
    assert "shift       -31, to the right by 31" in out


def test_factors_above_one_shift_to_the_left(multiplier):
    code, out, _ = multiplier(3)
    assert code == 0
    assert out == (
        "M           3.0\n"
        "multiplier  1610612736, 0x60000000\n"
        "shift       2, to the left by 2\n"
        "stands for  3.0 = 1610612736 * 2^(2 - 31)\n"
        "error       0, 0 of M\n"
    )


def test_ways_are_shown_with_those_that_use_them(multiplier):
    out = multiplier(0.0235, 0.0071, 0.0512)[1]
    heads = [" ".join(block.split("M  ")[0].split()) for block in out.split("\n\n")]
    assert heads == [
        "computed in double, by tflm, litert-ref (not mul), litert-x86 (not fully_connected, mul), "
        "single-rounding, neural-art (mul)",
        "computed from a float32 product, by litert-x86 (fully_connected)",
        "computed in float32, by litert-ref (mul), litert-x86 (mul), xnnpack, onnx",
    ]
    assert max(map(len, out.splitlines())) <= 80


def test_a_way_that_overflows_hides_no_other(multiplier):
    code, out, err = multiplier(1e30, 1e10, 1e35)
    blocks = [block.splitlines() for block in out.split("\n\n")]
    assert (code, err) == (1, "")
    assert [block[0].split(",")[0] for block in blocks] == [
        "computed    in double", "computed    from a float32 product", "computed    in float32",
    ]  # fmt: skip
    assert "multiplier  1638399958, 0x61A7FFD6" in blocks[0]
    refused = (
        "refused     must be finite and not negative, got inf; use scales closer to each other"
    )
    assert [block[-2:] for block in blocks[1:]] == [["M           inf", refused]] * 2
    forms = json.loads(multiplier(1e30, 1e10, 1e35, "--json")[1])["forms"]
    assert [sorted(form.keys() & {"refused", "real"}) for form in forms] == [
        ["real"], ["refused"], ["refused"],
    ]  # fmt: skip


def test_json(multiplier):
    code, out, _ = multiplier("0.0003715", "--json")
    (form,) = json.loads(out)["forms"]
    assert code == 0
    assert form == {
        "real": 0.0003715,
        "multiplier": 1633874279,
        "shift": -11,
        "hex": "0x6162F167",
        "stands_for": 1633874279 / 2**42,
        "absolute_error": float(Fraction(1633874279, 2**42) - Fraction(0.0003715)),
        "relative_error": float(Fraction(1633874279, 2**42) / Fraction(0.0003715) - 1),
    }
    forms = json.loads(multiplier(0.1, 0.2, 0.3, "--profile", "xnnpack", "--json")[1])["forms"]
    assert [(f["way"], list(f["users"])) for f in forms] == [("float32", ["xnnpack"])]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, 2), "numbers: must be M, or s_x, s_w and s_y, got 2 of them"),
        ((-1,), f"M: must be a number from 0 and below 2^31, got -1.0; {GIVE}"),
        (("nan",), f"M: must be a number from 0 and below 2^31, got nan; {GIVE}"),
        ((2**31,), f"M: must be a number from 0 and below 2^31, got 2147483648.0; {GIVE}"),
        (
            (1e30, 1e10, 1e35, "--profile", "xnnpack"),
            "multiplier: must be finite and not negative, got inf; use scales closer to each other",
        ),
        ((0, 1, 1), "s_x: must be a finite and positive float32, got 0.0"),
        ((1, 1e39, 1), "s_w: must be a finite and positive float32, got 1e+39"),
        ((1, 1, 1e-50), "s_y: must be a finite and positive float32, got 1e-50"),
        (
            (2.0**10, 2.0**10, 2.0**-20),
            "multiplier: must be below 2^31, got 1099511627776.0; raise the output scale",
        ),
        ((1, "--profile", "tflm"), "--profile: must come with three scales, got M itself"),
    ],
)
def test_what_has_no_form_is_refused(arguments, message, multiplier):
    assert multiplier(*arguments) == (2, "", f"npusim: {message}\n")
