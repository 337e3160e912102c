"""pad and transpose: kernel and reference, for elements of one, two and four bytes."""

import itertools

import numpy as np
import pytest
from kernels import drawn
from kernels.twins import assert_kernel_matches_reference

TYPES = [np.int8, np.int16, np.int32]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 1, 5), (3, 4, 2, 5), (2, 3, 1, 4, 2)])
def test_transpose_kernel_matches_reference_for_every_permutation(shape, dtype):
    x = drawn.codes(np.random.default_rng(1), shape, dtype)
    for permutation in itertools.permutations(range(len(shape))):
        assert_kernel_matches_reference("transpose", x, permutation)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("seed", range(20))
def test_pad_kernel_matches_reference(seed, dtype):
    rng = np.random.default_rng(seed)
    shape = tuple(int(v) for v in rng.integers(1, 6, rng.integers(1, 7)))
    chosen = rng.integers(0, 4, (len(shape), 2)) * rng.integers(0, 2, (len(shape), 2))
    padding = tuple((int(before), int(after)) for before, after in chosen)
    assert_kernel_matches_reference("pad", drawn.codes(rng, shape, dtype), padding, -77)
