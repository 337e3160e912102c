"""Words of generated C."""

import numpy as np
import pytest

from npusim import c_syntax


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("digits_cnn", "digits_cnn"),
        ("MobileNet v2 (1.0)", "mobilenet_v2_1_0"),
        ("96x96", "model_96x96"),
        ("int", "model_int"),
        ("main", "model_main"),
        ("_net_", "net"),
        ("...", "model"),
        ("größe", "gr_e"),
    ],
)
def test_identifier_is_a_name_that_c_takes(text, expected):
    assert c_syntax.identifier(text) == expected


def test_identifiers_differ_whatever_the_names():
    names = ["a/b", "a.b", "A_b", "1", "layer_1", ""]
    assert c_syntax.identifiers(names) == [
        "a_b",
        "a_b_2",
        "a_b_3",
        "layer_1",
        "layer_1_2",
        "layer_",
    ]


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, "0"), (-128, "-128"), (-(2**31), "INT32_MIN"), (-(2**63), "INT64_MIN"),
     (0.1, "0x1.999999999999ap-4")],
)  # fmt: skip
def test_literal_is_exact(value, expected):
    assert c_syntax.literal(value) == expected


def test_rows_are_short():
    lines = list(c_syntax.rows(np.full(17, -128, np.int8)))
    assert lines == ["    " + ", ".join(["-128"] * 16) + ",", "    -128,"]
    wide = list(c_syntax.rows(np.full(9, -(2**31) + 1, np.int32)))
    assert [line.count(",") for line in wide] == [8, 1]


def test_initializer_names_fields_and_breaks_lines():
    inner = {"rule": "NPU_AWAY", "block": 1}
    lines = c_syntax.initializer({"n": 1, "scale": "0x1p-3f", "rounding": inner})
    assert lines == ["    .n = 1, .scale = 0x1p-3f, .rounding = {.rule = NPU_AWAY, .block = 1},"]
    many = c_syntax.initializer({f"field_{k}": k for k in range(30)})
    assert len(many) > 1
    assert max(map(len, many)) <= c_syntax.WIDTH


@pytest.mark.parametrize("text", ["a*/b", "/*x", "//*", "*//", "back\\slash\n", "tri??/graph", "é"])
def test_remark_cannot_end_or_open_a_comment(text):
    shown = c_syntax.remark(text)
    assert not any(mark in shown for mark in ("*/", "/*", "\\", "\n", "??"))
    assert shown.isascii()


def test_remark_cuts_long_names():
    shown = c_syntax.remark("model/" * 50)
    assert len(shown) == c_syntax.LONGEST_NAME
    assert shown.endswith("...")


def test_aligned_comments_keep_lines_short():
    lines = list(c_syntax.aligned([("A = 1,", "short"), ("LONGER = 2,", "x" * 200)], "    "))
    assert lines[0] == "    A = 1,      /* short */"
    assert len(lines[1]) == c_syntax.WIDTH
