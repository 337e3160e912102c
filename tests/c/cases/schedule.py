"""Calls of zo/c/rate.c, metric.c, schedule.c, declared.c and early_stopping.c."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from zo import metric
from zo.declared import Declared
from zo.early_stopping import EarlyStopping
from zo.rate import LearningRate, Rates, cosine_table
from zo.schedule import QScheduler

from ..records import Case
from .arguments import ratio, status

DECAYS = ("cosine", "constant")
LARGEST = 2**31 - 1
NONE = {"numerator": 0, "denominator": 0}


def cases(random: np.random.Generator) -> Iterator[Case]:
    for decay in DECAYS:
        for scaling in ("linear", "none"):
            yield from _rates(random, LearningRate(0.01, scaling, decay))
    yield from _gains(random)
    for mode in metric.THRESHOLD_MODES:
        for smoothing in (0.0, 0.9) if mode != "se" else (0.0,):
            for _ in range(4):
                yield from _epochs(random, mode, smoothing)
    yield from _declared(random)
    yield from _refusals()
    yield from _metrics()
    for patience in (1, 4):
        yield from _stopping(random, patience)


def rates(made: Rates) -> dict[str, Any]:
    return {
        "pairs": [ratio(made.pairs[q]) for q in sorted(made.pairs)],
        "rungs": np.array(sorted(made.pairs), np.int32),
        "count": len(made.pairs),
        "decay": DECAYS.index(made.decay),
        "steps": made.steps,
        "cosine": cosine_table(),
    }


def _rates(random: np.random.Generator, rate: LearningRate) -> Iterator[Case]:
    channels, steps = int(random.integers(1, 9)), int(random.choice([1, 7, 1000, 2**32 - 1]))
    made = rate.rates(random.uniform(0.001, 0.1, channels).tolist(), (4, 8, 64), 8, steps)
    for q in (4, 8, 64, 5):
        for t in {0, 1, steps // 3, steps - 1, steps}:
            zeros = np.zeros(channels, np.int32)
            room = {"multiplier": zeros, "right_shift": zeros, "channels": channels}
            given = {"rates": rates(made), "q": q, "t": t, "multiplier": zeros, "rate": room}
            if q == 5:
                expected = {"return": status("BAD_RATE"), "multiplier": zeros}
            else:
                expected = {"return": status("OK"), "multiplier": made.at(q, t).multiplier}
            yield Case("zo_rates_at", given, {**expected, "rate.channels": channels})


def fraction(value: Fraction, denominator: int | None = None) -> dict[str, int]:
    """Over a denominator of choice, since C does not reduce."""
    below = denominator or value.denominator
    return {"numerator": int(value * below), "denominator": below}


def _plateau(rule: metric.Plateau) -> dict[str, Any]:
    mode = metric.THRESHOLD_MODES.index(rule.mode)
    return {"threshold": fraction(rule.threshold), "mode": mode, "sign": rule.sign}


def _gains(random: np.random.Generator) -> Iterator[Case]:
    """Gains at and around the threshold, with totals up to the largest."""
    for _ in range(300):
        mode = str(random.choice(metric.THRESHOLD_MODES))
        threshold = float(random.choice([0.0, 0.005, 1.0, 2.5, 0.123456])) + (mode == "se")
        rule = metric.plateau(threshold, mode, str(random.choice(["max", "min"])))
        total = int(random.choice([1, 200, 1797, 999983, LARGEST]))
        other = total if mode == "se" or random.random() < 0.5 else int(random.integers(1, 2**31))
        best = int(random.integers(0, other + 1))
        near = (Fraction(best, other) + rule.sign * rule.threshold) * total
        n = min(total, max(0, int(near) + int(random.integers(-2, 3))))
        value, reference = Fraction(n, total), Fraction(best, other)
        expected = int(rule.better(value, reference, total))
        given = {"plateau": _plateau(rule), "value": fraction(value, total)}
        given |= {"best": fraction(reference, other), "total": total}
        yield Case("zo_plateau_better", given, {"return": expected})


def q_scheduler(made: QScheduler) -> dict[str, Any]:
    """A scheduler in C's form, from its saved state."""
    saved = made.state_dict()
    settings = saved["settings"]
    rule = metric.Plateau(
        Fraction(settings["threshold"]), settings["threshold_mode"],
        1 if settings["mode"] == "max" else -1,
    )  # fmt: skip
    below = (saved["total"] or 1) << (16 if settings["smoothing"] else 0)
    best = NONE if saved["best"] is None else fraction(Fraction(*saved["best"]), below)
    return {
        "rungs": np.array(settings["rungs"], np.int32),
        "count": len(settings["rungs"]),
        "factor": fraction(Fraction(settings["factor"])),
        **{name: settings[name] for name in ("patience", "cooldown", "smoothing")},
        "plateau": _plateau(rule),
        "q": saved["q"],
        "best": best,
        "level": -1 if saved["level"] is None else saved["level"],
        **{name: saved[name] for name in ("total", "bad_epochs", "cooling")},
    }


