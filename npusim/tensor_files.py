"""Tensors from files and to files: .npy, .npz, .bin, pictures, and the folder of a trace."""

import hashlib
import json
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from . import images
from .graph import Graph, Tensor
from .images import Normalization
from .origin import training
from .plurals import counted

INPUT_KINDS = ".npy, .npz, .npz:NAME, .bin or a picture"
LONGEST_NAME = 80
_FLOAT_STEP = np.float32(2.0**-23)


def read_inputs(
    source: str, graph: Graph, normalization: Normalization | None = None
) -> dict[str, np.ndarray]:
    """The graph's inputs by name, each with its batch axis.

    source   a path. .npy: one array. .npz: one array per input, under the input's name; of one
             input any name, or the one after a colon. .bin: the input's codes, raw, little-endian.
             A picture: resized and made codes, see `npusim.images`.
             uint8 images are pixels where the input is not uint8, or with a normalisation
    normalization   of the pixels; if None the one that the model was trained with
    raises   ValueError, OSError
    """
    path, key = _split(source)
    suffix, pixels = path.suffix.lower(), normalization or training(graph).normalization
    if suffix in images.SUFFIXES:
        image = images.to_input(images.read(path), graph, pixels, str(path))
        return {graph.tensors[graph.inputs[0]].name: image[np.newaxis]}
    if suffix == ".bin":
        _refuse_unused(normalization, [], source)
        return _read_raw(path, graph)
    if suffix not in (".npy", ".npz"):
        raise ValueError(f"{source}: input must be {INPUT_KINDS}, got {suffix or 'no suffix'}")
    arrays = read_numpy(path)
    chosen = _choose(arrays, key, graph, source)
    _refuse_unused(normalization, [chosen[t.name].dtype for t in _inputs(graph)], source)
    return {t.name: _with_batch(_pixels(chosen[t.name], graph, t, pixels, source), t)
            for t in _inputs(graph)}  # fmt: skip


