"""Numbers, places, pictures and gates of a comparison."""

from __future__ import annotations

import struct
import zlib
from dataclasses import replace
from math import isclose, sqrt

import numpy as np
import pytest

from npusim.diff.figures import figures, subtract
from npusim.diff.gate import Limit, excesses, parse_gate
from npusim.diff.heat import DOWN, LARGEST, MIXED, UP, maps, png
from npusim.diff.histogram import histogram
from npusim.diff.places import axes, place
from npusim.diff.report import Judged, Party, Report
from npusim.graph import Quantization

SCALE = Quantization(0.5, 3)


def test_figures_are_those_of_a_small_example():
    expected = np.int8([[3, 5, 7, 9]])
    actual = np.int8([[3, 4, 10, 9]])
    found = figures(expected, actual, SCALE)
    reals = np.array([0, 1, 2, 3.0]), np.array([0, 0.5, 3.5, 3])
    cosine = reals[0] @ reals[1] / sqrt(float(reals[0] @ reals[0]) * float(reals[1] @ reals[1]))
    assert (found.elements, found.differing, found.share) == (4, 2, 0.5)
    assert (found.max_lsb, found.mean_lsb, found.bias) == (3, 2.0, 0.0)
    assert (found.rmse_lsb, found.mae_lsb) == (sqrt(10 / 4), 1.0)
    assert (found.rmse, found.mae) == (0.5 * sqrt(10 / 4), 0.5)
    assert isclose(found.cosine, cosine)


def test_figures_of_equal_tensors_are_nothing():
    codes = np.arange(-128, 128, dtype=np.int8)
    found = figures(codes, codes, SCALE)
    assert (found.differing, found.max_lsb, found.mean_lsb, found.bias) == (0, 0, 0.0, 0.0)
    assert (found.rmse, found.mae, found.cosine) == (0.0, 0.0, 1.0)


def test_figures_do_not_wrap():
    found = figures(np.int8([-128, 127]), np.int8([127, -128]))
    assert (found.max_lsb, found.bias) == (255, 0.0)
    assert figures(np.int8([-128]), np.uint8([255])).max_lsb == 383


def test_cosine_of_zeros_is_none():
    assert figures(np.int8([3, 3]), np.int8([3, 4]), SCALE).cosine is None


def test_real_numbers_have_no_codes():
    found = figures(np.float32([1, 2, np.nan]), np.float32([1, 2.5, np.nan]))
    assert (found.differing, found.max_lsb, found.mean_lsb, found.rmse_lsb) == (1, None, None, None)
    assert (found.bias, found.mae) == (1.0, 0.5 / 3)


def test_infinity_and_nan_differ_and_stay_out_of_means():
    found = figures(np.float32([1, 2, 3]), np.float32([np.inf, np.nan, 4]))
    assert found.differing == 3
    assert (found.rmse, found.mae) == (1.0, 1.0)
    assert subtract(np.float32([np.inf]), np.float32([np.inf])).tolist() == [0.0]


def test_empty_tensors_are_equal():
    found = figures(np.zeros((0, 4), np.int8), np.zeros((0, 4), np.int8))
    assert (found.elements, found.differing, found.share, found.max_lsb) == (0, 0, 0.0, 0)


def placed(difference):
    zeros = np.zeros(difference.shape, np.int64)
    return place(zeros, difference, difference)


def test_place_names_the_worst_element():
    difference = np.zeros((2, 4, 5, 6), np.int64)
    difference[1, 2, 3, 4], difference[0, 0, 0, 0] = -9, 8
    found = placed(difference)
    assert found.worst == {"image": 1, "row": 2, "column": 3, "channel": 4}
    assert (found.expected, found.actual) == (0, -9)
    assert placed(np.zeros((2, 3))) is None


