"""`npusim quantize`: weights and pictures in, an int8 model out, errors told."""

import json
import shutil
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from floats.formats.onnx_files import Builder
from floats.torchvision_files import narrow_mobilenet
from PIL import Image

import npusim
from npusim import cli
from npusim.images import Normalization
from npusim.origin import training

KERAS = Path(__file__).parent / "floats" / "keras"


@pytest.fixture
def quantize(tmp_path, monkeypatch, capsys):
    """Runs the command in a folder with weights.npz, pictures/ and pictures.zip."""
    monkeypatch.chdir(tmp_path)
    np.savez("weights.npz", **narrow_mobilenet())
    (tmp_path / "pictures" / "a").mkdir(parents=True)
    rng = np.random.default_rng(3)
    for i in range(26):
        pixels = rng.integers(0, 256, (20, 30, 3), np.uint8)
        Image.fromarray(pixels).save(tmp_path / "pictures" / "a" / f"{i:02}.png")
    with zipfile.ZipFile("pictures.zip", "w") as archive:
        for file in sorted((tmp_path / "pictures").rglob("*.png")):
            archive.write(file, file.relative_to(tmp_path).as_posix())

    def run(command):
        try:
            code = cli.main(["quantize", *command.split()])
        except SystemExit as error:
            code = error.code
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_stl10_archive_quantizes_as_its_pictures_do(quantize, tmp_path):
    rng = np.random.default_rng(5)
    pictures = rng.integers(0, 256, (26, 96, 96, 3), np.uint8)
    files = {
        "train_X.bin": pictures.transpose(0, 3, 2, 1).tobytes(),
        "train_y.bin": bytes([3] * 26),
    }
    with tarfile.open("stl10.tar.gz", "w:gz") as archive:
        for name, data in files.items():
            (tmp_path / name).write_bytes(data)
            archive.add(name, f"stl10_binary/{name}")
    (tmp_path / "as_files").mkdir()
    for i, picture in enumerate(pictures):
        Image.fromarray(picture).save(tmp_path / "as_files" / f"{i:02}.png")
    written = []
    Path("unlabeled_X.bin").write_bytes(files["train_X.bin"])
    for source in ("as_files", "stl10.tar.gz", "train_X.bin", "unlabeled_X.bin"):
        code, out, err = quantize(f"weights.npz --data {source} --input-size 32 --output m.h5")
        assert (code, err) == (0, ""), source
        written.append((out, npusim.load("m.h5").tensors))
    assert written == [written[0]] * 4


