"""Data sets: what each loader reads, how parts are drawn, and what each says when it cannot."""

import io
import sys
import tarfile
import zipfile

import h5py
import numpy as np
import pytest
from PIL import Image

from npusim import Graph, Quantization, Tensor
from npusim.models.images import digits, to_int8
from zo.data import DataError, Dataset, Normalization, in_memory, load, split, to_input


def picture(colour, size=(4, 3), mode="RGB", form="PNG"):
    """Bytes of a picture of one colour, `size` = (width, height)."""
    data = io.BytesIO()
    Image.new(mode, size, colour).save(data, form)
    return data.getvalue()


def archive(path, members):
    with zipfile.ZipFile(path, "w") as file:
        for name, data in members.items():
            file.writestr(name, data)
    return path


def image_graph(shape=(1, 4, 4, 3), dtype="int8", scale=0.02, zero_point=-14, layout="NHWC"):
    """A graph that hands its image input through."""
    q = Quantization(np.float32(scale), np.int64(zero_point))
    return Graph("g", (Tensor("x", shape, dtype, "input", q),), (), (0,), (0,), layout=layout)


CLASSES = {
    "set/forest/b.png": picture((0, 255, 0)),
    "set/forest/a.png": picture((0, 128, 0)),
    "set/sea/c.png": picture((0, 0, 255)),
    "set/readme.txt": b"not a picture",
}


def test_zip_matches_folder(tmp_path):
    with zipfile.ZipFile(archive(tmp_path / "set.zip", CLASSES)) as file:
        file.extractall(tmp_path)
    zipped, folder = load(tmp_path / "set.zip"), load(tmp_path / "set")
    assert zipped.classes == folder.classes == ("forest", "sea")
    assert zipped.labels.tolist() == folder.labels.tolist() == [0, 0, 1]
    assert np.array_equal(zipped.images(), folder.images())
    assert zipped.images().shape == (3, 3, 4, 3)
    assert zipped.images()[:, 0, 0].tolist() == [[0, 128, 0], [0, 255, 0], [0, 0, 255]]


def test_zip_decodes_only_what_is_asked(tmp_path):
    broken = {**CLASSES, "set/sea/d.jpg": b"no picture"}
    data = load(archive(tmp_path / "set.zip", broken))
    assert data.images(np.array([0, 2])).shape == (2, 3, 4, 3)
    with pytest.raises(ValueError, match=r"set/sea/d\.jpg: must decode as a picture, got"):
        data.images()


def test_held_images_are_decoded_once(monkeypatch):
    calls = []

    def frame(row):
        calls.append(row)
        return np.full((2, 2, 1), row, np.uint8)

    data = Dataset("a", frame, np.arange(4), tuple("abcd"))
    held = data.held()
    assert np.array_equal(held.images(), data.images())
    before = len(calls)
    held.take(np.array([2, 1])).images()
    assert len(calls) == before
    monkeypatch.setattr("zo.data.dataset.MAX_HELD_BYTES", 15)
    assert data.held() is data


def test_zip_rejects_truncation(tmp_path):
    path = archive(tmp_path / "set.zip", CLASSES)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(DataError, match=r"set\.zip: must be a whole zip archive, got .*; download"):
        load(path)


def test_zip_rejects_damaged_member(tmp_path):
    path = archive(tmp_path / "set.zip", CLASSES)
    data = bytearray(path.read_bytes())
    data[60] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"set/forest/b\.png: must unpack whole, got"):
        load(path).images()


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_zip_rejects_damage_in_every_compression(tmp_path, compression):
    path = tmp_path / "set.zip"
    pixels = np.random.default_rng(0).integers(0, 256, (40, 40, 3), np.uint8)
    data = io.BytesIO()
    Image.fromarray(pixels).save(data, "BMP")
    with zipfile.ZipFile(path, "w", compression) as file:
        file.writestr("set/forest/b.bmp", data.getvalue())
    whole = path.read_bytes()
    for place in range(60, len(whole) - 200, 97):
        damaged = bytearray(whole)
        damaged[place : place + 8] = b"\xff" * 8
        path.write_bytes(damaged)
        with pytest.raises(DataError, match=r"set/forest/b\.bmp: must unpack whole, got"):
            load(path).images()


