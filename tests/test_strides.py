"""Merged walks visit what NumPy visits, in as few dimensions as possible."""

import itertools

import numpy as np
import pytest

from npusim import strides


def _visit(walk, operand):
    """Flat positions of an operand in the order of a walk."""
    indices = itertools.product(*(range(n) for n in walk.shape))
    return [int(np.dot(index, walk.strides[operand])) for index in indices]


@pytest.mark.parametrize(
    ("a", "b"),
    [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1, 4), (1, 3, 1)), ((), (2, 2)), ((1,), (1, 1)),
     ((2, 1, 3, 1, 2, 1), (1, 2, 1, 3, 1, 2))],
)  # fmt: skip
def test_broadcast_visits_what_numpy_visits(a, b):
    y = np.broadcast_shapes(a, b)
    walk = strides.broadcast(a, b, y)
    for operand, shape in enumerate((a, b)):
        positions = np.arange(np.prod(shape, dtype=int)).reshape(shape)
        assert _visit(walk, operand) == np.broadcast_to(positions, y).ravel().tolist()


@pytest.mark.parametrize("permutation", list(itertools.permutations(range(4))))
def test_transposition_visits_what_numpy_visits(permutation):
    shape = (2, 1, 3, 4)
    positions = np.arange(24).reshape(shape).transpose(permutation)
    assert _visit(strides.transposition(shape, permutation), 0) == positions.ravel().tolist()


@pytest.mark.parametrize("axes", [(0,), (1,), (1, 2), (0, 3), (0, 1, 2, 3)])
def test_reduction_adds_up_what_numpy_adds_up(axes):
    x = np.arange(48).reshape(2, 4, 3, 2)
    expected = x.sum(axes)
    actual = np.zeros(expected.size, int)
    np.add.at(actual, _visit(strides.reduction(x.shape, axes), 0), x.ravel())
    assert actual.tolist() == expected.ravel().tolist()


def test_placement_puts_x_where_numpy_pads_it():
    x, padding = np.arange(1, 13).reshape(3, 2, 2), ((1, 0), (0, 0), (2, 1))
    walk, start = strides.placement(x.shape, padding)
    y = np.zeros((4, 2, 5), int)
    y.reshape(-1)[np.add(_visit(walk, 0), start)] = x.ravel()
    assert np.array_equal(y, np.pad(x, padding))


@pytest.mark.parametrize(
    ("walk", "shape"),
    [
        (strides.broadcast((2, 3, 4), (2, 3, 4), (2, 3, 4)), [24]),
        (strides.broadcast((2, 3, 4), (4,), (2, 3, 4)), [6, 4]),
        (strides.broadcast((2, 3, 4), (), (2, 3, 4)), [24]),
        (strides.broadcast((1, 1), (), (1, 1)), [1]),
        (strides.transposition((1, 5, 6, 7), (0, 3, 1, 2)), [7, 30]),
        (strides.reduction((1, 7, 7, 32), (1, 2)), [49, 32]),
        (strides.placement((1, 5, 5, 3), ((0, 0), (1, 1), (1, 1), (0, 0)))[0], [5, 15]),
    ],
)
def test_dimensions_walked_as_one_are_merged(walk, shape):
    assert walk.shape.tolist() == shape
