"""Weights in .npz, .safetensors and .h5 files: the same network, bit for bit."""

import h5py
import numpy as np
import pytest
import safetensors.numpy
from floats.torchvision_files import folded_file, narrow_mobilenet, old_name

from npusim import ModelError, models


def write_h5(path, arrays):
    with h5py.File(path, "w") as file:
        for name, values in arrays.items():
            file[name] = values


def write_grouped(path, arrays):
    write_h5(path, {name.replace(".", "/"): values for name, values in arrays.items()})


WRITERS = {
    "w.npz": lambda path, arrays: np.savez(path, **arrays),
    "w.safetensors": lambda path, arrays: safetensors.numpy.save_file(arrays, path),
    "w.h5": write_h5,
    "grouped.h5": write_grouped,
}


@pytest.mark.parametrize("folded", [False, True], ids=["norms", "folded"])
@pytest.mark.parametrize("old", [False, True], ids=["new", "old"])
@pytest.mark.parametrize("name", WRITERS)
def test_every_file_gives_the_same_network(tmp_path, name, old, folded):
    arrays = narrow_mobilenet()
    arrays = folded_file(arrays) if folded else arrays
    expected = models.from_weights(arrays, (32, 32))
    written = {old_name(k): np.ascontiguousarray(v) for k, v in arrays.items()} if old else arrays
    WRITERS[name](tmp_path / name, {k: np.ascontiguousarray(v) for k, v in written.items()})
    assert models.from_weights(tmp_path / name, (32, 32)) == expected


def test_half_precision_is_widened(tmp_path):
    arrays = {k: v.astype(np.float16) for k, v in narrow_mobilenet().items() if v.ndim}
    safetensors.numpy.save_file(arrays, tmp_path / "w.safetensors")
    wide = {k: v.astype(np.float32) for k, v in arrays.items()}
    assert models.from_weights(tmp_path / "w.safetensors") == models.from_weights(wide)


def refusal(path):
    with pytest.raises(ModelError) as caught:
        models.from_weights(path)
    return str(caught.value)


def test_refuses_other_files(tmp_path):
    (tmp_path / "w.pt").write_bytes(b"\x80\x02 a pickle")
    assert refusal(tmp_path / "w.pt") == (
        "w.pt: must be a .npz, .safetensors or .h5 of arrays, got content that starts with "
        "b'\\x80\\x02 a pic'; save a state dict with numpy.savez"
    )


def test_refuses_damaged_safetensors(tmp_path):
    safetensors.numpy.save_file(narrow_mobilenet(), tmp_path / "w.safetensors")
    data = (tmp_path / "w.safetensors").read_bytes()
    (tmp_path / "w.safetensors").write_bytes(data[:-100])
    assert refusal(tmp_path / "w.safetensors").startswith(
        "w.safetensors: must be a .safetensors file of types that NumPy has, got "
    )


def test_refuses_links_out_of_an_h5(tmp_path):
    write_h5(tmp_path / "other.h5", narrow_mobilenet())
    with h5py.File(tmp_path / "w.h5", "w") as file:
        file["features.0.0.weight"] = h5py.ExternalLink("other.h5", "features.0.0.weight")
    assert refusal(tmp_path / "w.h5") == (
        "w.h5: /features.0.0.weight: must be an object of this file, got a ExternalLink; the file "
        "is damaged, or was not written by npusim"
    )


def test_refuses_text_among_the_arrays(tmp_path):
    write_h5(tmp_path / "w.h5", {"note": "hello"})
    assert refusal(tmp_path / "w.h5").startswith("w.h5: /note: ")


def test_refuses_groups_without_end(tmp_path):
    with h5py.File(tmp_path / "w.h5", "w") as file:
        file.create_group("a")["b"] = file["/"]
    assert refusal(tmp_path / "w.h5").endswith(
        ": groups must be at most 8 deep; the file is damaged, or was not written by npusim"
    )
