"""add, mul and rescale by every rule: kernel and reference, bit for bit."""

import numpy as np
import pytest
from kernels import drawn
from kernels.twins import assert_kernel_matches_reference

from npusim import strides
from npusim.kernels.structs import Rounding

ALL_CODES = np.arange(-128, 128, dtype=np.int8)
DRAW = {"add": drawn.add, "mul": drawn.mul, "add_xnnpack": drawn.add_xnnpack}
SHAPES = [
    ((1,), (1,)),
    ((), ()),
    ((3, 4), ()),
    ((), (5, 2)),
    ((2, 3, 4, 5), (2, 3, 4, 5)),
    ((2, 3, 4, 5), (5,)),
    ((5,), (2, 3, 4, 5)),
    ((2, 3, 4, 5), (2, 1, 1, 5)),
    ((2, 3, 4, 1), (2, 3, 4, 5)),
    ((1, 3, 1, 5), (2, 1, 4, 1)),
    ((2, 1, 3, 1, 2, 1), (1, 2, 1, 3, 1, 2)),
    ((7, 1), (1, 9)),
]


@pytest.mark.parametrize("op", DRAW)
@pytest.mark.parametrize("seed", range(30))
def test_pair_kernel_matches_reference_on_every_pair_of_codes(op, seed):
    structs = DRAW[op](np.random.default_rng(seed))
    a, b = np.repeat(ALL_CODES, 256), np.tile(ALL_CODES, 256)
    assert_kernel_matches_reference(op, a, b, *structs)


@pytest.mark.parametrize("op", DRAW)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_pair_kernel_broadcasts_as_reference(op, shapes):
    rng = np.random.default_rng(len(str(shapes)))
    *first, tail = DRAW[op](rng)
    structs = (*first, tail._replace(act_min=-128, act_max=127))
    assert_kernel_matches_reference(op, *(drawn.codes(rng, s) for s in shapes), *structs)


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("rule", [Rounding(5, 8, 0), Rounding(2, 16, 0)], ids=str)
def test_add_in_blocks_counts_them_from_the_start_of_every_row(rule, shapes):
    rng = np.random.default_rng(len(str(shapes)))
    wide = [tuple(5 * d if d > 1 else d for d in s) for s in shapes]
    row = int(strides.broadcast(*wide, np.broadcast_shapes(*wide)).shape[-1])
    p, r = drawn.add(rng)
    left, right = (q._replace(rounding=rule) for q in (p.a, p.b))
    p = p._replace(row=row, a=left, b=right)
    assert_kernel_matches_reference("add", *(drawn.codes(rng, s) for s in wide), p, r)


@pytest.mark.parametrize("x_dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("y_dtype", [np.int8, np.uint8, np.int16, np.int32])
def test_rescale_of_every_code_matches_reference(x_dtype, y_dtype):
    rng = np.random.default_rng(3)
    x = np.arange(256).astype(x_dtype)
    for _ in range(50):
        structs = drawn.rescale(rng, x_dtype, y_dtype)
        assert_kernel_matches_reference("rescale", x, *structs, y_dtype)


@pytest.mark.parametrize("x_dtype", [np.int16, np.int32])
@pytest.mark.parametrize("y_dtype", [np.int8, np.uint8, np.int16, np.int32])
def test_rescale_of_wide_codes_matches_reference(x_dtype, y_dtype):
    rng = np.random.default_rng(4)
    for _ in range(20):
        x = drawn.codes(rng, (4096,), x_dtype)
        structs = drawn.rescale(rng, x_dtype, y_dtype)
        assert_kernel_matches_reference("rescale", x, *structs, y_dtype)


@pytest.mark.parametrize("size", [1, 7, 8, 15, 16, 17, 511, 512, 513, 1040])
def test_rescale_in_blocks_matches_reference_at_any_size(size):
    rng = np.random.default_rng(size)
    for _ in range(20):
        p, r = drawn.rescale(rng, np.int8, np.int8)
        r = r._replace(rounding=Rounding(1, 16, 0))
        assert_kernel_matches_reference("rescale", drawn.codes(rng, (size,)), p, r, np.int8)


def test_rescale_xnnpack_of_every_code_matches_reference():
    rng = np.random.default_rng(5)
    for _ in range(100):
        assert_kernel_matches_reference("rescale_xnnpack", ALL_CODES, *drawn.rescale_xnnpack(rng))
