"""The two sides of a comparison: a golden file, a model, or dumps of a device.

A folder of dumps holds .npy files, or raw .bin files: codes one after the other, little-endian. It
may be one that `npusim run --trace` wrote; else file names are the tensors' names, and their order
is that of the names with numbers in them read as numbers.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..formats import files
from ..golden import Golden
from ..golden.file import is_foreign, is_golden, parse
from ..graph import Graph, ModelError
from ..tensor_files import read_numpy

NUMPY, RAW = (".npy",), (".bin", ".raw")
INDEX = "index.json"


@dataclass(frozen=True, eq=False)
class Dump:
    """One tensor as a side holds it.

    name     the tensor's, where the side knows it; else the file's, without suffix
    file     it was read from; "" for a golden file
    values   codes or real numbers; of a raw dump its bytes, uint8 (n,)
    raw      whether shape and type are yet to be found
    """

    name: str
    file: str
    values: np.ndarray
    raw: bool = False


@dataclass(frozen=True, eq=False)
class Side:
    """One side.

    path     as the user named it
    kind     "golden file", "model", "folder" or "archive"
    dumps    tensors in order
    golden   the recorded run, of a golden file or of a model that was run
    graph    of a model
    """

    path: str
    kind: str
    dumps: tuple[Dump, ...]
    golden: Golden | None = None
    graph: Graph | None = None


def open_path(path: Path, order: Path | None = None) -> Side | None:
    """What lies at a path; None for a model, which must be run first.

    order    of a folder: a file that names one file a line, with its tensor's name behind it or not
    raises   ModelError, ValueError, OSError
    """
    if path.is_dir():
        return Side(str(path), "folder", tuple(_folder(path, order)))
    if order is not None:
        raise ValueError(f"{path}: must be a folder to be read in the order of {order}")
    if not path.exists():
        raise ModelError(f"{path}: no such file or folder")
    if path.suffix.lower() == ".npz":
        arrays = read_numpy(path)
        return Side(str(path), "archive", tuple(Dump(k, "", v) for k, v in arrays.items()))
    if path.suffix.lower() in (*NUMPY, *RAW):
        raise ValueError(f"{path}: side must be a golden file, a model, a folder of dumps or a "
                         ".npz, got one tensor; name the folder it lies in")  # fmt: skip
    data = files.read(path)
    if is_golden(data):
        return of_golden(str(path), parse(data, path.name))
    if files.is_hdf5(data) and is_foreign(data):
        raise ModelError(f"{path}: must be a golden file or a model, got another HDF5 file")
    return None


def of_golden(path: str, golden: Golden, graph: Graph | None = None) -> Side:
    """The side of a recorded run; of a model that was run now when its graph is given."""
    dumps = tuple(Dump(t.name, "", t.values) for t in golden.sequence() if t.values is not None)
    return Side(path, "golden file" if graph is None else "model", dumps, golden, graph)


def natural(name: str) -> list[Any]:
    """Sort key that reads numbers in names as numbers: layer2 before layer10."""
    return [int(p) if p.isdigit() else p.lower() for p in re.split(r"([0-9]+)", name)]


def _folder(path: Path, order: Path | None) -> Iterator[Dump]:
    index = path / INDEX
    if order is not None:
        listed = list(_listed(order))
    elif index.is_file():
        listed = list(_indexed(index))
    else:
        found = (f.name for f in path.iterdir() if f.suffix.lower() in (*NUMPY, *RAW))
        listed = [(name, Path(name).stem) for name in sorted(found, key=natural)]
    if not listed:
        raise ValueError(f"{path}: folder must hold {', '.join((*NUMPY, *RAW))} files, got none")
    times = Counter(name for _, name in listed)
    for file, name in listed:
        yield _dump(path, file, name if times[name] == 1 else file)


def _dump(folder: Path, file: str, name: str) -> Dump:
    if Path(file).name != file:
        raise ValueError(f"{folder}: files must lie in the folder itself, got {file!r}")
    if not (file + name).isprintable():
        raise ValueError(f"{folder}: names must be printable, got {file!r}, {name!r}")
    path = folder / file
    if path.suffix.lower() in NUMPY:
        arrays = read_numpy(path)
        if "" not in arrays:
            raise ValueError(f"{path}: must hold one array, got an archive of {sorted(arrays)}")
        return Dump(name, file, arrays[""])
    if path.suffix.lower() in RAW:
        return Dump(name, file, np.frombuffer(files.read(path), np.uint8), raw=True)
    raise ValueError(f"{path}: dump must be {', '.join((*NUMPY, *RAW))}, got {path.suffix!r}")


def _listed(order: Path) -> Iterator[tuple[str, str]]:
    """(file, tensor name) of every line that is not empty."""
    for line in order.read_text("utf-8").splitlines():
        if line.strip():
            file, _, name = line.strip().partition(" ")
            yield file, name.strip() or Path(file).stem


def _indexed(index: Path) -> Iterator[tuple[str, str]]:
    """(file, tensor name) of every tensor that an index.json of `npusim run --trace` lists."""
    try:
        entries = json.loads(index.read_text("utf-8"))["tensors"]
        listed = [(entry["file"], entry["tensor"]) for entry in entries]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{index}: must be the index of a trace, got {error}") from error
    for file, name in listed:
        if not isinstance(file, str) or not isinstance(name, str):
            raise ValueError(f"{index}: must name files and tensors, got {file!r}, {name!r}")
        yield file, name
