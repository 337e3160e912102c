"""What `zo.train` takes: data sets, parts of the shipped digits, pairs of arrays."""

from dataclasses import replace

import numpy as np
import pytest
from training_tasks import head_task

import zo
from npusim import Session, models
from zo.data import DataError, as_dataset, in_memory

GRAPH = models.digits_cnn()
CHOSEN = {"epochs": 1, "batch": 32, "seed": 3}


def trained(train, validation):
    session = Session(GRAPH, trainable=["head"], threads=1)
    return zo.train(session, train, validation, scheduler=zo.Constant(2), **CHOSEN)


def test_every_form_of_the_digits_trains_the_same():
    digits = models.digits()
    parts = [part._replace(images=part.images[:96], labels=part.labels[:96]) for part in digits[:2]]
    codes = [(models.to_int8(part.images), part.labels) for part in parts]
    pixels = [(np.minimum(part.images.astype(int) * 16, 255).astype(np.uint8), part.labels)
              for part in parts]  # fmt: skip
    real = [((x.astype(np.float32) + 128) / 256, labels) for x, labels in codes]
    sets = [in_memory("set", x, labels) for x, labels in codes]
    expected, *others = (trained(*form).graph for form in (parts, codes, pixels, real, sets))
    assert all(other == expected for other in others)


def test_inputs_that_are_no_pictures_are_taken():
    task = head_task(seed=1)
    flat = [replace(t, shape=(1, 24)) if t.name == "x" else t for t in task.graph.tensors]
    graph = replace(task.graph, tensors=tuple(flat))
    x, labels = task.train.images()[:, 0, 0], task.train.labels
    found = as_dataset((x, labels), graph, "train")
    assert np.array_equal(found.images(), x)
    assert np.array_equal(found.labels, labels)
    with pytest.raises(DataError) as caught:
        as_dataset((x[:, :5], labels), graph, "train")
    assert str(caught.value) == (
        "train: inputs must be int8 (N, 24) for this network, got int8 (48, 5)"
    )
    with pytest.raises(DataError) as caught:
        as_dataset((x, labels[:5]), graph, "train")
    assert str(caught.value) == "train: labels must be 48 integers, one an input, got int64 (5,)"


@pytest.mark.parametrize("wrong", [np.zeros((4, 8, 8, 1), np.int8), None, ("a", "b")])
def test_what_is_no_pair_is_refused(wrong):
    with pytest.raises(TypeError) as caught:
        trained(wrong, np.zeros(4, np.int64))
    assert str(caught.value) == (
        "train: must be a Dataset or a pair of arrays (images, labels), got "
        f"{type(wrong).__name__}; call train(session, (images, labels), (images, labels))"
    )


def test_pairs_that_do_not_fit_name_their_part():
    digits = models.digits()
    with pytest.raises(DataError) as caught:
        trained(digits.train, (models.to_int8(digits.test.images), digits.test.labels[:7]))
    assert str(caught.value) == (
        "validation: labels must be 449 integers, one an image, got uint8 (7,)"
    )