@pytest.mark.parametrize("compression", ["gz", "bz2", "xz"])
def test_stl10_survives_damage_in_every_compression(tmp_path, compression):
    path = tmp_path / "stl10.tar"
    _, x, y = stl10_files()
    with tarfile.open(path, f"w:{compression}") as file:
        for name, data in (("train_X.bin", x), ("train_y.bin", y)):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))
    whole, refused = path.read_bytes(), []
    for place in range(20, len(whole) - 60, 999):
        damaged = bytearray(whole)
        damaged[place : place + 8] = b"\xff" * 8
        path.write_bytes(damaged)
        try:  # checksums lie at the end of gzip and bzip2 streams, which is not always read
            load(path)
        except DataError as error:
            refused.append(str(error))
    assert refused
    assert all("stl10.tar: must " in message for message in refused)


def test_npz_rejects_damage(tmp_path):
    path = tmp_path / "set.npz"
    images = np.random.default_rng(0).integers(0, 256, (9, 20, 20), np.uint8)
    np.savez_compressed(path, images=images, labels=np.arange(9))
    whole = path.read_bytes()
    for place in range(60, len(whole) - 300, 97):
        damaged = bytearray(whole)
        damaged[place : place + 8] = b"\xff" * 8
        path.write_bytes(damaged)
        with pytest.raises(DataError, match=r"set\.npz: must be a NumPy archive of plain arrays"):
            load(path)


@pytest.mark.parametrize("kind", ["folder", "zip"])
def test_empty_class_is_rejected(tmp_path, kind):
    root = tmp_path / "set"
    (root / "forest").mkdir(parents=True)
    (root / "sea").mkdir()
    (root / "forest" / "a.png").write_bytes(picture((1, 2, 3)))
    if kind == "zip":
        with zipfile.ZipFile(tmp_path / "set.zip", "w") as file:
            for path in sorted(root.rglob("*")):
                file.write(path, path.relative_to(tmp_path))
        root = tmp_path / "set.zip"
    with pytest.raises(DataError, match=r"/sea: must hold a picture \(\.jpg.*\), got none; remove"):
        load(root)


def test_folder_without_classes_is_rejected(tmp_path):
    (tmp_path / "a.png").write_bytes(picture((1, 2, 3)))
    with pytest.raises(DataError, match="must hold a folder of pictures per class, got none"):
        load(tmp_path)


def test_pictures_of_two_sizes_are_rejected(tmp_path):
    members = {"a/x.png": picture((1, 2, 3)), "b/y.png": picture((1, 2, 3), (5, 5))}
    data = load(archive(tmp_path / "set.zip", members))
    with pytest.raises(DataError, match=r"must have one shape, got \(3, 4, 3\) and \(5, 5, 3\)"):
        data.images()
    assert to_input(data, image_graph()).images().shape == (2, 4, 4, 3)


def test_missing_pillow_names_the_extra(tmp_path, monkeypatch):
    path = archive(tmp_path / "set.zip", CLASSES)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r'need Pillow.*pip install "npusim\[images\]"'):
        load(path).images()


def stl10_files():
    """Two images as STL-10 stores them: colour, column, row; and their labels 10 and 1."""
    rng = np.random.default_rng(3)
    images = rng.integers(0, 256, (2, 96, 96, 3), np.uint8)
    return images, images.transpose(0, 3, 2, 1).tobytes(), bytes([10, 1])


def test_stl10_archive_matches_binary(tmp_path):
    expected, x, y = stl10_files()
    with tarfile.open(tmp_path / "stl10.tar.gz", "w:gz") as file:
        for name, data in (("train_y.bin", y), ("unlabeled_X.bin", b"abc"), ("train_X.bin", x)):
            info = tarfile.TarInfo(f"stl10_binary/{name}")
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))
    (tmp_path / "train_X.bin").write_bytes(x)
    (tmp_path / "train_y.bin").write_bytes(y)
    for source in ("stl10.tar.gz", "train_X.bin"):
        data = load(tmp_path / source)
        assert np.array_equal(data.images(), expected)
        assert [data.classes[i] for i in data.labels] == ["truck", "airplane"]


