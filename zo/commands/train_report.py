"""What `zo train` says at its end, as text and as JSON."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from npusim.plurals import counted

from ..result import Result
from .run_folder import FILES, MODEL


def report(result: Result, seconds: Mapping[str, float], folder: Path) -> Mapping[str, Any]:
    """Everything for JSON; `seconds` by phase are of the whole command, "seconds" of the epochs."""
    last = result.history[-1]
    return {
        "stopped": result.stopped,
        "epochs": last.epoch,
        "accuracy": {
            "start": result.history[0].accuracy,
            "end": result.accuracy,
            "mean of last ten epochs": result.final,
            "best": result.best,
        },
        "correct": result.correct,
        "images": last.total,
        "q": [{"from epoch": epoch, "q": q} for epoch, q in _q_path(result)],
        "schedule": result.schedule,
        "cost": last.cost._asdict(),
        "seconds": last.seconds,
        "phases": seconds,
        "clipped": result.moved,
        "model": str(folder / MODEL),
    }


def print_end(result: Result, seconds: Mapping[str, float], folder: Path) -> None:
    """The end of a run, in lines that fit a narrow terminal."""
    last = result.history[-1]
    why = {"stagnant": ", stopped early", "interrupted": ", interrupted"}.get(result.stopped, "")
    print(f"epochs       {last.epoch}{why}")
    print(f"accuracy     {result.history[0].accuracy:.4f} before, {result.accuracy:.4f} after "
          f"({result.correct} of {last.total})")  # fmt: skip
    if result.stopped == "interrupted":
        print("             of the model as written; the history has whole epochs only")
    print(f"             mean of the last ten epochs {result.final:.4f}, best {result.best:.4f}")
    path = ", ".join(f"{q} from epoch {epoch}" for epoch, q in _q_path(result)) or "not used"
    print(f"q            {path}")
    cost = last.cost
    print(f"cost         {counted(cost.forwards, 'forward')} of a batch, {cost.macs:,} MACs")
    print(f"             {cost.random_bits:,} random bits, {cost.bytes_written:,} bytes written")
    print(f"seconds      {', '.join(f'{phase} {s:.1f}' for phase, s in seconds.items())}")
    for name, count in result.moved.items():
        print(f"clipped      {counted(count, 'code')} of {name}, to leave room for perturbations")
    print(f"written      {folder / MODEL}")
    print(f"             {', '.join(FILES[1:])}")


def _q_path(result: Result) -> list[tuple[int, int]]:
    """(first epoch, q) of every q in turn."""
    path: list[tuple[int, int]] = []
    for epoch in result.history[1:]:
        if epoch.q and (not path or path[-1][1] != epoch.q):
            path.append((epoch.epoch, epoch.q))
    return path
