"""How a run trains, as C: the fields of `struct zo_run` and of what it points at."""

from fractions import Fraction

import numpy as np

from npusim.export.model import Model

from ..cost_aware import CostAware
from ..declared import Declared
from ..gate import Gate
from ..loss import CrossEntropy, log_table
from ..options import BY_FUNCTION, name_of
from ..run import Run
from ..run_state import require_twin
from ..schedule import QScheduler, Schedule
from .network import Network, source_fields
from .tensors import Fields, Parts

_NONE = {"numerator": 0, "denominator": 0}
_LARGEST_PART = 2**31 - 1
LIMBS = 10
"""Of a wide number in C, ZO_WIDE_LIMBS."""


def require_twins(run: Run) -> None:
    """Refuse what C does not have.

    raises   ValueError
    """
    if not isinstance(run.step.loss, CrossEntropy):
        name = type(run.step.loss).__name__
        raise ValueError(f"export: loss must be cross-entropy of the logits in C, got {name}")
    for what in BY_FUNCTION:
        choice = getattr(run.options.method, what)
        if callable(choice):
            raise ValueError(f"export: {what} must be one of zo's in C, got {name_of(choice)}")
    require_twin(run.scheduler, "export")
    if run.train.originals != len(run.train):
        raise ValueError("export: training images must be originals in C, got augmented ones")


def scaled_fields(parts: Parts, model: Model, run: Run) -> list[Fields]:
    """The tensors whose channels' scales may double."""
    if not run.options.method.recalibrate:
        return []
    tensors = run.step.group.tensors
    found: list[Fields] = []
    for k, t in enumerate(tensors):
        if t.form is not None:
            continue
        biases = (i for i, o in enumerate(tensors) if o.node == t.node and o.form is not None)
        node = model.graph.node(t.node)
        doubled = parts.zeros(f"tensor_{k}_doubled", "int32_t", t.state.doublings.size)
        found.append({
            "tensor": k,
            "bias": model.names.constants[node.inputs[2]],
            "shift": model.parameter(t.node, "shift"),
            "doubled": doubled,
            "codes": next(biases, len(tensors)),
        })  # fmt: skip
    return found


def run_fields(parts: Parts, model: Model, run: Run, network: Network, scaled: int) -> Fields:
    """Of `struct zo_run`.

    scaled   how many tensors may have doubled scales
    """
    options, classifier = run.options, run.step.classifier
    memory = network.memory(parts, options.batch)
    assert classifier is not None
    recalibrates = options.method.recalibrate
    return {
        "step": _step_fields(parts, run),
        "train": source_fields(parts, network, memory, "train", len(run.train)),
        "validation": source_fields(parts, network, memory, "validation", len(run.validation)),
        "scaled": "scaled" if scaled else "NULL",
        "scaled_count": scaled,
        "logit_shift": model.parameter(classifier.node, "shift") if recalibrates else "NULL",
        "scheduler": _scheduler_fields(parts, run.scheduler),
        "declared": _declared_fields(parts, run.scheduler),
        "gate": _gate_fields(parts, run.scheduler),
        "cost_aware": _cost_aware_fields(parts, run.scheduler),
        "stopping": {"patience": options.stop_after, "best": _NONE, "stagnant": 0, "q": 0},
        "seed": f"{options.seed}u",
        "epochs": options.epochs,
        "batch": options.batch,
        "order": parts.zeros("order", "int32_t", len(run.train)),
        "epoch": 0,
        "stagnates": 0,
    }


def _step_fields(parts: Parts, run: Run) -> Fields:
    method, group, classifier = run.options.method, run.step.group, run.step.classifier
    assert classifier is not None
    q = max(run.scheduler.rungs)
    channels = max(t.state.doublings.size for t in group.tensors)
    errors = run.options.batch * classifier.classes if group.exact else 0
    return {
        "tensors": "tensors",
        "count": len(group.tensors),
        "estimator": f"ZO_ESTIMATOR_{name_of(method.estimator).upper()}",
        "perturbation": f"ZO_PERTURBATION_{method.perturbation.upper()}",
        "loss": _loss_fields(parts, run),
        "user_loss": "NULL",
        "feature_zero_point": classifier.feature_zero_point,
        "losses": parts.zeros("losses", "int64_t", 2 * q if method.estimator == "central" else q),
        "c": parts.zeros("coefficients", "int64_t", q),
        "error": parts.zeros("error", "int32_t", errors),
        "multiplier": parts.zeros("rate_multiplier", "int32_t", channels),
        "right_shift": parts.zeros("exact_right_shift", "int32_t", channels),
        "watcher": {"gate": "NULL", "cost_aware": "NULL"},
    }