def test_stl10_rejects_truncation(tmp_path):
    _, x, y = stl10_files()
    (tmp_path / "train_X.bin").write_bytes(x[:-1])
    with pytest.raises(DataError, match=r"must have train_y\.bin beside it, got no such file"):
        load(tmp_path / "train_X.bin")
    (tmp_path / "train_y.bin").write_bytes(y)
    with pytest.raises(DataError, match="images must be 27648 bytes each, got 55295 bytes"):
        load(tmp_path / "train_X.bin")
    (tmp_path / "train_X.bin").write_bytes(x)
    (tmp_path / "train_y.bin").write_bytes(y[:-1])
    with pytest.raises(DataError, match="must hold a label for each of 2 images, got 1"):
        load(tmp_path / "train_X.bin")
    (tmp_path / "broken.tar.gz").write_bytes(b"\x1f\x8b" + b"\0" * 50)
    with pytest.raises(DataError, match="must be a whole tar archive"):
        load(tmp_path / "broken.tar.gz")


@pytest.mark.parametrize("suffix", ["npz", "h5"])
def test_arrays_round_trip(tmp_path, suffix):
    images = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    labels = np.array([1, 0], np.uint8)
    path = tmp_path / f"set.{suffix}"
    if suffix == "npz":
        np.savez(path, images=images, labels=labels)
    else:
        with h5py.File(path, "w") as file:
            file["images"], file["labels"] = images, labels
    data = load(path)
    assert np.array_equal(data.images(), images[..., None])
    assert data.labels.tolist() == [1, 0]
    assert data.classes == ("0", "1")


def test_npz_rejects_pickles(tmp_path):
    np.savez(tmp_path / "set.npz", images=np.array([object()]), labels=np.zeros(1, np.uint8))
    with pytest.raises(DataError, match="must be a NumPy archive of plain arrays, got Object"):
        load(tmp_path / "set.npz")


def test_h5_rejects_links_out_of_the_file(tmp_path):
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["images"] = np.zeros((1, 2, 2, 3), np.uint8)
    with h5py.File(tmp_path / "set.h5", "w") as file:
        file["images"] = h5py.ExternalLink("other.h5", "/images")
        file["labels"] = np.zeros(1, np.uint8)
    with pytest.raises(DataError, match="images: must be an array stored in the file itself"):
        load(tmp_path / "set.h5")


def test_arrays_reject_wrong_shapes(tmp_path):
    images = np.zeros((2, 3, 3, 1), np.uint8)
    with pytest.raises(DataError, match=r"labels must be 2 integers, one an image, got int64 \(3,"):
        in_memory("a", images, np.zeros(3, np.int64))
    with pytest.raises(DataError, match=r"images must be uint8.*got float64"):
        in_memory("a", images.astype(np.float64), np.zeros(2, np.int64))
    with pytest.raises(DataError, match=r"labels must be 0\.\.1 \(2 classes\), got 0\.\.2"):
        in_memory("a", images, np.array([0, 2]), ("x", "y"))
    np.savez(tmp_path / "set.npz", pictures=images)
    with pytest.raises(DataError, match=r"must hold arrays called images and labels, got \['pict"):
        load(tmp_path / "set.npz")


def test_load_rejects_other_kinds(tmp_path):
    with pytest.raises(DataError, match="got no such file or folder"):
        load(tmp_path / "missing.zip")
    (tmp_path / "set.txt").write_text("hello")
    with pytest.raises(DataError, match="got a file that starts b'hello'"):
        load(tmp_path / "set.txt")


def test_split_is_reproducible_and_disjoint():
    rows = np.arange(100, dtype=np.uint8)
    data = in_memory("a", rows.reshape(100, 1, 1, 1), rows % 10)
    train, validation = split(data, (70, 20), seed=5)
    again = split(data, (70, 20), seed=5)[0]
    other = split(data, (70, 20), seed=6)[0]
    chosen = [part.images().reshape(-1).tolist() for part in (train, validation, again, other)]
    assert chosen[0] == chosen[2]
    assert chosen[0] != chosen[3]
    assert not set(chosen[0]) & set(chosen[1])
    assert len(set(chosen[0] + chosen[1])) == 90
    assert (train.labels == np.array(chosen[0]) % 10).all()


def test_split_rejects_more_than_there_is():
    data = in_memory("a", np.zeros((5, 1, 1, 1), np.uint8), np.zeros(5, np.int64))
    with pytest.raises(DataError, match="parts must be positive and hold 5 images at most, got 4 "):
        split(data, (4, 2), seed=0)


