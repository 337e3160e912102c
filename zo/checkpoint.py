"""Checkpoints: everything a run needs to go on as if it had never stopped.

One .npz of plain arrays, replaced in one step after each epoch: a process that is killed leaves the
last one whole. A run continued from it ends with the same bits as one that was not interrupted.
"""

import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from npusim.digest import content_hash

from .atomic import remove_parts, replace_file
from .history import from_plain, to_plain
from .loss import CrossEntropy
from .options import Method, name_of
from .run import Run

FORMAT = 2
META = "meta"
REMEDIES = {
    "epochs": "the rate's cosine is as long as the run, so a longer run starts anew",
    "exact_head": "set exact_head as it was or start without resume",
}
"""What to do where a setting differs and the usual advice would not help."""

OPTIONS = {
    **{name: f"--{name.replace('_', '-')}" for name in (
        "epochs", "batch", "seed", "stop_after", "estimator", "k", "perturbation", "rule",
        "momentum", "lr", "lr_scaling", "decay", "space", "exact_head",
    )},
    "recalibrate": "--no-recalibration",
    "trained tensors": "--trainable",
    "model": "--model",
    "training images": "--data, --train, --augment",
    "validation images": "--data, --validation",
}  # fmt: skip
"""Of `zo train`, by the settings they give."""

Arrays = Mapping[str, np.ndarray]


class Checkpoint:
    """The file of one run.

    path   replaced at every `save`
    run    stands before its first step: its model and settings are those of the file
    """

    def __init__(self, path: Path, run: Run) -> None:
        self._path = path
        self._run = run
        self._settings = _settings(run)

    def save(self) -> None:
        """Replace the file by the run's present state."""
        plain = {"format": FORMAT, "settings": self._settings, "numbers": _numbers(self._run)}
        meta = np.frombuffer(json.dumps(plain).encode(), np.uint8)
        packed: dict[str, Any] = {META: meta, **_arrays(self._run)}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        remove_parts(self._path)
        replace_file(self._path, lambda file: np.savez(file, **packed))

    def resume(self) -> bool:
        """Bring the run to the saved state; False where there is no file.

        raises   ValueError naming what is damaged, or what differs from the saved run
        """
        if not self._path.exists():
            return False
        stored, meta = _read(self._path)
        arrays = _arrays(self._run)
        try:
            _check_settings(self._path, meta["settings"], self._settings)
            _check_arrays(self._path, stored, arrays)
            _restore(self._run, meta["numbers"])
        except (LookupError, TypeError, AttributeError) as error:
            raise _damaged(self._path, error) from error
        for name, array in arrays.items():
            array[...] = stored[name]
        return True


def _settings(run: Run) -> dict[str, Any]:
    """What a run that continues must have in common with the first, as JSON gives it back."""
    options, step = run.options, run.step
    settings = {
        **{name: getattr(options, name) for name in ("epochs", "batch", "seed", "stop_after")},
        **_method(options.method),
        "trained tensors": {t.name: t.stream for t in step.group.tensors},
        "model": content_hash("model", step.session.snapshot()),
        "loss": type(step.loss).__name__,
        "training images": run.train.content(),
        "validation images": run.validation.content(),
    }
    return dict(json.loads(json.dumps(settings)))


def _method(method: Method) -> dict[str, Any]:
    """The method's fields but its loss; those given by name as mappings, functions as names."""
    values = {f.name: getattr(method, f.name) for f in fields(method) if f.name != "loss"}
    named = {n: name_of(v) if callable(v) else v for n, v in values.items()}
    return {n: dict(v) if isinstance(v, Mapping) else v for n, v in named.items()}


def _arrays(run: Run) -> dict[str, np.ndarray]:
    """Every array that training changes, live."""
    session, found = run.step.session, {}
    for t in run.step.group.tensors:
        for part in ("codes", "residual", "momentum", "doublings"):
            found[f"{t.name}:{part}"] = getattr(t.state, part)
        if t.form is not None:
            found[f"{t.name}:base"], found[f"{t.name}:unit"] = t.form
        if t.node in session.requantization:  # else the profile freezes them
            found[f"{t.node}:bias"] = session.biases[t.node]
            found[f"{t.node}:shift"] = session.requantization[t.node].shift
    head = "" if run.step.classifier is None else run.step.classifier.node
    if head in session.requantization:
        found[f"{head}:shift"] = session.requantization[head].shift
    return found


def _numbers(run: Run) -> dict[str, Any]:
    """Everything else that training changes."""
    loss = run.step.loss
    return {
        "history": [to_plain(epoch) for epoch in run.history],
        "scheduler": run.scheduler.state_dict(),
        "stopping": run.stopping.state_dict() if run.stopping else None,
        "stagnates": run.stagnates,
        "exponent": loss.exponent if isinstance(loss, CrossEntropy) else 0,
    }


def _restore(run: Run, numbers: Mapping[str, Any]) -> None:
    run.scheduler.load_state_dict(numbers["scheduler"])
    run.history[:] = [from_plain(values) for values in numbers["history"]]
    run.epoch, run.cost = run.history[-1].epoch, run.history[-1].cost
    run.stagnates = numbers["stagnates"]
    if run.stopping is not None:
        run.stopping.load_state_dict(numbers["stopping"])
    for _ in range(numbers["exponent"]):
        assert isinstance(run.step.loss, CrossEntropy)
        run.step.loss = run.step.loss.doubled()


def _read(path: Path) -> tuple[Arrays, Mapping[str, Any]]:
    """Arrays and meta data; pickles are refused."""
    try:
        with np.load(path, allow_pickle=False) as file:
            stored = {name: file[name] for name in file.files}
        meta = dict(json.loads(stored.pop(META).tobytes()))
        found = meta["format"]
    except (OSError, ValueError, LookupError, TypeError, EOFError, zipfile.BadZipFile,
            zlib.error) as error:  # fmt: skip
        raise _damaged(path, error) from error
    if found != FORMAT:
        raise ValueError(
            f"{path}: checkpoint format must be {FORMAT}, got {found}; start without resume"
        )
    return stored, meta


def _check_settings(path: Path, saved: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """ValueError that names every setting that differs, with its option."""
    differing = [name for name, value in settings.items() if saved.get(name) != value]
    if not differing:
        return
    told = [
        f"{_with_option(name)} must be as saved, {_short(saved.get(name))}, got "
        f"{_short(settings[name])}"
        for name in differing
    ]
    remedies = dict.fromkeys(REMEDIES[name] for name in differing if name in REMEDIES)
    remedy = ", ".join(remedies) or "use the saved setting or start without resume"
    raise ValueError(f"{path}: {'; '.join(told)}; {remedy}")


def _with_option(name: str) -> str:
    """A setting's name, with its option of `zo train` where there is one."""
    option = OPTIONS.get(name, "")
    return f"{name} ({option})" if option else name


def _check_arrays(path: Path, stored: Arrays, arrays: Arrays) -> None:
    for name, array in arrays.items():
        found = stored.get(name)
        if found is None or (found.dtype, found.shape) != (array.dtype, array.shape):
            got = "none" if found is None else f"{found.dtype} {found.shape}"
            raise ValueError(
                f"{path}: {name} must be {array.dtype} {array.shape}, got {got}; "
                "start without resume"
            )


def _damaged(path: Path, error: Exception) -> ValueError:
    return ValueError(
        f"{path}: must be a whole checkpoint, got {type(error).__name__}; start without resume"
    )


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
