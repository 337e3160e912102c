"""A run as bytes: everything that training changed, to stop here and go on elsewhere to the same
bits, in C or in Python.

`zo/c/run_state.h`, the twin, states the form. A `Checkpoint` holds more: what the run must have in
common with the one that stopped, and its history.
"""

import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from .atomic import replace_bytes
from .cost_aware import CostAware
from .declared import Constant, Declared
from .gate import Gate
from .loss import EXPONENTS, CrossEntropy
from .run import Run
from .schedule import QScheduler, Schedule

SUFFIX = ".zor"
MAGIC = b"ZOR1"
HEAD_BYTES = 8
CHANGING = 14
"""Numbers besides arrays that change."""
TWINS = (QScheduler, Gate, CostAware, Constant, Declared)
"""The schedules that C has."""
LARGEST_COST = (1 << 63) - 1
_NONE = (0, 0)


class RunState:
    """The file of one run in the form that C reads and writes, where a checkpoint may be.

    path   replaced at every `save`
    run    stands before its first step
    raises ValueError for a schedule that C does not have
    """

    def __init__(self, path: Path, run: Run) -> None:
        self._path, self._run = path, run
        require_twin(run.scheduler, "run state")

    def save(self) -> None:
        """Replace the file by the run's present state."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        data = pack_run(self._run)
        replace_bytes(self._path, data)

    def resume(self) -> bool:
        """Bring the run to the saved state; False where there is no file.

        raises   ValueError naming what is damaged, or what differs from the saved run
        """
        if not self._path.exists():
            return False
        try:
            unpack_run(self._run, self._path.read_bytes())
        except ValueError as error:
            raise ValueError(f"{self._path}: {error}; start without resume") from error
        self._run.start()
        return True


def require_twin(schedule: Schedule, where: str) -> None:
    """ValueError naming `where` for a schedule that C does not have, or costs it cannot hold."""
    if not isinstance(schedule, TWINS):
        names = ", ".join(kind.__name__ for kind in TWINS)
        raise ValueError(
            f"{where}: schedule must be one of {names} in C, got {type(schedule).__name__}"
        )
    if isinstance(schedule, CostAware):
        largest = max(schedule.costs.values())
        if largest > LARGEST_COST:
            raise ValueError(f"{where}: costs must be below 2^63 in C, got {largest}")


def run_state_size(run: Run) -> int:
    """How many bytes a run's state takes; the same all along the run."""
    numbers = 1 + len(_settings(run)) + CHANGING + len(_costs(run))
    return HEAD_BYTES + 8 * numbers + sum(array.nbytes for array in _arrays(run))


def pack_run(run: Run) -> bytes:
    """The run as it stands between two epochs.

    raises   ValueError for a schedule that C does not have, or costs it cannot hold
    """
    require_twin(run.scheduler, "run state")
    settings = [run_state_size(run), *_settings(run).values()]
    parts = [struct.pack(f"<{len(settings)}Q", *settings)]
    numbers = [*_numbers(run), *_costs(run)]
    parts.append(struct.pack(f"<{len(numbers)}q", *numbers))
    parts += (array.astype(array.dtype.newbyteorder("<")).tobytes() for array in _arrays(run))
    body = b"".join(parts)
    return MAGIC + struct.pack("<I", crc32(body, 0)) + body


def unpack_run(run: Run, state: bytes) -> None:
    """Bring a run that is prepared to where another stood; `start` comes next, as for any run.

    raises   ValueError naming what is damaged, or not as in this run; nothing was changed then
    """
    _check(run, state)
    at = HEAD_BYTES + 8 * (1 + len(_settings(run)))
    count = CHANGING + len(_costs(run))
    _write_numbers(run, struct.unpack_from(f"<{count}q", state, at))
    at += 8 * count
    for array in _arrays(run):
        saved = np.frombuffer(state, array.dtype.newbyteorder("<"), array.size, at)
        array[...] = saved.reshape(array.shape)
        at += array.nbytes
    for t in run.step.group.tensors:
        t.write()


def crc32(data: bytes, before: int) -> int:
    """CRC-32 (IEEE 802.3) of data, continued from that of what stands before it; 0 of nothing."""
    return zlib.crc32(data, before)