def test_default_mapping_is_every_code_in_order():
    pixels = np.arange(256, dtype=np.uint8).reshape(1, 16, 16, 1)
    data = in_memory("a", pixels, np.zeros(1, np.int64))
    signed = to_input(data, image_graph((1, 16, 16, 1))).images()
    unsigned = to_input(data, image_graph((1, 16, 16, 1), "uint8", zero_point=127)).images()
    assert signed.dtype == np.int8
    assert (signed.reshape(-1) == np.arange(-128, 128)).all()
    assert (unsigned == pixels).all()


def test_shipped_digits_match_the_networks_codes():
    graph = image_graph((1, 8, 8, 1), scale=1 / 256, zero_point=-128)
    data = load("digits")
    assert np.array_equal(to_input(data, graph).images(), to_int8(digits().train.images))


def test_normalization_matches_naive():
    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    rng = np.random.default_rng(1)
    pixels = rng.integers(0, 256, (3, 4, 4, 3), np.uint8)
    data = in_memory("a", pixels, np.zeros(3, np.int64))
    graph = image_graph(scale=0.018631115555763245)
    actual = to_input(data, graph, Normalization(mean, std)).images()
    real = ((pixels / 255 - mean) / std).astype(np.float32) / graph.tensors[0].quantization.scale
    away = np.sign(real) * np.floor(np.abs(real.astype(np.float64)) + 0.5)
    assert np.array_equal(actual, np.clip(away - 14, -128, 127))


def test_normalization_rejects_wrong_lengths():
    data = in_memory("a", np.zeros((1, 4, 4, 3), np.uint8), np.zeros(1, np.int64))
    with pytest.raises(ValueError, match="mean must be one number or 3, one a channel, got 2"):
        to_input(data, image_graph(), Normalization((0.5, 0.5), (0.5,)))
    with pytest.raises(ValueError, match=r"std must be above 0, got \(0\.0,\)"):
        to_input(data, image_graph(), Normalization((0.5,), (0.0,)))


def test_channel_order_follows_the_graph():
    pixels = np.random.default_rng(2).integers(0, 256, (2, 4, 4, 3), np.uint8)
    data = in_memory("a", pixels, np.zeros(2, np.int64))
    last = to_input(data, image_graph()).images()
    first = to_input(data, image_graph((1, 3, 4, 4), layout="NCHW")).images()
    assert np.array_equal(first, last.transpose(0, 3, 1, 2))


def test_resizing_matches_pillow():
    pixels = np.random.default_rng(4).integers(0, 256, (1, 9, 7, 3), np.uint8)
    data = in_memory("a", pixels, np.zeros(1, np.int64))
    actual = to_input(data, image_graph((1, 5, 6, 3), "uint8")).images()[0]
    expected = Image.fromarray(pixels[0]).resize((6, 5), Image.Resampling.BILINEAR)
    assert np.array_equal(actual, np.asarray(expected))


def test_grey_and_colour_meet_the_networks_channels():
    grey = in_memory("a", np.full((1, 4, 4, 1), 7, np.uint8), np.zeros(1, np.int64))
    assert (to_input(grey, image_graph(dtype="uint8")).images() == 7).all()
    colour = in_memory("a", np.full((1, 4, 4, 3), 9, np.uint8), np.zeros(1, np.int64))
    actual = to_input(colour, image_graph((1, 4, 4, 1), "uint8")).images()
    assert actual.shape == (1, 4, 4, 1)
    assert (actual == 9).all()


def test_codes_pass_as_they_are():
    codes = np.arange(-24, 24, dtype=np.int8).reshape(1, 4, 4, 3)
    data = in_memory("a", codes, np.zeros(1, np.int64))
    assert np.array_equal(to_input(data, image_graph()).images(), codes)
    with pytest.raises(DataError, match=r"images must be \(5, 5, 3\) for this network, got \(4, 4"):
        to_input(data, image_graph((1, 5, 5, 3))).images()
    with pytest.raises(DataError, match="codes must be uint8 for this network, got int8"):
        to_input(data, image_graph(dtype="uint8")).images()


def test_eurosat_opens(shared):
    data = load(shared("data/EuroSAT_RGB.zip"))
    assert len(data) == 27000
    assert len(data.classes) == 10
    assert data.images(np.array([0, 26999])).shape == (2, 64, 64, 3)


def test_stl10_opens(shared):
    data = load(shared("data/stl10_binary_1000.tar.gz"))
    assert np.bincount(data.labels).tolist() == [100] * 10
    assert data.images(np.array([0])).shape == (1, 96, 96, 3)
