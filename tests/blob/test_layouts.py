"""Layouts against loops written from their description, and against sizes of compiled networks."""

import re

import numpy as np
import pytest

from npusim.blob import block_diagonal, deep_1x1, known_layouts, plain
from npusim.blob.layouts import PADDING


def weights(shape, seed=0):
    return np.random.default_rng(seed).integers(-128, 128, shape).astype(np.int8)


def deep_bytes(w, kernels, slab, order, outer):
    """The same bytes, by loops."""
    o_count, i_count = w.shape[0], w.shape[-1]
    w = w.reshape(o_count, i_count).tolist()
    firsts = [(o, i) for o in range(0, o_count, kernels) for i in range(0, i_count, slab)]
    if outer == "I":
        firsts = [(o, i) for i in range(0, i_count, slab) for o in range(0, o_count, kernels)]
    out = []
    for first_o, first_i in firsts:
        rows = range(first_o, min(first_o + kernels, o_count))
        columns = range(first_i, min(first_i + slab, i_count))
        if order == "OI":
            out += [w[o][i] for o in rows for i in columns]
        else:
            out += [w[o][i] for i in columns for o in rows]
        while len(out) % 3:
            out.append(0)
    return out


@pytest.mark.parametrize("outer", "OI")
@pytest.mark.parametrize("order", ["OI", "IO"])
@pytest.mark.parametrize(
    "shape", [(16, 1, 1, 32), (5, 1, 1, 128), (33, 300), (1, 1), (20, 1, 1, 7)]
)
def test_deep_1x1_matches_loops(shape, order, outer):
    w = weights(shape)
    expected = deep_bytes(w, 16, 128, order, outer)
    assert deep_1x1(shape, order=order, outer=outer).pack(w).tolist() == expected


@pytest.mark.parametrize(
    ("shape", "size"), [((16, 1, 1, 32), 513), ((128, 1, 1, 256), 32784)], ids=["small", "slabs"]
)
def test_deep_1x1_has_the_size_of_compiled_networks(shape, size):
    """Ranges of weights in two networks that ST's compiler generated."""
    assert len(deep_1x1(shape).places) == size


@pytest.mark.parametrize("multiplier", [1, 2])
@pytest.mark.parametrize("block", [2, 8, 5])
def test_block_diagonal_is_a_convolution_within_blocks(block, multiplier):
    """The dense kernel, applied to the channels of its block, gives the depthwise sums."""
    channels = 10
    w = weights((1, 3, 2, channels * multiplier), 1)
    x = weights((3, 2, channels), 2).astype(np.int64)
    layout = block_diagonal(w.shape, block, multiplier=multiplier)
    dense = layout.pack(w).reshape(channels * multiplier, 3, 2, block).astype(np.int64)
    blocks = np.concatenate([x, np.zeros((3, 2, -channels % block), np.int64)], 2)
    for o in range(channels * multiplier):
        channel = o // multiplier
        first = channel - channel % block
        expected = (x[:, :, channel] * w[0, :, :, o]).sum()
        assert (blocks[:, :, first : first + block] * dense[o]).sum() == expected


def test_plain_turns_axes():
    w = weights((4, 3, 2, 5))
    assert plain(w.shape).pack(w).tolist() == w.ravel().tolist()
    assert plain(w.shape, "HWIO").pack(w).tolist() == w.transpose(1, 2, 3, 0).ravel().tolist()
    w = weights((7, 9))
    assert plain(w.shape, "IO").pack(w).tolist() == w.T.ravel().tolist()


SHAPES = [((6, 3, 3, 4), 0), ((1, 3, 3, 24), 1), ((1, 1, 5, 24), 2), ((40, 1, 1, 200), 0),
          ((10, 64), 0), ((1, 3, 3, 4), 0), ((1, 1), 0)]  # fmt: skip


@pytest.mark.parametrize(("shape", "multiplier"), SHAPES)
def test_every_known_layout_round_trips(shape, multiplier):
    w = weights(shape)
    layouts = list(known_layouts(shape, multiplier))
    assert len({layout.places.tobytes() for layout in layouts}) == len(layouts)
    for layout in layouts:
        packed = layout.pack(w)
        assert np.array_equal(layout.unpack(packed), w)
        assert np.array_equal(packed[layout.addresses()], w)
        used = layout.places[layout.places != PADDING]
        assert sorted(used.tolist()) == list(range(w.size))
        assert (packed[layout.places == PADDING] == 0).all()


def refusal(call):
    with pytest.raises(ValueError) as caught:
        call()
    return str(caught.value)


def test_layouts_reject_what_they_cannot_hold():
    layout = deep_1x1((2, 1, 1, 2))
    name = "deep 1x1, 16 kernels by 128 channels, OI in O"
    wrong = np.zeros((2, 1, 1, 2), np.int16)
    assert refusal(lambda: layout.pack(wrong)) == (
        f"{name}: weights must be int8 (2, 1, 1, 2), got int16 (2, 1, 1, 2)"
    )
    assert refusal(lambda: layout.unpack(np.zeros(5, np.int8))) == (
        f"{name}: bytes must be int8 (6,), got int8 (5,)"
    )
    assert refusal(lambda: layout.unpack(np.arange(6, dtype=np.int8))) == (
        f"{name}: padding must be 0, got 4 in byte 4; the bytes are something else"
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plain((2, 3), "OH"), "plain: order must be of the axes OI, got 'OH'"),
        (lambda: deep_1x1((2, 3, 1, 4)), "deep_1x1: kernel must be 1x1, got 3x1"),
        (
            lambda: deep_1x1((2, 4), order="XY"),
            "deep_1x1: kernels and slab must be 1 or more, order OI or IO and outer O or I, got "
            "16, 128, 'XY' and 'O'",
        ),
        (
            lambda: block_diagonal((2, 3, 3, 4), 8),
            "block_diagonal: weights must be (1, KH, KW, C), got (2, 3, 3, 4)",
        ),
        (
            lambda: block_diagonal((1, 3, 3, 4), 0),
            "block_diagonal: block and multiplier must be 1 or more and order of the axes OHWI, "
            "got 0, 1 and 'OHWI'",
        ),
    ],
)
def test_layouts_reject_bad_arguments(call, message):
    assert re.fullmatch(re.escape(message), refusal(call))
