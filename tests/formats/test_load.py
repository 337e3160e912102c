"""`npusim.load` finds the format by content, applies its options, and says what is wrong."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import zipfile

import h5py
import pytest
from formats.models import network
from graphs import Draft

import npusim
import npusim.models
from npusim import ModelError
from npusim.formats import files


@pytest.fixture
def models(tmp_path):
    """The same graph as m.tflite and m.h5."""
    (tmp_path / "m.tflite").write_bytes(network())
    npusim.save(npusim.load(tmp_path / "m.tflite"), tmp_path / "m.h5")
    return tmp_path


def test_format_is_found_by_content(models):
    expected = npusim.load(models / "m.tflite")
    (models / "m.tflite").rename(models / "m.bin")
    (models / "m.h5").rename(models / "m.tflite")
    assert npusim.load(models / "m.bin").tensors == expected.tensors
    assert npusim.load(models / "m.tflite") == expected


def test_path_may_be_text(models):
    assert npusim.load(str(models / "m.h5")) == npusim.load(models / "m.h5")


def test_options_are_applied(models):
    graph = npusim.load(models / "m.h5", profile="tflm", input_size=(7, 8), layout="NHWC")
    assert graph.tensors[graph.inputs[0]].shape == (1, 7, 8, 2)
    assert npusim.load(models / "m.h5", layout="NCHW").layout == "NCHW"


def test_layout_overrides_before_the_size(tmp_path):
    draft = Draft()
    npusim.save(draft.graph(draft.node("relu", (draft.input((1, 2, 5, 6)),))), tmp_path / "m.h5")
    graph = npusim.load(tmp_path / "m.h5", layout="NCHW", input_size=(9, 9))
    assert graph.tensors[0].shape == (1, 2, 9, 9)


def test_size_that_does_not_fit_names_the_file(tmp_path):
    draft = Draft()
    npusim.save(draft.graph(draft.fully_connected(draft.input((1, 4)), 2)), tmp_path / "m.h5")
    with pytest.raises(ModelError) as caught:
        npusim.load(tmp_path / "m.h5", input_size=(9, 9))
    assert str(caught.value) == (
        "m.h5: input_size: graph must have one image input of rank 4, got [(1, 4)]"
    )


def test_wrong_options_are_refused(models):
    with pytest.raises(ValueError, match=r"^profile: must be one of litert-ref, .*, got 'tfl'$"):
        npusim.load(models / "m.h5", profile="tfl")
    with pytest.raises(ValueError, match=r"^layout: must be NHWC or NCHW, got 'HWC'$"):
        npusim.load(models / "m.h5", layout="HWC")


def test_layout_does_not_contradict_the_model(models):
    npusim.save(npusim.load(models / "m.h5", layout="NCHW"), models / "c.h5")
    assert npusim.load(models / "c.h5", layout="NCHW").layout == "NCHW"
    message = "c.h5: layout must be NCHW, as the model says, got NHWC; leave it out"
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        npusim.load(models / "c.h5", layout="NHWC")


def archive() -> bytes:
    """A zip file, as .keras and .npz are."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("config.json", "{}")
    return buffer.getvalue()


def keras() -> bytes:
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        file.attrs["model_config"] = "{}"
    return buffer.getvalue()


CONTENTS = {
    "zeros": (bytes(64), f"must be a .tflite or npusim .h5 file, got content that starts with "
              f"{bytes(8)!r}"),
    "one byte": (b"T", "must be a .tflite or npusim .h5 file, got content that starts with b'T'"),
    "zip": (archive(), "must be a .tflite or npusim .h5 file, got a zip archive "
            "(a .keras model?), which this version does not read"),
    "onnx": (b"\x08\x08\x12\x07pytorch", "must be a .tflite or npusim .h5 file, got what seems an "
             "ONNX model; npusim quantize makes an int8 model of a float one"),
    "keras": (keras(), "/@format: must be 'npusim graph', got a Keras model; npusim quantize "
              "makes it int8"),
    "empty": (b"", f"must have 1..{2**31 - 1} bytes, got 0"),
}  # fmt: skip


