"""The folder that a training run writes into, and what it may hold before."""

from pathlib import Path

MODEL, HISTORY, TABLE, CURVES = "model.h5", "history.jsonl", "history.csv", "curves.png"
CHECKPOINT = "checkpoint.npz"
FILES = (MODEL, HISTORY, TABLE, CURVES, CHECKPOINT)


def check_folder(folder: Path, resume: bool, overwrite: bool) -> None:
    """Refuse a folder that holds a run, unless it goes on or may be replaced.

    raises   ValueError naming what the folder holds, and the option that is missing
    """
    if resume and overwrite:
        raise ValueError("--resume and --overwrite: must not be given together, got both")
    held = [name for name in FILES if (folder / name).exists()]
    if not held or overwrite or (resume and CHECKPOINT in held):
        return
    if resume:
        raise ValueError(
            f"{folder}: must hold {CHECKPOINT} to go on from, got {', '.join(held)}; start anew "
            "with --overwrite"
        )
    raise ValueError(
        f"{folder}: must hold no run, got {', '.join(held)}; go on with --resume or replace it "
        "with --overwrite"
    )