@pytest.mark.parametrize(
    ("touched", "expected"),
    [
        ([3, 17], "2 of 32 channels: 3, 17"),
        (range(10), "10 of 32 channels"),
        (range(32), "all 32 channels"),
        ([5] * 9 + list(range(8)), "channel 5 has 59 %"),
    ],
)
def test_spread_says_which_channels_stand_out(touched, expected):
    difference = np.zeros((1, 9, 9, 32), np.int64)
    for k, channel in enumerate(touched):
        difference[0, k // 9, k % 9, channel] = 1
    (spread,) = (s for s in placed(difference).spreads if s.axis == "channel")
    assert str(spread) == expected
    assert spread.telling == (expected != "all 32 channels")
    assert sum(spread.counts) == len(touched)


@pytest.mark.parametrize(
    ("rank", "expected"),
    [
        (0, ()),
        (1, ("element",)),
        (2, ("image", "channel")),
        (3, ("image", "position", "channel")),
        (4, ("image", "row", "column", "channel")),
        (6, ("image", "axis 1", "axis 2", "axis 3", "axis 4", "channel")),
    ],
)
def test_axes_have_names(rank, expected):
    assert axes(rank) == expected
    difference = np.ones((2,) * rank, np.int64)
    assert tuple(placed(difference).worst) == expected


def test_histogram_counts_every_difference_once():
    difference = np.array([-200, -64, -63, -3, -1, -1, 0, 0, 1, 2, 15, 16, 500])
    bars = {bar.label: bar.number for bar in histogram(difference)}
    assert bars == {"..-64": 2, "-63..-16": 1, "-15..-4": 0, "-3..-2": 1, "-1": 2,
                    "+1": 1, "+2..+3": 1, "+4..+15": 1, "+16..+63": 1, "+64..": 1}  # fmt: skip
    assert sum(bars.values()) == np.count_nonzero(difference)
    assert histogram(difference.astype(float)) == ()


def test_maps_show_rows_and_channels():
    difference = np.zeros((2, 3, 4, 5), np.int64)
    difference[:, 1, 2, 3] = 4
    difference[0, 0, 0, 0] = -2
    image, channels = maps(difference)
    assert image.magnitude.shape == (3, 4)
    assert channels.magnitude.shape == (1, 5)
    assert image.magnitude[1, 2] == 8 / 10
    assert (image.sign[1, 2], image.sign[0, 0], image.sign[2, 3]) == (1, -1, 0)
    assert np.allclose(channels.magnitude, [[2 / 24, 0, 0, 8 / 24, 0]])


@pytest.mark.parametrize("shape", [(1, 200, 300, 3), (2, 1000), (1, 65, 64, 129), (7,), (1, 2, 3)])
def test_maps_keep_the_mean_and_stay_small(shape):
    rng = np.random.default_rng(0)
    difference = rng.integers(-5, 6, shape)
    for picture in maps(difference):
        assert max(picture.magnitude.shape) <= LARGEST
        assert picture.magnitude.max() <= 5
        assert np.abs(picture.sign).max() <= 1
    assert maps(np.ones((1, 1, 1, 1), np.int64)) == ()


def pixels(data):
    """The RGBA pixels of a PNG that `png` wrote."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        (checksum,) = struct.unpack_from(">I", data, at + 8 + length)
        assert checksum == zlib.crc32(kind + body)
        chunks[kind], at = body, at + 12 + length
    width, height, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert rest == [8, 6, 0, 0, 0]
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, -1)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, 4)


def test_picture_shows_sign_as_hue_and_magnitude_as_opacity():
    difference = np.array([[4, -4, 0, 1], [4, -4, 0, -1]])
    (picture,) = maps(difference)
    found = pixels(png(picture))
    assert found.shape == (1, 4, 4)
    assert found[0, :, 3].tolist() == [255, 255, 0, 128]
    assert [tuple(c) for c in found[0, [0, 1, 3], :3].tolist()] == [UP, DOWN, MIXED]


def report(*tensors):
    party = Party("p", "folder", "", "", len(tensors))
    return Report(party, party, "", tensors, (), (), ())


def judged(total, own=None, verdict="departs"):
    return Judged("y", "", "", (1, 4), "int8", "name", "", "", verdict, total=total, own=own)


def off_by(*steps):
    return figures(np.zeros((1, len(steps)), np.int8), np.int8([steps]), SCALE)


@pytest.mark.parametrize(
    ("gate", "stopped"),
    [
        ("max_lsb=1", []),
        ("max_lsb=0", ["y: max_lsb is 1, not 0"]),
        ("max_lsb=1,share=0.25", []),
        ("max_lsb=1,share=0.24", ["y: share is 0.25, not 0.24"]),
        ("total_max_lsb=4", []),
        ("total_max_lsb=3, total_share=0.4", ["y: total_max_lsb is 4, not 3",
                                              "y: total_share is 0.5, not 0.4"]),
        ("cosine=0.9", []),
        ("cosine=1", ["y: cosine is 0.98644, not 1"]),
        ("mae=0.125,rmse=0.25,mean_lsb=1,mae_lsb=0.25,rmse_lsb=0.5,differing=1", []),
    ],
)  # fmt: skip
def test_gate_asks_what_the_model_makes_of_the_other_sides_inputs(gate, stopped):
    own = replace(off_by(0, 0, 0, 1), cosine=0.98644)
    found = excesses(report(judged(off_by(0, 0, 4, 1), own)), parse_gate(gate))
    assert [str(excess) for excess in found] == stopped


def test_gate_takes_the_total_where_nothing_else_is_known():
    limits = parse_gate("max_lsb=3")
    assert len(list(excesses(report(judged(off_by(0, 4))), limits))) == 1
    assert list(excesses(report(judged(off_by(0, 3))), limits)) == []


def test_gate_never_lets_an_unfit_tensor_pass():
    (excess,) = excesses(report(judged(None, verdict="unfit")), parse_gate("share=1"))
    assert str(excess) == "y: share=1 cannot be met"


def test_gate_on_codes_stops_real_numbers_that_differ():
    total = figures(np.float32([1]), np.float32([2]))
    assert [str(e) for e in excesses(report(judged(total)), parse_gate("max_lsb=9"))] == [
        "y: max_lsb=9 cannot be met"
    ]
    equal = figures(np.float32([1]), np.float32([1]))
    assert list(excesses(report(judged(equal)), parse_gate("max_lsb=0,cosine=1"))) == []


@pytest.mark.parametrize(
    "text", ["", "max_lsb", "max_lsb=", "max_lsb=x", "max_lsb=-1", "max_lsb=nan", "lsb=1", "bias=1",
             "share=0.1,", "total=1"],
)  # fmt: skip
def test_gate_that_says_nothing_is_refused(text):
    with pytest.raises(ValueError, match="gate: must be figures with limits from 0, such as"):
        parse_gate(text)


def test_gate_is_read_in_any_spacing():
    assert parse_gate(" max_lsb = 1 , share=0.04") == (Limit("max_lsb", 1), Limit("share", 0.04))
