"""Files of arrays by name: .npz, .safetensors, and .h5 whose datasets are called as the arrays.

Nothing is unpickled. In an .h5, groups are parts of a name: "features/0/0/weight" is
"features.0.0.weight".
"""

import io
import zipfile
from pathlib import Path

import h5py
import numpy as np

from ...formats import files
from ...formats.h5_objects import Reader, datasets, read_bytes
from ...graph import ModelError

REAL = ("float32", "float16", "float64")
WHOLE = ("int64", "int32")
"""Of counters that files hold beside the weights."""


def read_arrays(path: str | Path) -> dict[str, np.ndarray]:
    """The arrays of a file; the format is found by what it holds.

    raises   ModelError `file: rule, got value; remedy`
    """
    data, name = files.read(path), Path(path).name
    if files.is_hdf5(data):
        return read_bytes(data, name, _datasets)
    if data.startswith(b"PK\x03\x04"):
        return _npz(data, name)
    if data[8:9] == b"{":
        return _safetensors(data, name)
    raise ModelError(
        f"{name}: must be a .npz, .safetensors or .h5 of arrays, got content that starts with "
        f"{data[:8]!r}; save a state dict with numpy.savez"
    )


def _npz(data: bytes, name: str) -> dict[str, np.ndarray]:
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as loaded:
            return {key: loaded[key] for key in loaded.files}
    except (ValueError, EOFError, AttributeError, TypeError, zipfile.BadZipFile) as error:
        raise ModelError(
            f"{name}: must be a .npz of arrays, got {error}; save a state dict with numpy.savez"
        ) from error


def _safetensors(data: bytes, name: str) -> dict[str, np.ndarray]:
    try:
        import safetensors
        import safetensors.numpy
    except ModuleNotFoundError as error:
        raise ModelError(
            f"{name}: reading it needs the package safetensors, got {error}; "
            "pip install safetensors"
        ) from error
    try:
        return safetensors.numpy.load(data)
    except (safetensors.SafetensorError, KeyError, TypeError, ValueError) as error:
        raise ModelError(
            f"{name}: must be a .safetensors file of types that NumPy has, got {error}"
        ) from error


def _datasets(reader: Reader, file: h5py.File) -> dict[str, np.ndarray]:
    """By their paths, with dots."""
    found = {}
    for group, name in datasets(file):
        path = f"{group.name}/{name}".strip("/").replace("/", ".")
        found[path] = reader.array(group, name, *REAL, *WHOLE)
    return found
