"""Training runs of zo.train, recorded pass by pass, and the calls that repeat them in C."""

import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from npusim import Session
from zo.batch import Batch, Outputs
from zo.estimate import ESTIMATORS
from zo.loss import CrossEntropy, cross_entropy_loss
from zo.options import PERTURBATIONS, Options, Reuse
from zo.perturb import FULL_RANGE
from zo.prepare import prepare
from zo.run import Run
from zo.sampling import Draw
from zo.schedule import Schedule
from zo.trainable import Trainable

from ..records import Case
from .arguments import ratio, state, state_after, status, update_rule
from .loss import cross_entropy
from .schedule import rates


class Recording(NamedTuple):
    """Some steps of a run.

    before, after   the tensors
    draws, labels, features, losses, states   of each step
    logits, codes   of each forward pass
    """

    before: list[dict[str, Any]]
    after: dict[str, np.ndarray]
    draws: list[Draw]
    labels: list[np.ndarray]
    features: list[np.ndarray]
    losses: list[int]
    states: list[int]
    logits: list[np.ndarray]
    codes: list[int]


def start(session: Session, parts: Sequence[Any], schedule: Schedule, options: Options) -> Run:
    """A run whose every forward can be recorded, before its first step."""
    options = replace(options, reuse=Reuse(prefix=True, signs=False))
    run = prepare(session, *parts, schedule, options)
    run.start()
    return run


def record(run: Run, steps: int) -> Recording:
    """Train the run's next epoch's first steps, or as many as it has."""
    tensors = run.step.group.tensors
    made = Recording([trainable(run, t) for t in tensors], {}, *([] for _ in range(7)))
    originals = [np.zeros_like(t.state.codes) for t in tensors]
    for number, rows in list(run.batches())[:steps]:
        originals = [t.state.codes.copy() for t in tensors]
        draw = run.draw(number)
        batch = run.train.batch(rows)
        seen: list[Outputs] = []
        made.losses.append(run.step(_watched(run, batch, made, seen), draw))
        made.draws.append(draw)
        made.labels.append(batch.labels.astype(np.int32))
        features = batch.features if batch.features is not None else seen[0].features
        if features is not None:
            made.features.append(features)
        made.states.append(_states(run))
    for i, t in enumerate(tensors):
        path = "tensors" if len(tensors) == 1 else f"tensors.{i}"
        made.after.update(_after(t, path, originals[i]))
    return made


def call(run: Run, made: Recording) -> Case:
    """The call that repeats a recording in C."""
    method, loss = run.options.method, run.step.loss
    entropy = loss if isinstance(loss, CrossEntropy) else cross_entropy_loss(0.05, 10)
    images, classes = made.logits[0].shape
    tape = {
        "labels": np.concatenate(made.labels),
        "logits": np.concatenate(made.logits),
        "features": np.concatenate(made.features) if made.features else None,
        "images": images, "classes": classes,
        "inputs": made.features[0].shape[1] if made.features else 0,
    }  # fmt: skip
    steps, passes = len(made.draws), len(made.logits)
    classifier = run.step.classifier
    given = {
        "tensors": made.before, "count": len(made.before),
        "estimator": ESTIMATORS.index(method.estimator),
        "perturbation": PERTURBATIONS.index(method.perturbation),
        "loss": cross_entropy(entropy), "errors": int(entropy is not loss),
        "feature_zero_point": 0 if classifier is None else classifier.feature_zero_point,
        "tape": tape, "draws": [draw._asdict() for draw in made.draws], "steps": steps,
        "codes": np.zeros(passes, np.int64), "states": np.zeros(steps, np.int64),
        "losses": np.zeros(steps, np.int64),
    }  # fmt: skip
    expected = {"return": status("OK"), "codes": np.array(made.codes), **made.after}
    expected |= {"states": np.array(made.states), "losses": np.array(made.losses)}
    return Case("replay_steps", given, expected)


def trainable(run: Run, t: Trainable) -> dict[str, Any]:
    """A tensor under training in C's form, its arrays copied."""
    saturates = t.rule.rails == FULL_RANGE
    form = {"base": None, "unit": None}
    if t.form is not None:
        form = {"base": t.form.base.copy(), "unit": t.form.unit.copy()}
    none = {"multiplier": None, "right_shift": None, "channels": 0}
    return {
        "stream": t.stream, "k": t.k, "rule": update_rule(t.rule),
        "state": state(t.state), "form": form,
        "array": None if t.array is None else t.array.copy(),
        "exact_scale": none if t.exact_scale is None else ratio(t.exact_scale),
        "rates": rates(run.step.rates[t.name]),
        "original": np.zeros(t.state.codes.size, np.int8) if saturates else None,
    }  # fmt: skip


def _watched(run: Run, batch: Batch, made: Recording, seen: list[Outputs]) -> Batch:
    """The batch, with each of its forward passes noted."""

    first = int(run.options.method.estimator == "central" and not run.step.group.exact)

    def forward() -> Outputs:
        outputs = batch.forward()
        made.codes.append(_checksum(_codes(run), np.uint32(first + len(seen))))
        made.logits.append(outputs.logits.copy())
        seen.append(outputs)
        return outputs

    return replace(batch, forward=forward)


def _codes(run: Run) -> int:
    return _checksum(0, *(part for t in run.step.group.tensors for part in _effect(t)))


def _effect(t: Trainable) -> list[np.ndarray]:
    return [t.state.codes] if t.array is None else [t.state.codes, t.array]


def _states(run: Run) -> int:
    kept = [part for t in run.step.group.tensors for part in (t.state.residual, t.state.momentum)]
    return _checksum(_codes(run), *kept)


def _checksum(start: int, *arrays: np.ndarray) -> int:
    for array in arrays:
        start = zlib.crc32(np.ascontiguousarray(array).tobytes(), start)
    return start


def _after(t: Trainable, path: str, original: np.ndarray) -> dict[str, np.ndarray]:
    """What C must have made of a tensor; original is what its codes were before the last step."""
    found = state_after(t.state, f"{path}.state")
    if t.array is not None and t.form is not None:
        found |= {f"{path}.form.{key}": part for key, part in t.form._asdict().items()}
        found[f"{path}.array"] = t.array
    if t.rule.rails == FULL_RANGE:
        found[f"{path}.original"] = np.zeros_like(original) if t.exact else original
    return {name: np.array(value) for name, value in found.items()}