def test_quantize_writes_a_model_that_runs(quantize):
    code, out, err = quantize("weights.npz --data pictures --input-size 32 --output m.h5")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split() == ["node", "op", "SQNR", "dB", "cosine", "own", "dB"]
    assert lines[1].split()[:2] == ["features.0.0", "conv2d"]
    assert lines[-3].startswith("classifier.1: SQNR ")
    assert lines[-2].startswith("half of the noise is made by ")
    assert lines[-1] == ("m.h5: 67 nodes, profile tflm, calibrated on 24 images, measured on 2")
    graph = npusim.load("m.h5")
    assert graph.tensors[graph.inputs[0]].shape == (1, 32, 32, 3)
    assert training(graph).normalization == Normalization(
        (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    )
    assert cli.main(["run", "m.h5", "--input", "pictures/a/00.png"]) == 0


def test_folder_and_archive_give_the_same_model(quantize, tmp_path):
    models = []
    for source in ("pictures", "pictures.zip"):
        code, _, _ = quantize(f"weights.npz --data {source} --input-size 32 --output m.h5")
        assert code == 0
        models.append((tmp_path / "m.h5").read_bytes())
    assert models[0] == models[1]


def test_quantize_takes_arrays_and_tells_json(quantize):
    np.save("x.npy", np.random.default_rng(4).integers(0, 256, (13, 32, 32, 3), np.uint8))
    code, out, err = quantize(
        "weights.npz --data x.npy --input-size 32 --classes 7 --headroom 8 --profile xnnpack "
        "--observer minmax --no-bias-correction --batches 1 --output m.h5 --json"
    )
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert {k: told[k] for k in ("profile", "calibrated_on", "measured_on")} == {
        "profile": "xnnpack", "calibrated_on": 12, "measured_on": 1}  # fmt: skip
    layers = told["layers"]
    assert set(layers[0]) == {"node", "op", "output", "sqnr", "cosine", "own", "hurts"}
    assert layers[-1]["sqnr"] is None  # the empty classifier
    logits = npusim.load("m.h5").tensor("classifier.1/fully_connected")
    assert logits.shape == (1, 7)
    assert logits.quantization.zero_point[0] == 0


def test_mean_and_std_replace_the_networks_own(quantize):
    code, _, _ = quantize(
        "weights.npz --data pictures --input-size 32 --mean 0.5 --std 0.25 --output m.h5"
    )
    assert code == 0
    assert training(npusim.load("m.h5")).normalization == Normalization((0.5,), (0.25,))


@pytest.mark.parametrize("name", ["functional.h5", "network.onnx"])
def test_quantize_takes_whole_networks(quantize, tmp_path, name):
    if name == "functional.h5":
        shutil.copy(KERAS / name, name)
    else:
        builder = Builder((3, 16, 16))
        weight = np.random.default_rng(5).standard_normal((4, 3, 3, 3)).astype(np.float32)
        builder.add("Conv", weight)
        builder.add("Relu")
        builder.add("GlobalAveragePool")
        builder.add("Flatten")
        builder.save(tmp_path / name)
    code, out, err = quantize(f"{name} --data pictures --output m.h5")
    assert (code, err) == (0, "")
    assert out.splitlines()[-1].endswith("calibrated on 24 images, measured on 2")
    graph = npusim.load("m.h5")
    assert graph.tensors[graph.inputs[0]].shape == (1, 16, 16, 3)
    assert training(graph).normalization == Normalization((0.0,), (1.0,))
    code, _, _ = quantize(f"{name} --data pictures --input-size 20x24 --output m.h5")
    assert code == 0
    assert npusim.load("m.h5").tensors[0].shape == (1, 20, 24, 3)


def test_classes_of_a_whole_network_are_its_own(quantize):
    shutil.copy(KERAS / "functional.h5", "k.h5")
    code, out, err = quantize("k.h5 --data pictures --classes 3 --output m.h5")
    assert (code, out) == (2, "")
    assert err == (
        "npusim: --classes: must be left out for a file that holds a whole network, got 3\n"
    )


REFUSED = {
    "weights.npz --data pictures --output m.tflite": ("m.tflite: output must be .h5, got .tflite"),
    "weights.npz --data pictures --output no/m.h5": (
        "no/m.h5: output must lie in a folder that exists, got no"
    ),
    "weights.npz --data pictures --headroom 0.5 --output m.h5": (
        "--headroom: must be 1 or more, got 0.5"
    ),
    "weights.npz --data pictures --mean 0.5 --output m.h5": (
        "--mean and --std: must be given together, got one of them"
    ),
    "weights.npz --data empty --output m.h5": (
        "empty: must hold a picture (.jpg, .jpeg, .png, .bmp, .tif, .tiff, .webp, .ppm, .pgm), "
        "got none"
    ),
    "weights.npz --data damaged.zip --output m.h5": (
        "damaged.zip: must be a whole zip archive, got File is not a zip file; download it again"
    ),
    "none.npz --data pictures --output m.h5": "none.npz: no such file or directory",
}


@pytest.mark.parametrize("command", REFUSED)
def test_quantize_refuses(quantize, tmp_path, command):
    (tmp_path / "empty").mkdir()
    (tmp_path / "damaged.zip").write_bytes(b"PK\x03\x04 cut")
    code, out, err = quantize(command)
    assert (code, out) == (2, "")
    assert err == f"npusim: {REFUSED[command]}\n"
