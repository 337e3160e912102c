"""Flipped and cropped variants: which ones is a matter of counters, and training takes them."""

import numpy as np
import pytest
from naive import training as naive
from training_tasks import head_task

import zo
from npusim import Session
from zo.data import DataError, augmented, in_memory
from zo.data.augment import variant_rows
from zo.export import Task, export_training
from zo.options import Options, Reuse

SEED = 2**33 + 5


@pytest.fixture
def images():
    """Five images of 6x5, every pixel of another value."""
    pixels = np.arange(5 * 6 * 5 * 2).reshape(5, 6, 5, 2)
    return in_memory("images", (pixels % 251).astype(np.uint8), np.array([0, 1, 2, 0, 1]))


def expected(image, variant, row, crop):
    """The definition, in Python ints and lists."""
    turns, top, left = (
        naive.word(SEED, naive.AUGMENTATION, (0, row, variant), n) for n in range(3)
    )
    rows = image.tolist()
    if turns & 1:
        rows = [line[::-1] for line in rows]
    if turns & 2:
        rows = rows[::-1]
    y, x = ((w * (2 * crop + 1)) >> 32 for w in (top, left))

    def inside(i, n):
        i = abs(i)
        return i if i < n else 2 * (n - 1) - i

    height, width = len(rows), len(rows[0])
    return [[rows[inside(y + i - crop, height)][inside(x + j - crop, width)]
             for j in range(width)] for i in range(height)]  # fmt: skip


@pytest.mark.parametrize("crop", [0, 1, 3])
def test_variants_are_what_their_words_say(images, crop):
    varied = augmented(images, 7, SEED, crop)
    assert (len(varied), varied.originals, varied.variants) == (35, 5, 7)
    assert varied.labels.tolist() == [0, 1, 2, 0, 1] * 7
    for variant in range(7):
        for row in range(5):
            found = varied.frame(variant * 5 + row)
            assert found.tolist() == expected(images.frame(row), variant, row, crop)
    assert len({varied.frame(v * 5).tobytes() for v in range(7)}) >= 3


def test_every_epoch_takes_each_image_once_in_a_variant_of_its_own():
    order = np.random.default_rng(0).permutation(1000)
    found = [variant_rows(order, 8, SEED, epoch) for epoch in range(3)]
    for epoch, rows in enumerate(found):
        assert np.array_equal(rows % 1000, order)
        for image in (0, 1, 5, 999):
            word = naive.word(SEED, naive.AUGMENTATION, (0, 2**32 - 1, epoch), image)
            assert rows[np.flatnonzero(order == image)[0]] // 1000 == (word * 8) >> 32
        counts = np.bincount(rows // 1000, minlength=8)
        assert counts.sum() == 1000
        assert counts.min() > 80  # 125 on average, deviation 10
    assert not np.array_equal(found[0], found[1])
    assert np.array_equal(variant_rows(order, 1, SEED, 0), order)


def test_training_takes_variants_and_the_bank_changes_no_bit(tmp_path):
    """With prefixes kept in a folder, kept in memory, and computed at every step."""
    graph, train, validation = head_task(3)
    varied = augmented(train, 3, seed=1, crop=0)
    results = []
    for reuse in (Reuse(), Reuse(folder=tmp_path), Reuse(folder=tmp_path), Reuse(False, False)):
        session = Session(graph, trainable=["head"])
        options = Options(epochs=3, batch=8, seed=1, reuse=reuse)
        result = zo.train(session, varied, validation, scheduler=zo.Constant(2), options=options)
        results.append((session.weights["head"].tobytes(), result.history[-1].images))
    assert len(set(results)) == 1
    assert results[0][1] == len(train) // 8 * 8
    assert len(list(tmp_path.iterdir())) == 2  # of training and validation


def test_wrong_requests_are_refused(images):
    with pytest.raises(ValueError, match=r"variants: must be 1\.\.1000 of each image, got 0"):
        augmented(images, 0)
    with pytest.raises(DataError, match=r"images: crop must be 0\.\.4 for images of 6x5, got 5"):
        augmented(images, 2, crop=5)
    varied = augmented(images, 2, crop=1)
    with pytest.raises(ValueError, match="must be original images, got variants of them"):
        augmented(varied, 2)
    assert varied.take(np.array([9])).variants == 1


def test_images_that_validate_are_originals():
    graph, train, validation = head_task(3)
    with pytest.raises(ValueError, match="must validate with original images, got variants"):
        zo.train(
            Session(graph, trainable=["head"]), train, augmented(validation, 2, crop=0), batch=8
        )


def test_c_trains_on_originals():
    graph, train, validation = head_task(3)
    task = Task(graph, ["head"], augmented(train, 2, crop=0), validation)
    with pytest.raises(ValueError, match="training images must be originals in C, got augmented"):
        export_training(task, "m", zo.Constant(2), Options(batch=8))