def read_numpy(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a .npy (under the name "") or .npz file; pickles are refused."""
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return {"": loaded}
        with loaded:
            return {name: loaded[name] for name in loaded.files}
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(f"{path}: must be a NumPy file of plain arrays, got: {reason}") from error


def random_inputs(graph: Graph, seed: int) -> dict[str, np.ndarray]:
    """Inputs of the declared shapes drawn from PCG64's raw bits: the same with every NumPy.

    Codes are uniform over their type's range; real numbers are multiples of 2^-23 in [-1, 1).
    """
    bits = np.random.PCG64(seed)
    return {t.name: _random(bits, t) for t in _inputs(graph)}


def write_outputs(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """One array as .npy, or any number, under their names, as .npz; ValueError for others."""
    if path.suffix.lower() == ".npz":
        with path.open("wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
    elif path.suffix.lower() == ".npy" and len(arrays) == 1:
        np.save(path, next(iter(arrays.values())))
    else:
        raise ValueError(
            f"{path}: output must be .npz{', or .npy' if len(arrays) == 1 else ''} "
            f"for {counted(len(arrays), 'tensor')}, got {path.suffix or 'no suffix'}"
        )


def write_trace(folder: Path, tensors: Mapping[str, np.ndarray], graph: Graph) -> int:
    """One .npy per tensor, numbered in their order, and index.json, which lists them.

    folder    made when missing; ValueError when it holds anything
    returns   the number of tensors
    """
    _make_empty(folder)
    producer = {i: node for node in graph.nodes for i in node.outputs}
    index_of = {tensor.name: i for i, tensor in enumerate(graph.tensors)}
    entries = []
    for number, (name, array) in enumerate(tensors.items()):
        file = f"{number:03d}_{_file_name(name)}.npy"
        np.save(folder / file, array)
        node = producer.get(index_of[name])
        entries.append({"file": file, "node": node.name if node else None,
                        **summary(graph.tensor(name), array)})  # fmt: skip
    _write_index(folder, graph, entries)
    return len(entries)


def write_sums(folder: Path, sums: Iterable[tuple[str, np.ndarray]], graph: Graph) -> int:
    """One .npy of raw sums per node, as `Session.raw_sums` gives them, and index.json.

    folder    made when missing; ValueError when it holds anything
    returns   the number of nodes
    """
    _make_empty(folder)
    entries = []
    for number, (name, array) in enumerate(sums):
        file = f"{number:03d}_{_file_name(name)}.npy"
        np.save(folder / file, array)
        digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
        entries.append({"file": file, "node": name, "shape": list(array.shape),
                        "dtype": str(array.dtype), "sha256": digest})  # fmt: skip
    _write_index(folder, graph, entries)
    return len(entries)


def summary(tensor: Tensor, array: np.ndarray) -> dict[str, Any]:
    """Name, shape, type, quantisation and digest of a tensor's values, as JSON's types."""
    q = tensor.quantization
    return {
        "tensor": tensor.name,
        "shape": list(array.shape),
        "dtype": str(array.dtype),
        "scale": None if q is None else float(q.scale[0]),
        "zero_point": None if q is None else int(q.zero_point[0]),
        "sha256": hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest(),
    }


def _inputs(graph: Graph) -> list[Tensor]:
    return [graph.tensors[i] for i in graph.inputs]


def _split(source: str) -> tuple[Path, str | None]:
    """ "set.npz:images" as path and array name; other paths as they are."""
    head, mark, key = source.rpartition(".npz:")
    return (Path(head + ".npz"), key) if mark else (Path(source), None)


def _choose(
    arrays: Mapping[str, np.ndarray], key: str | None, graph: Graph, source: str
) -> Mapping[str, np.ndarray]:
    """An array for every input name."""
    names = [t.name for t in _inputs(graph)]
    if set(names) <= arrays.keys() and key is None:
        return arrays
    if len(names) > 1:
        raise ValueError(f"{source}: must hold arrays called {names}, got {sorted(arrays)}")
    found = list(arrays) if key is None else [key]
    if len(found) != 1 or found[0] not in arrays:
        raise ValueError(
            f"{source}: must hold one array or name one, as in file.npz:NAME, got {sorted(arrays)}"
        )
    return {names[0]: arrays[found[0]]}


def _refuse_unused(
    normalization: Normalization | None, dtypes: Sequence[np.dtype], source: str
) -> None:
    if normalization is not None and np.uint8 not in dtypes:
        got = " and ".join(map(str, dtypes)) or "raw codes"
        raise ValueError(f"{source}: mean and std must be for pixels, which are uint8, got {got}; "
                         "leave them out")  # fmt: skip


def _pixels(
    array: np.ndarray, graph: Graph, tensor: Tensor, normalization: Normalization | None, where: str
) -> np.ndarray:
    """uint8 images (N, H, W, C) or (H, W, C) as codes; anything else as it is, if not empty."""
    if not array.size:
        raise ValueError(f"{where}: must hold an image or more, got shape {array.shape}")
    is_image = array.dtype == np.uint8 and len(tensor.shape) == 4 and array.ndim in (3, 4)
    if not is_image or (tensor.dtype == "uint8" and normalization is None):
        return array
    frames = array if array.ndim == 4 else array[np.newaxis]
    return np.stack([images.to_input(frame, graph, normalization, where) for frame in frames])


def _with_batch(array: np.ndarray, tensor: Tensor) -> np.ndarray:
    """One image without its batch axis gets one."""
    alone = array.shape == tensor.shape[1:] and tensor.shape[:1] == (1,)
    return array[np.newaxis] if alone else array


def _read_raw(path: Path, graph: Graph) -> dict[str, np.ndarray]:
    """The codes of a graph with one input, in the input's order."""
    tensor, *others = _inputs(graph)
    if others:
        raise ValueError(f"{path}: a graph with several inputs must be given a .npz file")
    data = path.read_bytes()
    size = prod(tensor.shape[1:]) * np.dtype(tensor.dtype).itemsize
    if not data or len(data) % size:
        raise ValueError(
            f"{path}: must hold a multiple of {size} bytes, one {tensor.dtype} "
            f"{tensor.shape[1:]} after the other, got {len(data)}"
        )
    values = np.frombuffer(data, np.dtype(tensor.dtype).newbyteorder("<"))
    return {tensor.name: values.astype(tensor.dtype).reshape(-1, *tensor.shape[1:])}


def _random(bits: np.random.PCG64, tensor: Tensor) -> np.ndarray:
    dtype, count = np.dtype(tensor.dtype), prod(tensor.shape)
    words = -(-count * dtype.itemsize // 8)
    raw = np.asarray(bits.random_raw(words), "<u8").view(np.uint8)[: count * dtype.itemsize]
    if dtype == np.float32:
        steps = (raw.view("<u4") >> 8).astype(np.int32) - (1 << 23)
        return (steps * _FLOAT_STEP).astype(np.float32).reshape(tensor.shape)
    if dtype == np.bool_:
        return (raw & 1).astype(dtype).reshape(tensor.shape)
    return raw.view(dtype.newbyteorder("<")).astype(dtype).reshape(tensor.shape)


def _make_empty(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise ValueError(f"{folder}: trace folder must be empty; remove its files or name another")


def _write_index(folder: Path, graph: Graph, entries: list[dict[str, Any]]) -> None:
    lines = ",\n  ".join(json.dumps(entry) for entry in entries)
    head = json.dumps({"model": graph.name, "profile": graph.profile})[:-1]
    (folder / "index.json").write_text(f'{head}, "tensors": [\n  {lines}\n]}}\n')


def _file_name(name: str) -> str:
    """A tensor name as part of a file name: harmless characters, and not too long."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip("_.")[:LONGEST_NAME] or "tensor"