def _loss_fields(parts: Parts, run: Run) -> Fields:
    loss = run.step.loss
    assert isinstance(loss, CrossEntropy)
    tables = {
        "exp": parts.constant("exp_table", loss.tables.exp, "(7, 256): 2^20 * exp(-2^e*s*d)"),
        "loss": parts.constant("loss_table", loss.tables.loss, "(7, 256): 2^16 * 2^e*s*d"),
    }
    log = parts.constant("log_table", np.asarray(log_table()), "2^24 * ln(1 + i/256)")
    return {"classes": loss.classes, "tables": tables, "exponent": loss.exponent, "log": log}


def _scheduler_fields(parts: Parts, schedule: Schedule) -> Fields:
    rungs = _rungs(parts, schedule)
    rising = (
        schedule if isinstance(schedule, QScheduler) else QScheduler(schedule.q, q_max=schedule.q)
    )
    settings = rising.state_dict()["settings"]
    return {
        "rungs": rungs,
        "count": len(schedule.rungs),
        "factor": _fraction(settings["factor"], "factor"),
        "patience": settings["patience"],
        "cooldown": settings["cooldown"],
        "smoothing": settings["smoothing"],
        "plateau": {
            "threshold": _fraction(settings["threshold"], "threshold"),
            "mode": f"ZO_THRESHOLD_{settings['threshold_mode'].upper()}",
            "sign": 1 if settings["mode"] == "max" else -1,
        },
        "q": schedule.q,
        "best": _NONE,
        "level": -1,
        "total": 0,
        "bad_epochs": 0,
        "cooling": 0,
    }


def _rungs(parts: Parts, schedule: Schedule) -> str:
    return parts.constant("rungs", np.array(schedule.rungs, np.int32), "every q that may occur")


def _gate_fields(parts: Parts, schedule: Schedule) -> Fields:
    settings = {"measure": "dead_zone", "patience": 1, "threshold": "1"}
    rungs, count = "NULL", 0
    if isinstance(schedule, Gate):
        settings = schedule.state_dict()["settings"]
        rungs, count = _rungs(parts, schedule), len(schedule.rungs)
    return {
        "measure": f"ZO_MEASURE_{str(settings['measure']).upper()}",
        "rungs": rungs,
        "count": count,
        "patience": settings["patience"],
        "threshold": _fraction(str(settings["threshold"]), "threshold"),
        "q": schedule.q,
        "noisy_epochs": 0,
        "noisy_steps": 0,
        "steps": 0,
    }


def _cost_aware_fields(parts: Parts, schedule: Schedule) -> Fields:
    rungs = costs = shared = slope = "NULL"
    count, directions = 0, 1
    if isinstance(schedule, CostAware):
        rungs, count = _rungs(parts, schedule), len(schedule.rungs)
        directions = schedule.directions
        table = np.array([*schedule.costs.values()], np.int64)
        costs = parts.array("costs", table, "of a step with each q", writable=True)
        shared, slope = (parts.zeros(f"epoch_{n}", "uint32_t", LIMBS) for n in ("shared", "slope"))
    return {
        "rungs": rungs,
        "directions": directions,
        "costs": costs,
        "count": count,
        "q": schedule.q,
        "shared": shared,
        "slope": slope,
        "weights": 0,
    }


def _declared_fields(parts: Parts, schedule: Schedule) -> Fields:
    if not isinstance(schedule, Declared):
        return {"epochs": "NULL", "plan": "NULL", "count": 0, "epoch": 0}
    plan = schedule.plan
    epochs = parts.constant("plan_epochs", np.array([*plan], np.int32), "first epoch of each q")
    samples = parts.constant("plan", np.array([*plan.values()], np.int32), "q of these epochs")
    return {"epochs": epochs, "plan": samples, "count": len(plan), "epoch": 0}


def _fraction(text: str, what: str) -> Fields:
    """Of the two integers of an exact decimal; ValueError where C's products could overflow."""
    value = Fraction(text)
    if max(value.numerator, value.denominator) > _LARGEST_PART:
        raise ValueError(
            f"export: {what} must be a fraction of integers below 2^31 in C, got {value}; give it "
            "with fewer digits"
        )
    return {"numerator": value.numerator, "denominator": value.denominator}
