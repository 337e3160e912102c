"""The folder that a training run writes into, and what it may hold before."""

import errno
import os
from pathlib import Path

MODEL, HISTORY, TABLE, CURVES = "model.h5", "history.jsonl", "history.csv", "curves.png"
CHECKPOINT = "checkpoint.npz"
FILES = (MODEL, HISTORY, TABLE, CURVES, CHECKPOINT)


def check_folder(folder: Path, resume: bool, overwrite: bool) -> None:
    """Refuse a folder that holds a run, unless it goes on or may be replaced; makes none.

    raises   ValueError naming what the folder holds, and the option that is missing; OSError where
             it cannot be written
    """
    if resume and overwrite:
        raise ValueError("--resume and --overwrite: must not be given together, got both")
    _check_writable(folder)
    held = [name for name in FILES if (folder / name).exists()]
    if resume and CHECKPOINT not in held:
        anew = "with --overwrite" if held else "without --resume"
        raise ValueError(
            f"{folder}: must hold {CHECKPOINT} to go on from, got {', '.join(held) or 'none'}; "
            f"start anew {anew}"
        )
    if not held or overwrite or resume:
        return
    raise ValueError(
        f"{folder}: must hold no run, got {', '.join(held)}; go on with --resume or replace it "
        "with --overwrite"
    )


def _check_writable(folder: Path) -> None:
    """The folder can be written, or made where the nearest one above it that exists can be."""
    nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not nearest.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