@pytest.mark.parametrize("case", CONTENTS)
def test_other_content_is_refused(case, tmp_path, monkeypatch):
    content, expected = CONTENTS[case]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(ModelError) as caught:
        npusim.load("m")
    assert str(caught.value) == f"m: {expected}"


def test_real_onnx_model_is_named(shared):
    path = shared("models/st/mobilenet_v2_0.35_128_tfs_channel_first.onnx")
    with pytest.raises(
        ModelError, match="what seems an ONNX model; npusim quantize makes an int8 model"
    ):
        npusim.load(path)


def test_missing_file_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError) as caught:
        npusim.load("models/m.tflite")
    assert str(caught.value) == "models/m.tflite: must be a model file, got nothing at this path"


def test_folder_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    with pytest.raises(ModelError) as caught:
        npusim.load("models")
    assert str(caught.value) == "models: must be a model file, got a folder"


def test_pipe_is_not_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    with pytest.raises(ModelError) as caught:
        npusim.load("pipe")
    assert str(caught.value) == "pipe: must be a regular file, got a device or pipe"


def test_unreadable_path_is_named():
    with pytest.raises(ModelError, match=r"^m\x00: must be readable, got embedded null byte$"):
        npusim.load("m\0")


def test_failed_read_is_named(tmp_path, monkeypatch):
    def fail(path):
        raise PermissionError(13, "Permission denied", str(path))

    (tmp_path / "m.h5").write_bytes(b"x")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(files.Path, "read_bytes", fail)
    with pytest.raises(ModelError) as caught:
        npusim.load("m.h5")
    assert str(caught.value) == ("m.h5: must be readable, got [Errno 13] Permission denied: 'm.h5'")


def test_huge_file_is_not_read(tmp_path, monkeypatch):
    with open(tmp_path / "m", "wb") as file:
        file.truncate(2**40)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError) as caught:
        npusim.load("m")
    assert str(caught.value) == f"m: must have 1..{2**31 - 1} bytes, got {2**40}"


@pytest.mark.parametrize(
    ("file", "package", "install"),
    [("m.tflite", "tflite", "tflite flatbuffers"), ("m.h5", "h5py", "h5py")],
)
def test_missing_package_is_named(models, monkeypatch, file, package, install):
    for module in [name for name in sys.modules if name.startswith("npusim.formats.")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)  # what Python takes for a missing module
    with pytest.raises(ModelError) as caught:
        npusim.load(models / file)
    assert str(caught.value) == (
        f"{file}: reading it needs the packages {install}, "
        f"got import of {package} halted; None in sys.modules; pip install {install}"
    )


def test_reading_h5_imports_no_tflite(models):
    """Only HDF5 is needed to load, run and train a saved graph."""
    code = (
        "import sys, npusim; npusim.load(sys.argv[1]); "
        "assert not {'tflite', 'flatbuffers', 'rich'} & set(sys.modules), 'imported'"
    )
    subprocess.run([sys.executable, "-c", code, str(models / "m.h5")], check=True)


def test_save_rejects_other_endings_and_other_things(tmp_path):
    graph = Draft().graph()
    path = tmp_path / "m.tflite"
    with pytest.raises(
        ValueError, match=f"^{re.escape(f'{path}: output must be .h5, got .tflite')}$"
    ):
        npusim.save(graph, path)
    message = "graph: must be an npusim.Graph, got Session; of a session, save its snapshot()"
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        npusim.save(npusim.Session(npusim.models.digits_cnn()), tmp_path / "m.h5")
    assert list(tmp_path.iterdir()) == []


def test_save_names_the_path_that_cannot_be_written(tmp_path):
    path = tmp_path / "missing" / "m.h5"
    with pytest.raises(OSError, match=re.escape(str(path))) as caught:
        npusim.save(npusim.models.digits_cnn(), path)
    assert caught.value.filename == str(path)
