"""Checkpoints: everything a run needs to go on as if it had never stopped.

One .npz of plain arrays, replaced in one step after each epoch: a process that is killed leaves the
last one whole. A run continued from it ends with the same bits as one that was not interrupted.
"""

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .atomic import replace_file

FORMAT = 1
_META = "meta"

Arrays = Mapping[str, np.ndarray]


def save(
    path: Path, arrays: Arrays, numbers: Mapping[str, Any], settings: Mapping[str, Any]
) -> None:
    """Replace the checkpoint.

    arrays     the state, by name
    numbers    what JSON can hold
    settings   what a run that continues must have in common, JSON too
    """
    meta = json.dumps({"format": FORMAT, "settings": settings, "numbers": numbers})
    packed: dict[str, Any] = {_META: np.frombuffer(meta.encode(), np.uint8), **arrays}
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, lambda file: np.savez(file, **packed))


def load(path: Path, arrays: Arrays, settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Read a checkpoint into `arrays`, in place; returns its numbers.

    arrays     the run's own arrays, of the same names, types and shapes; unchanged on failure
    settings   of the run; every one must be what was saved
    raises     ValueError naming what is damaged or differs
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            stored = {name: file[name] for name in file.files}
        meta = json.loads(stored.pop(_META).tobytes())
        saved, numbers = meta["settings"], meta["numbers"]
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"{path}: must be a whole checkpoint, got {type(error).__name__}; start without resume"
        ) from error
    if meta["format"] != FORMAT:
        raise ValueError(f"{path}: checkpoint format must be {FORMAT}, got {meta['format']}")
    wanted = json.loads(json.dumps(settings))
    for name, value in wanted.items():
        if saved.get(name) != value:
            raise ValueError(
                f"{path}: {name} must be as saved, {_short(saved.get(name))}, "
                f"got {_short(value)}; use the saved setting or start without resume"
            )
    _copy(path, stored, arrays)
    return dict(numbers)


def _copy(path: Path, stored: Arrays, arrays: Arrays) -> None:
    for name, array in arrays.items():
        found = stored.get(name)
        if found is None or (found.dtype, found.shape) != (array.dtype, array.shape):
            got = "none" if found is None else f"{found.dtype} {found.shape}"
            raise ValueError(f"{path}: {name} must be {array.dtype} {array.shape}, got {got}")
    for name, array in arrays.items():
        array[...] = stored[name]


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
