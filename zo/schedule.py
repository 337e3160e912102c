"""How many perturbations q an epoch uses: what a schedule is, and QScheduler.

QScheduler raises q when the metric has not improved for `patience` epochs, as PyTorch's
ReduceLROnPlateau lowers a rate. Decisions are made in integers and fractions, so they are the same
everywhere. Differences to PyTorch: q rises when the count of bad epochs *reaches* patience (PyTorch
acts when it exceeds it), and thresholds are fractions of 1 (0.005 is half a point).

Source: "QScheduler" (arXiv 2607.18802), whose threshold is not given: ours is 0.005.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

from .budget import Budget, RunShape
from .fixed_point import round_half_up, rs
from .ladder import at_least, factor_above_one, ladder_of, next_rung
from .metric import Metric, exact_decimal, plateau, read_metric


@runtime_checkable
class Schedule(Protocol):
    """What training asks of a schedule: the present q, every q that may come, and the next one."""

    @property
    def q(self) -> int: ...

    @property
    def rungs(self) -> tuple[int, ...]: ...

    def step(self, metric: Metric) -> int: ...

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None: ...


class QScheduler:
    """Raise q along a ladder when the metric stagnates.

    q0              samples at the start
    factor          q is multiplied by it, then rounded up to the ladder
    patience        epochs without a better metric until q rises, at least 1
    q_max           q never exceeds it; a Budget becomes a number when a run begins
    threshold       by how much a metric must beat the best, see `Plateau`
    threshold_mode  "abs", "rel" or "se" (needs counts; no smoothing; threshold in standard errors)
    mode            "max" or "min"
    ladder          allowed values of q, ascending, with q0 among them; None: q0, powers
                    of two, q_max
    smoothing       weight of the past in a running mean of the metric, 0 <= smoothing < 1 (Q15)
    cooldown        epochs after a rise during which bad epochs do not count
    raises          ValueError for arguments out of range
    """

    def __init__(
        self,
        q0: int = 8,
        factor: float = 2.0,
        patience: int = 5,
        *,
        q_max: int | Budget = 64,
        threshold: float = 0.005,
        threshold_mode: str = "abs",
        mode: str = "max",
        ladder: Sequence[int] | None = None,
        smoothing: float = 0.0,
        cooldown: int = 0,
    ) -> None:
        self._ladder, self._q_max = ladder, q_max
        self._rungs = () if isinstance(q_max, Budget) else ladder_of(q0, q_max, ladder)
        self._factor = factor_above_one(factor)
        self._patience = at_least("patience", patience, 1)
        self._cooldown = at_least("cooldown", cooldown, 0)
        self._smoothing = _q15(smoothing)
        self._plateau = plateau(threshold, threshold_mode, mode)
        if threshold_mode == "se" and self._smoothing:
            raise ValueError(
                f"schedule: threshold_mode 'se' takes no smoothing, got {smoothing}; set either"
            )
        self._q = at_least("q0", q0, 1)
        self._best: Fraction | None = None
        self._level: int | None = None
        self._total = 0
        self._bad_epochs = 0
        self._cooling = 0

    @property
    def q(self) -> int:
        """The present number of samples."""
        return self._q

    @property
    def rungs(self) -> tuple[int, ...]:
        """Every q that may occur, ascending; () before a Budget is known."""
        return self._rungs

    @property
    def best(self) -> float | None:
        """The best metric so far (smoothed, with smoothing), or None."""
        return None if self._best is None else float(self._best)

    @property
    def bad_epochs(self) -> int:
        """Epochs since the last better metric or rise of q."""
        return self._bad_epochs

    def start(self, shape: RunShape) -> None:
        """Take q_max from a budget; ValueError where it does not reach q0."""
        if isinstance(self._q_max, Budget):
            self._rungs = ladder_of(self._q, self._q_max.q_max(shape, self._q), self._ladder)

    def step(self, metric: Metric) -> int:
        """Take an epoch's metric and return the q of the next epoch.

        metric   a fraction in 0..1, or counts (correct, total); a float stands for the nearest
                 fraction with a denominator up to a million, so both forms decide alike
        raises   ValueError outside 0..1 with an absolute threshold below 1, since q would then
                 climb whatever the metric does; TypeError for other kinds of metric
        """
        value, total = self._read(metric)
        if self._smoothing:
            value = self._smooth(value, total)
        if self._best is None or self._plateau.better(value, self._best, total):
            self._best, self._bad_epochs = value, 0
        else:
            self._bad_epochs += 1
        if self._cooling:
            self._cooling -= 1
            self._bad_epochs = 0
        if self._bad_epochs >= self._patience:
            self._bad_epochs = 0
            self._raise_q()
        return self._q

    def state_dict(self) -> dict[str, Any]:
        """Everything a later `load_state_dict` needs, as plain ints, strings and lists (JSON)."""
        best = self._best
        return {
            "settings": self._settings(),
            "q": self._q,
            "best": None if best is None else [best.numerator, best.denominator],
            "level": self._level,
            "total": self._total,
            "bad_epochs": self._bad_epochs,
            "cooling": self._cooling,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from `state_dict`; ValueError unless the settings are the same."""
        require_settings(self.state_dict(), state, self._rungs)
        self._q = int(state["q"])
        self._best = None if state["best"] is None else Fraction(*state["best"])
        self._level = None if state["level"] is None else int(state["level"])
        self._total = int(state["total"])
        self._bad_epochs = int(state["bad_epochs"])
        self._cooling = int(state["cooling"])

    def _settings(self) -> dict[str, Any]:
        return {
            "rungs": list(self._rungs),
            "factor": str(self._factor),
            "patience": self._patience,
            "threshold": str(self._plateau.threshold),
            "threshold_mode": self._plateau.mode,
            "mode": "max" if self._plateau.sign > 0 else "min",
            "smoothing": self._smoothing,
            "cooldown": self._cooldown,
        }

    def _read(self, metric: Metric) -> tuple[Fraction, int]:
        """The metric as a fraction, and the total it was counted over (a million for a float)."""
        value, total = read_metric(metric)
        rule, fixed_total = self._plateau, self._plateau.mode == "se" or self._smoothing > 0
        if rule.mode == "abs" and rule.threshold < 1 and not 0 <= value <= 1:
            raise ValueError(
                f"schedule: metric must be a fraction in 0..1 for an absolute threshold of "
                f"{float(rule.threshold)}, got {metric!r}, and q would climb whatever happens; "
                "pass (correct, total) or threshold_mode='rel'"
            )
        if rule.mode == "se" and not isinstance(metric, tuple):
            raise TypeError(f"schedule: mode 'se' needs (correct, total), got {metric!r}")
        if fixed_total and self._total not in (0, total):
            raise ValueError(
                f"schedule: with 'se' or smoothing the total must stay {self._total}, got {total}"
            )
        self._total = total
        return value, total

    def _smooth(self, value: Fraction, total: int) -> Fraction:
        """M += rs(((n << 16) - M)*(32768 - s15), 15); M starts at the first n << 16."""
        now = round_half_up(value * total) << 16
        level = now if self._level is None else self._level
        self._level = level + rs((now - level) * ((1 << 15) - self._smoothing), 15)
        return Fraction(self._level, total << 16)

    def _raise_q(self) -> None:
        if self._q == self._rungs[-1]:
            return
        self._q = next_rung(self._rungs, self._q, self._factor)
        self._cooling = self._cooldown


def require_settings(
    mine: Mapping[str, Any], state: Mapping[str, Any], rungs: Sequence[int]
) -> None:
    """ValueError unless a saved state is of this kind of schedule, with the same settings.

    mine    the present `state_dict`, with its "settings" and "q"
    rungs   every q that may occur
    """
    if set(state) != set(mine):
        raise ValueError(
            f"schedule: a state holds {', '.join(mine)}, got {', '.join(map(str, state))}"
        )
    for name, value in mine["settings"].items():
        saved = state["settings"].get(name)
        if saved != value:
            raise ValueError(
                f"schedule: {name} must be as saved, {saved!r}, got {value!r}; "
                "build the scheduler with the saved settings"
            )
    if state["q"] not in rungs:
        raise ValueError(f"schedule: q must be one of {tuple(rungs)}, got {state['q']!r}")


def _q15(smoothing: float) -> int:
    scaled = round_half_up(exact_decimal("smoothing", smoothing) * (1 << 15))
    if not 0 <= scaled < 1 << 15:
        raise ValueError(f"schedule: smoothing must be 0 <= s < 1, got {smoothing!r}")
    return scaled