def flat(value: dict[str, Any], path: str) -> dict[str, int]:
    """The numbers of nested fields by path."""
    found: dict[str, int] = {}
    for name, inside in value.items():
        if isinstance(inside, dict):
            found |= flat(inside, f"{path}.{name}")
        elif not isinstance(inside, np.ndarray):
            found[f"{path}.{name}"] = inside
    return found


def _epochs(random: np.random.Generator, mode: str, smoothing: float) -> Iterator[Case]:
    """A run of one scheduler; every epoch is a call from the state that Python reached."""
    made = QScheduler(
        q0=int(random.choice([1, 8, 12])), q_max=int(random.choice([12, 64, 100])),
        factor=float(random.choice([1.1, 1.5, 2.0, 3.0])), patience=int(random.integers(1, 4)),
        threshold=float(random.choice([0.005, 0.02])) if mode != "se" else 1.0,
        threshold_mode=mode, mode=str(random.choice(["max", "min"])), smoothing=smoothing,
        cooldown=int(random.integers(0, 3)),
    )  # fmt: skip
    total, n = int(random.choice([100, 5400, LARGEST])), 50
    for _ in range(15):
        n = min(total, max(0, n + int(random.integers(-total // 50 - 1, total // 40 + 2))))
        given = {"scheduler": q_scheduler(made), "metric": {"correct": n, "total": total}}
        made.step((n, total))
        expected = flat(q_scheduler(made), "scheduler")
        yield Case("zo_q_scheduler_step", given, {"return": status("OK"), **expected})


def _declared(random: np.random.Generator) -> Iterator[Case]:
    """Plans of one q and of many, to the last epoch and beyond."""
    for changes in (1, 2, 9):
        epochs = {0, *random.integers(1, 30, changes - 1).tolist()}
        made = Declared({epoch: int(random.integers(1, 1025)) for epoch in epochs})
        plan = {
            "epochs": np.array([*made.plan], np.int32),
            "plan": np.array([*made.plan.values()], np.int32),
            "count": len(made.plan),
        }
        for epoch in range(32):
            given = {"declared": {**plan, "epoch": epoch}, "metric": {"correct": 1, "total": 2}}
            expected = {"return": made.step((1, 2)), "declared.epoch": epoch + 1}
            yield Case("zo_declared_step", given, {**expected, "declared.count": len(made.plan)})


def _refusals() -> Iterator[Case]:
    for smoothing, mode in ((0.0, "abs"), (0.5, "abs"), (0.0, "se")):
        made = QScheduler(threshold_mode=mode, threshold=1.0, smoothing=smoothing, q_max=64)
        made.step((50, 100))
        same = flat(q_scheduler(made), "scheduler")
        for correct, total in ((-1, 100), (101, 100), (0, 0), (0, -1)):
            given = {"scheduler": q_scheduler(made), "metric": {"correct": correct, "total": total}}
            yield Case("zo_q_scheduler_step", given, {"return": status("BAD_METRIC"), **same})
        if mode == "se" or smoothing:
            given = {"scheduler": q_scheduler(made), "metric": {"correct": 60, "total": 101}}
            yield Case("zo_q_scheduler_step", given, {"return": status("BAD_METRIC"), **same})


def _metrics() -> Iterator[Case]:
    for correct, total in ((0, 1), (7, 7), (8, 7), (-1, 7), (0, 0), (0, -1), (LARGEST, LARGEST)):
        given = {"metric": {"correct": correct, "total": total}, "value": NONE}
        legal = 0 <= correct <= total and total > 0
        value = {"numerator": correct, "denominator": total} if legal else NONE
        result = {"return": status("OK" if legal else "BAD_METRIC"), **flat(value, "value")}
        yield Case("zo_read_metric", given, result)


def _early_stopping(made: EarlyStopping, patience: int, total: int) -> dict[str, Any]:
    saved = made.state_dict()
    best = NONE if saved["best"] is None else fraction(Fraction(*saved["best"]), total)
    return {"patience": patience, "best": best, "stagnant": saved["stagnant"], "q": saved["q"]}


def _stopping(random: np.random.Generator, patience: int) -> Iterator[Case]:
    made, total, q = EarlyStopping(patience), int(random.choice([10, LARGEST])), 8
    for _ in range(40):
        q *= 1 + int(random.random() < 0.2)
        n = int(random.integers(0, total + 1))
        given = {"stopping": _early_stopping(made, patience, total), "q": q}
        given |= {"metric": {"correct": n, "total": total}, "stop": np.array([5], np.int32)}
        stop = np.array([made.step((n, total), q)], np.int32)
        expected = flat(_early_stopping(made, patience, total), "stopping")
        result = {"return": status("OK"), **expected, "stop": stop}
        yield Case("zo_early_stopping_step", given, result)
    given = {**given, "stopping": _early_stopping(made, patience, total)}
    given["metric"] = {"correct": 2, "total": 1}
    result = {"return": status("BAD_METRIC"), **expected, "stop": given["stop"]}
    yield Case("zo_early_stopping_step", given, result)