def _check(run: Run, state: bytes) -> None:
    """Whether the bytes are whole, and of this run."""
    head, size = len(MAGIC), run_state_size(run)
    if state[:head] != MAGIC:
        raise ValueError(f"run state must begin with {MAGIC!r}, got {state[:head]!r}")
    if state[head:HEAD_BYTES] != struct.pack("<I", crc32(state[HEAD_BYTES:], 0)):
        raise ValueError(f"run state must be whole, got {len(state):,} bytes with a wrong checksum")
    saved = np.frombuffer(state, "<u8", (len(state) - HEAD_BYTES) // 8, HEAD_BYTES)[1:].tolist()
    for (name, value), other in zip(_settings(run).items(), saved, strict=False):
        if value != other:
            raise ValueError(f"run state: {name} must be as saved, {other}, got {value}")
    if len(state) != size:
        raise ValueError(f"run state must have {size:,} bytes for this run, got {len(state):,}")


def _settings(run: Run) -> dict[str, int]:
    """What a run that goes on must have in common with the one that stopped, in order."""
    tensors, options = run.step.group.tensors, run.options
    found = {"seed": options.seed, "epochs": options.epochs, "batch": options.batch}
    found["trained tensors"] = len(tensors)
    for t in tensors:
        state, form = t.state, 4 * (t.form is not None)
        found[f"stream of {t.name}"] = t.stream
        found[f"codes of {t.name}"] = state.codes.size
        found[f"channels of {t.name}"] = state.doublings.size
        found[f"kept arrays of {t.name}"] = (
            (state.residual.size > 0) + 2 * (state.momentum.size > 0) + form
        )
    return found


def _arrays(run: Run) -> Iterator[np.ndarray]:
    """Every array that training changes, live; but for biases that follow from their codes."""
    session, tensors = run.step.session, run.step.group.tensors
    for t in tensors:
        yield from (t.state.codes, t.state.residual, t.state.momentum, t.state.doublings)
        yield from () if t.form is None else t.form
    if run.options.method.recalibrate:
        for t in tensors:
            if t.form is None:
                yield session.biases[t.node]
                yield session.requantization[t.node].shift
        if run.step.classifier is not None and isinstance(run.step.loss, CrossEntropy):
            yield session.requantization[run.step.classifier.node].shift


def _numbers(run: Run) -> list[int]:
    """Everything else that training changes."""
    loss, schedule, total = run.step.loss, run.scheduler, len(run.validation)
    exponent = loss.exponent if isinstance(loss, CrossEntropy) else 0
    found = [run.epoch, run.stagnates, exponent, schedule.q]
    if isinstance(schedule, QScheduler):
        saved = schedule.state_dict()
        found += _counted(saved["best"], total << (16 if saved["settings"]["smoothing"] else 0))
        found.append(-1 if saved["level"] is None else saved["level"])
        found += (saved[name] for name in ("total", "bad_epochs", "cooling"))
    else:
        noisy = schedule.noisy_epochs if isinstance(schedule, Gate) else 0
        found += (*_NONE, -1, 0, noisy, 0)
    if run.stopping is None:
        return [*found, *_NONE, 0, 0]
    saved = run.stopping.state_dict()
    return [*found, *_counted(saved["best"], total), saved["stagnant"], saved["q"]]


def _costs(run: Run) -> list[int]:
    """The table of CostAware, by q; none of others."""
    schedule = run.scheduler
    return [*schedule.costs.values()] if isinstance(schedule, CostAware) else []


def _counted(best: Sequence[int] | None, total: int) -> tuple[int, int]:
    """A fraction with the denominator it has in C, which does not reduce."""
    if best is None:
        return _NONE
    n, d = best
    return (n * total // d, total) if n * total % d == 0 else (n, d)


def _write_numbers(run: Run, numbers: Sequence[int]) -> None:
    epoch, stagnates, exponent, q, best, of, level, total, bad_epochs, cooling = numbers[:10]
    loss, schedule = run.step.loss, run.scheduler
    if not (0 <= epoch <= run.options.epochs and 0 <= exponent < EXPONENTS):
        raise ValueError(f"run state: epoch must be 0..{run.options.epochs} and the exponent "
                         f"below {EXPONENTS}, got {epoch} and {exponent}")  # fmt: skip
    if isinstance(schedule, QScheduler):
        schedule.load_state_dict({
            "settings": schedule.state_dict()["settings"], "q": q, "best": _reduced(best, of),
            "level": None if level < 0 else level, "total": total, "bad_epochs": bad_epochs,
            "cooling": cooling,
        })  # fmt: skip
    else:
        state = {**schedule.state_dict(), "q": q, "noisy_epochs": bad_epochs, "epoch": epoch}
        state["costs"] = list(zip(schedule.rungs, numbers[CHANGING:], strict=False))
        schedule.load_state_dict({name: state[name] for name in schedule.state_dict()})
    run.epoch, run.stagnates = epoch, bool(stagnates)
    if isinstance(loss, CrossEntropy):
        run.step.loss = replace(loss, exponent=exponent)
    if run.stopping is not None:
        best, of, stagnant, q = numbers[10:CHANGING]
        run.stopping.load_state_dict({"best": _reduced(best, of), "stagnant": stagnant, "q": q})


def _reduced(n: int, d: int) -> list[int] | None:
    if d == 0:
        return None
    value = Fraction(n, d)
    return [value.numerator, value.denominator]
