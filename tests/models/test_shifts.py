"""Shifts of images and weights: elements against Python integers, and what chance depends on."""

import numpy as np
import pytest

from npusim import models
from npusim.models.shifts import GAINS

PICTURES = np.random.default_rng(7).integers(0, 256, (3, 5, 6, 3), np.uint8)
INKS = np.random.default_rng(8).integers(0, 17, (3, 8, 8), np.uint8)


@pytest.mark.parametrize(("images", "peak"), [(PICTURES, 255), (INKS, 16)])
def test_shifts_match_python_integers(images, peak):
    height, width = images.shape[1:3]
    channels = images.shape[3:]
    functions = {
        "blurred": models.blurred(images),
        "channel_gain": models.channel_gain(images, peak),
        "dead_column": models.dead_column(images),
        "shaded": models.shaded(images),
        "inverted": models.inverted(images, peak),
        "low_contrast": models.low_contrast(images, peak),
    }
    before = images.tolist()
    for index in np.ndindex(images.shape):
        n, row, column, *channel = index
        x = int(images[index])

        def at(dy, dx, n=n, row=row, column=column, channel=tuple(channel)):
            y = min(max(row + dy, 0), height - 1)
            return int(images[(n, y, min(max(column + dx, 0), width - 1), *channel)])

        total = sum((2 - abs(dy)) * (2 - abs(dx)) * at(dy, dx)
                    for dy in (-1, 0, 1) for dx in (-1, 0, 1))  # fmt: skip
        gain = GAINS[channel[0]] if channels else 5
        expected = {
            "blurred": (total + 8) // 16,
            "channel_gain": min(x * gain // 8, peak),
            "dead_column": 0 if column == width // 2 else x,
            "shaded": x * (4 * width - 3 * column) // (4 * width),
            "inverted": peak - x,
            "low_contrast": peak // 4 + x // 4,
        }
        assert {name: int(y[index]) for name, y in functions.items()} == expected
    assert images.tolist() == before
    assert all(y.dtype == np.uint8 and y.shape == images.shape for y in functions.values())


def test_moved_pictures_keep_their_channels():
    moved = models.moved(PICTURES)
    assert np.array_equal(moved[:, :, 1:], PICTURES[:, :, :-1])
    assert not moved[:, :, 0].any()


def test_noise_is_a_function_of_seed_and_place():
    grey = np.full((200, 8, 8), 8, np.uint8)
    noisy = models.noisy(grey)
    assert np.array_equal(models.noisy(grey[:3]), noisy[:3])
    chosen = np.array([150, 7])
    assert np.array_equal(models.noisy(grey[chosen], numbers=chosen), noisy[chosen])
    assert not np.array_equal(noisy[0], noisy[1])
    assert not np.array_equal(models.noisy(grey, seed=1), noisy)
    values, counts = np.unique(noisy, return_counts=True)
    assert values.tolist() == list(range(4, 13))
    assert counts.min() > 0.9 * noisy.size / 9
    # NumPy's generator is frozen; these are its words
    assert noisy[0, 0].tolist() == [9, 9, 4, 7, 7, 7, 9, 4]


def test_noise_stays_between_nothing_and_the_peak():
    noisy = models.noisy(np.concatenate([np.zeros_like(PICTURES), PICTURES | 255]), 255)
    assert noisy[:3].min() == 0
    assert noisy[3:].max() == 255
    assert noisy[:3].max() <= 63
    assert noisy[3:].min() >= 192


@pytest.mark.parametrize(("per_cent", "count"), [(0, 0), (1, 3), (5, 11), (100, 216)])
def test_one_bit_of_so_many_weights_is_turned(per_cent, count):
    weights = np.arange(216, dtype=np.uint8).view(np.int8).reshape(24, 3, 3, 1)
    before = weights.copy()
    turned = models.bit_flipped(weights, per_cent, seed=3)
    apart = (turned ^ weights).view(np.uint8)
    assert np.array_equal(weights, before)
    assert np.unpackbits(apart).sum() == np.count_nonzero(apart) == count
    few = models.bit_flipped(weights, min(per_cent, 1), seed=3) ^ weights
    assert np.array_equal(apart.view(np.int8)[few != 0], few[few != 0])


def test_bits_of_wider_weights_are_refused():
    with pytest.raises(TypeError) as caught:
        models.bit_flipped(np.zeros(3, np.int32), 1)
    assert str(caught.value) == "bit_flipped: weights must be int8, got int32"
