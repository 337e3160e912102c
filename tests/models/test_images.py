"""The shipped digits: what UCI says of them, the split, the codes and the shifts."""

import gzip
import hashlib
import zipfile
from importlib.resources import files

import h5py
import numpy as np
import pytest

from npusim import models, quantize
from npusim.models import make_digits
from npusim.models.images import split_keys

SPLIT_SHA256 = "4e743094ef919c2df99a0385bd8ba4df9155b981142d970ab0d097561fc6b695"
COUNTS = [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
"""Images of each digit in the test part, from UCI's optdigits.names."""


@pytest.fixture(scope="module")
def data():
    return models.digits()


def test_digits_hold_what_uci_lists(data):
    labels = np.concatenate([part.labels for part in data])
    images = np.concatenate([part.images for part in data])
    assert np.bincount(labels).tolist() == COUNTS
    assert (images.shape, images.dtype) == ((1797, 8, 8), np.uint8)
    assert (int(images.min()), int(images.max())) == (0, 16)


def test_digits_carry_their_attribution():
    with h5py.File(str(files("npusim.models") / "digits.h5"), "r") as file:
        attributes = dict(file.attrs)
    assert attributes["source"] == "https://doi.org/10.24432/C50P49"
    assert attributes["licence"].startswith("CC BY 4.0")
    assert "Alpaydin" in attributes["creators"]
    assert "Kaynak" in attributes["creators"]


def test_digits_split_is_fixed(data):
    assert [len(part.labels) for part in data] == [1078, 270, 449]
    digest = hashlib.sha256(b"".join(part.images.tobytes() for part in data)).hexdigest()
    assert digest == SPLIT_SHA256
    for part in data:
        assert len(part.images) == len(part.labels)
        assert np.bincount(part.labels).min() >= len(part.labels) // 13


def test_digits_split_is_a_permutation():
    keys = [i * 2654435769 % 2**32 for i in range(1797)]
    assert split_keys(1797).tolist() == keys
    assert len(set(keys)) == 1797


def test_digits_are_the_callers_to_change(data):
    first = models.digits()
    first.test.images[...] = 0
    np.testing.assert_array_equal(models.digits().test.images, data.test.images)


def test_to_int8_matches_quantize(data):
    """Codes made with integers are those of x / 16 under the network's input scale."""
    images = np.arange(17, dtype=np.uint8).repeat(64).reshape(17, 8, 8)
    graph = models.digits_cnn()
    q = graph.tensor("image").quantization
    reals = images[..., np.newaxis] / np.float32(16)
    expected = quantize(reals, q.scale[0], int(q.zero_point[0]), "int8")
    actual = models.to_int8(images)
    assert actual.dtype == np.int8
    np.testing.assert_array_equal(actual, expected)


def test_to_int8_rejects_other_images():
    with pytest.raises(ValueError, match=r"to_int8: images must be uint8 in 0\.\.16, got float"):
        models.to_int8(np.zeros((1, 8, 8)))
    with pytest.raises(ValueError, match=r"got uint8 up to 17; scale them first"):
        models.to_int8(np.full((1, 8, 8), 17, np.uint8))


@pytest.mark.parametrize(("down", "right"), [(0, 1), (1, 0), (1, 1), (-1, 0), (0, -1), (-2, 3)])
def test_moved_matches_naive(data, down, right):
    image = data.test.images[:5]
    expected = np.zeros_like(image)
    for row in range(8):
        for column in range(8):
            if 0 <= row - down < 8 and 0 <= column - right < 8:
                expected[:, row, column] = image[:, row - down, column - right]
    actual = models.moved(image, down, right)
    np.testing.assert_array_equal(actual, expected)


def test_moved_is_one_pixel_to_the_right(data):
    actual = models.moved(data.test.images)
    np.testing.assert_array_equal(actual[:, :, 1:], data.test.images[:, :, :-1])
    assert not actual[:, :, 0].any()


@pytest.mark.parametrize(
    ("shift", "expected"),
    [
        (models.inverted, [16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]),
        (models.low_contrast, [4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7, 8]),
    ],
)
def test_shift_of_every_grey_level(shift, expected):
    levels = np.arange(17, dtype=np.uint8).reshape(1, 1, 17)
    actual = shift(levels)
    assert actual.dtype == np.uint8
    assert actual.ravel().tolist() == expected
    assert levels.ravel().tolist() == list(range(17))


def fake_wheel(path, table):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(make_digits.MEMBER, gzip.compress(table))
    return path


def test_make_digits_rejects_another_table(tmp_path):
    wheel = fake_wheel(tmp_path / "a.whl", b"0,1,2\n")
    with pytest.raises(ValueError, match=r"digits\.csv\.gz must have sha256 09f66e6d"):
        make_digits.read_table(wheel)


def test_make_digits_round_trips(tmp_path, monkeypatch, capsys):
    """The shipped file, written as a table into a wheel, comes back as the same bytes."""
    shipped = files("npusim.models") / "digits.h5"
    with h5py.File(str(shipped), "r") as file:
        images, labels = file["images"][()], file["labels"][()]
    rows = np.column_stack([images.reshape(-1, 64), labels])
    table = "\n".join(",".join(map(str, row)) for row in rows.tolist()).encode()
    wheel = fake_wheel(tmp_path / "a.whl", table)
    with zipfile.ZipFile(wheel) as archive:
        digest = hashlib.sha256(archive.read(make_digits.MEMBER)).hexdigest()
    monkeypatch.setattr(make_digits, "MEMBER_SHA256", digest)
    output = tmp_path / "digits.h5"
    assert make_digits.main([str(wheel), "--output", str(output)]) == 0
    assert output.read_bytes() == shipped.read_bytes()
    assert hashlib.sha256(shipped.read_bytes()).hexdigest() in capsys.readouterr().out
