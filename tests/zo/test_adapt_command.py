"""Images without labels: where they come from, and `zo adapt` on them."""

import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest
from PIL import Image

from npusim import models
from zo.data import DataError, in_memory, load, load_unlabelled, to_input
from zo.data.arrays import shipped_digits

MODEL = Path(models.__file__).parent / "digits_cnn.h5"


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def pixels():
    """uint8 (40, 8, 8, 1)."""
    return shipped_digits().images(np.arange(40))


def write_pictures(folder, pixels):
    Path(folder).mkdir(parents=True)
    for i, image in enumerate(pixels):
        Image.fromarray(image[..., 0]).save(Path(folder) / f"{i:02}.png")


@pytest.mark.parametrize("kind", ["folder", "class folders", "zip", "npz", "h5", "labelled npz"])
def test_images_need_no_labels(pixels, kind):
    if kind == "npz":
        np.savez("d.npz", images=pixels)
    elif kind == "labelled npz":
        np.savez("d.npz", images=pixels, labels=np.arange(40))
    elif kind == "h5":
        with h5py.File("d.h5", "w") as file:
            file["images"] = pixels
    elif kind == "class folders":
        write_pictures("d.folder/a", pixels[:30])
        write_pictures("d.folder/b", pixels[30:])
    else:
        write_pictures("d.folder", pixels)
    if kind == "zip":
        with zipfile.ZipFile("d.zip", "w") as archive:
            for path in Path("d.folder").iterdir():
                archive.write(path, path.name)
    source = {"labelled npz": "d.npz"}.get(
        kind, f"d.{kind.split()[-1].replace('folders', 'folder')}"
    )
    found = load_unlabelled(source)
    assert (len(found), found.classes, found.labels.max()) == (40, ("",), 0)
    assert np.array_equal(found.images(), pixels)


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (lambda: Path("d").mkdir(), "must hold a picture (.jpg, .jpeg, .png, .bmp, .tif, .tiff, "
                                    ".webp, .ppm, .pgm), got none"),
        (lambda: np.savez("d", labels=np.arange(3)),
         "must hold arrays called images, got ['labels']"),
    ],
)  # fmt: skip
def test_sources_without_images_are_refused(make, rule):
    make()
    source = next(iter(Path().iterdir()))
    with pytest.raises(DataError) as caught:
        load_unlabelled(source)
    assert str(caught.value) == f"{source}: {rule}"


def test_adapt_takes_unlabelled_images(zo_command, pixels):
    write_pictures("old", pixels)
    np.savez("new.npz", images=pixels // 2)
    code, out, err = zo_command("adapt", MODEL, "--data", "new.npz", "--source", "old",
                                "--output", "a.h5", "--images", 40)  # fmt: skip
    assert (code, err) == (0, "")
    assert out.splitlines()[0].startswith("conv2d_0: ")
    code, out, err = zo_command("adapt", MODEL, "--data", "new.npz", "--source", "old",
                                "--output", "a.h5", "--images", 41)  # fmt: skip
    assert (code, out, err) == (
        2, "", "zo: old: --images must be 40 at most, all there are, got 41\n"
    )  # fmt: skip


def test_adapt_writes_h5_only(zo_command):
    code, _, err = zo_command("adapt", MODEL, "--data", "digits", "--output", "a.tflite")
    assert (code, err) == (
        2,
        "zo adapt: argument --output: must end in .h5, the format it writes, got 'a.tflite'; "
        "try zo adapt --help\n",
    )


@pytest.mark.parametrize(("part", "count"), [("train", 1078), ("validation", 270), ("test", 449)])
def test_digits_have_parts(part, count):
    found = load(f"digits/{part}")
    labels = getattr(models.digits(), part).labels
    assert (found.name, len(found)) == (f"digits/{part}", count)
    assert np.array_equal(found.labels, labels)


def test_evaluate_reads_the_digits_that_the_readme_counts(zo_command):
    code, out, _ = zo_command("evaluate", MODEL, "--data", "digits/test")
    assert code == 0
    assert out.startswith("digits/test, all: accuracy 0.9800 (440 of 449), loss ")


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_images_that_are_not_finite_are_refused(zo_command, wrong):
    images = np.zeros((3, 8, 8, 1), np.float32)
    images[1, 2, 3] = wrong
    np.savez("d.npz", images=images, labels=np.arange(3))
    code, _, err = zo_command("evaluate", MODEL, "--data", "d.npz")
    assert (code, err) == (2, f"zo: d.npz: images must be finite, got {wrong} in image 1\n")


def test_normalisation_of_codes_is_refused(zo_command):
    np.savez("d.npz", images=np.zeros((3, 8, 8, 1), np.int8), labels=np.arange(3))
    code, _, err = zo_command("evaluate", MODEL, "--data", "d.npz", "--mean", 0.5, "--std", 0.5)
    assert (code, err) == (
        2, "zo: d.npz: mean and std must be of uint8 pixels, got int8 images; leave them out\n"
    )  # fmt: skip


def test_images_are_drawn_by_the_seed():
    images = np.arange(30, dtype=np.uint8).reshape(30, 1, 1)
    found = in_memory("set", images, np.zeros(30, np.int64))
    first, second = (found.drawn(10, seed).images().ravel() for seed in (0, 1))
    assert len(set(first.tolist())) == 10
    assert not np.array_equal(first, second)
    assert len(found.drawn(100, 0)) == 30
    assert to_input(found.drawn(3, 0), models.digits_cnn()).images().shape == (3, 8, 8, 1)
