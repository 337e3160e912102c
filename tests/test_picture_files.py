"""Pictures of folders and archives: which ones are taken, in which order."""

import io
import zipfile

import numpy as np
import pytest
from PIL import Image

from npusim.picture_files import DataError, spread_pictures


def png(value):
    file = io.BytesIO()
    Image.fromarray(np.full((2, 3, 3), value, np.uint8)).save(file, "PNG")
    return file.getvalue()


@pytest.fixture
def sources(tmp_path):
    """A folder and an archive with the same ten pictures, and files that are none."""
    folder, archive = tmp_path / "pictures", tmp_path / "pictures.zip"
    names = [f"{'ab'[i // 5]}/{i}.png" for i in range(10)]
    with zipfile.ZipFile(archive, "w") as file:
        for i, name in enumerate(names):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(png(i))
            file.writestr(name, png(i))
        for name in ("a/notes.txt", "__MACOSX/a/0.png"):
            file.writestr(name, b"no picture")
    (folder / "a" / "notes.txt").write_text("no picture")
    (folder / ".hidden.png").write_bytes(b"no picture")
    return folder, archive


@pytest.mark.parametrize(
    ("count", "expected"), [(1, [0]), (4, [0, 2, 5, 7]), (10, range(10)), (99, range(10))]
)
def test_pictures_are_spread_over_all(sources, count, expected):
    for source in sources:
        found = spread_pictures(source, count)
        assert [int(p[0, 0, 0]) for p in found] == list(expected)
        assert found[0].shape == (2, 3, 3)


def test_damaged_pictures_are_named(sources):
    folder, _ = sources
    (folder / "a" / "0.png").write_bytes(b"cut")
    with pytest.raises(ValueError) as caught:
        spread_pictures(folder, 2)
    assert str(caught.value).startswith(f"{folder}/a/0.png: must decode as a picture, got ")


def test_missing_pictures_are_refused(tmp_path):
    with pytest.raises(DataError) as caught:
        spread_pictures(tmp_path, 2)
    assert str(caught.value) == (
        f"{tmp_path}: must hold a picture (.jpg, .jpeg, .png, .bmp, .tif, .tiff, .webp, .ppm, "
        ".pgm), got none"
    )
