"""Outputs of frozen layers, computed once per image and kept on disk by content.

The file's name is a hash of the frozen layers' arithmetic and of the images' codes, so a changed
weight, scale or picture is another file. Files appear whole or not at all, and two processes that
compute the same one at the same time leave the same bytes.
"""

import hashlib
from pathlib import Path

import numpy as np

from npusim import Prefix, Session
from npusim.digest import feed
from npusim.head import frozen_part

from .atomic import replace_file
from .cache import cache_folder
from .data import Dataset, Progress

IMAGES_AT_ONCE = 256


def frozen_rows(
    session: Session,
    dataset: Dataset,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> Prefix:
    """`session.prefix` of every image, from the folder when it is there, else into it.

    dataset    images as the session's graph takes them
    folder     of cached files; None computes without a trace
    progress   called while computing
    """
    if folder is None:
        return _compute(session, dataset, progress)
    path = folder / f"{_key(session, dataset)}.npy"
    rows = _read(path, len(dataset))
    if rows is not None:
        return Prefix(rows, session.frozen_nodes)
    prefix = _compute(session, dataset, progress)
    folder.mkdir(parents=True, exist_ok=True)
    replace_file(path, lambda file: np.save(file, prefix.rows, allow_pickle=False))
    return prefix


def default_folder() -> Path:
    """`features` in NPUSIM_CACHE_DIR, or in ~/.cache/npusim."""
    return cache_folder("features")


def _key(session: Session, dataset: Dataset) -> str:
    digest = hashlib.sha256(b"frozen rows 1")
    feed(digest.update, frozen_part(session.snapshot(), session.trainable))
    for images, _ in dataset.batches(IMAGES_AT_ONCE):
        feed(digest.update, images)
    return digest.hexdigest()


def _read(path: Path, count: int) -> np.ndarray | None:
    """The cached rows; None when the file is absent or damaged."""
    try:
        rows = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    whole = rows.dtype == np.int8 and rows.ndim == 2 and len(rows) == count
    return rows if whole else None


def _compute(session: Session, dataset: Dataset, progress: Progress | None) -> Prefix:
    pieces = []
    done = 0
    for images, labels in dataset.batches(IMAGES_AT_ONCE):
        pieces.append(session.prefix(images).rows)
        done += len(labels)
        if progress is not None:
            progress(done, len(dataset))
    return Prefix(np.concatenate(pieces), session.frozen_nodes)
