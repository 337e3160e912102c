"""add, mul and rescale: kernel and reference, bit for bit."""

import numpy as np
import pytest
from kernels import drawn
from kernels.twins import assert_kernel_matches_reference

ALL_CODES = np.arange(-128, 128, dtype=np.int8)
DRAW = {"add": drawn.add, "mul": drawn.mul}
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
@pytest.mark.parametrize("seed", range(20))
def test_pair_kernel_matches_reference_on_every_pair_of_codes(op, seed):
    p = DRAW[op](np.random.default_rng(seed))
    a, b = np.repeat(ALL_CODES, 256), np.tile(ALL_CODES, 256)
    assert_kernel_matches_reference(op, a, b, p)


@pytest.mark.parametrize("op", DRAW)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_pair_kernel_broadcasts_as_reference(op, shapes):
    rng = np.random.default_rng(len(str(shapes)))
    p = DRAW[op](rng)._replace(act_min=-128, act_max=127)
    assert_kernel_matches_reference(op, *(drawn.codes(rng, s) for s in shapes), p)


@pytest.mark.parametrize("x_dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("y_dtype", [np.int8, np.uint8, np.int16, np.int32])
def test_rescale_of_every_code_matches_reference(x_dtype, y_dtype):
    rng = np.random.default_rng(3)
    x = np.arange(256).astype(x_dtype)
    for _ in range(50):
        p = drawn.rescale(rng, x_dtype, y_dtype)
        assert_kernel_matches_reference("rescale", x, p, y_dtype)


@pytest.mark.parametrize("x_dtype", [np.int16, np.int32])
@pytest.mark.parametrize("y_dtype", [np.int8, np.uint8, np.int16, np.int32])
def test_rescale_of_wide_codes_matches_reference(x_dtype, y_dtype):
    rng = np.random.default_rng(4)
    for _ in range(20):
        x = drawn.codes(rng, (4096,), x_dtype)
        p = drawn.rescale(rng, x_dtype, y_dtype)
        assert_kernel_matches_reference("rescale", x, p, y_dtype)
