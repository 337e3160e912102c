"""Float layers against slow twins, and their gradients against differences of their values."""

import numpy as np
import pytest

from npusim.models.float_layers import (
    conv,
    conv_gradient,
    cross_entropy,
    depthwise,
    depthwise_gradient,
)
from npusim.models.float_network import (
    DIGITS,
    SMALL,
    Parameters,
    forward,
    gradient,
    initialise,
)

SEED = 20261130


def naive_conv(x, w, bias, stride):
    """One visible loop nest; SAME padding puts the odd cell after."""
    (n, h, width, _), (o, kh, kw, _) = x.shape, w.shape
    oh, ow = -(-h // stride), -(-width // stride)
    top = max((oh - 1) * stride + kh - h, 0) // 2
    left = max((ow - 1) * stride + kw - width, 0) // 2
    y = np.zeros((n, oh, ow, o)) + bias
    for i, j, r, s in np.ndindex(oh, ow, kh, kw):
        row, column = i * stride + r - top, j * stride + s - left
        if 0 <= row < h and 0 <= column < width:
            y[:, i, j] += x[:, row, column] @ w[:, r, s].T
    return y


def draw(*shapes):
    random = np.random.RandomState(SEED)
    return [random.standard_normal(shape) for shape in shapes]


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("kernel", [1, 3])
def test_conv_matches_naive(stride, kernel):
    x, w, bias = draw((2, 8, 7, 3), (4, kernel, kernel, 3), (4,))
    np.testing.assert_allclose(conv(x, w, bias, stride), naive_conv(x, w, bias, stride), atol=1e-12)


@pytest.mark.parametrize("stride", [1, 2])
def test_depthwise_matches_naive(stride):
    x, w, bias = draw((2, 8, 7, 3), (1, 3, 3, 3), (3,))
    spread = np.zeros((3, 3, 3, 3))
    for c in range(3):
        spread[c, :, :, c] = w[0, :, :, c]
    expected = naive_conv(x, spread, bias, stride)
    np.testing.assert_allclose(depthwise(x, w, bias, stride), expected, atol=1e-12)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize(
    ("operator", "slope", "shape"),
    [(conv, conv_gradient, (4, 3, 3, 3)), (depthwise, depthwise_gradient, (1, 3, 3, 3))],
)
def test_gradient_matches_differences(operator, slope, shape, stride):
    """Layers are linear in each argument, so a difference is the derivative up to rounding."""
    x, w, bias = draw((2, 8, 7, 3), shape, (shape[0] if operator is conv else 3,))
    y = operator(x, w, bias, stride)
    (dy,) = draw(y.shape)
    for argument, actual in enumerate(slope(x, w, stride, dy)):
        arguments = [x, w, bias]
        direction = np.random.RandomState(argument).standard_normal(actual.shape)
        arguments[argument] = arguments[argument] + direction
        expected = ((operator(*arguments, stride) - y) * dy).sum()
        np.testing.assert_allclose((actual * direction).sum(), expected, rtol=1e-10)


def test_cross_entropy_gradient_matches_differences():
    (logits,) = draw((5, DIGITS.classes))
    labels = np.array([0, 9, 3, 3, 7])
    loss, slopes = cross_entropy(logits, labels)
    shares = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    np.testing.assert_allclose(loss, -np.log(shares[np.arange(5), labels]).mean(), rtol=1e-12)
    step = 1e-6
    for row, column in np.ndindex(logits.shape):
        moved = logits.copy()
        moved[row, column] += step
        difference = (cross_entropy(moved, labels)[0] - loss) / step
        np.testing.assert_allclose(slopes[row, column], difference, atol=1e-6)


@pytest.mark.parametrize("net", [DIGITS, SMALL], ids=lambda net: net.name)
def test_network_gradient_matches_differences(net):
    """Biases are not zero, since a sum that is exactly zero has no derivative behind a relu."""
    p = initialise(np.random.RandomState(SEED), net)
    for bias in p.biases.values():
        bias += np.random.RandomState(len(bias)).standard_normal(bias.shape)
    (x,) = draw((4, *net.image))
    labels = np.array([1, 5, 0, 9])
    _, slopes = gradient(p, x, labels, net)
    step = 1e-7  # so small that no relu turns on the way
    for part, slope in zip(p._fields, slopes, strict=True):
        for name, values in getattr(p, part).items():
            direction = np.random.RandomState(1).standard_normal(values.shape)
            losses = []
            for move in (step, -step):
                moved = Parameters(*({**group} for group in p))
                getattr(moved, part)[name] = values + move * direction
                losses.append(cross_entropy(forward(moved, x, net)[2], labels)[0])
            expected = (losses[0] - losses[1]) / (2 * step)
            np.testing.assert_allclose((slope[name] * direction).sum(), expected, rtol=1e-6)
