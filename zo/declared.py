"""Schedules that know every q in advance: constant, declared, a ramp, a power of the epoch.

    linear_ramp   q_e = q0 + (q_max - q0)*e/(epochs - 1), rounded to nearest   (MeZO's appendix)
    epoch_power   q_e = min(q_max, q0 * (e + 1)^power), rounded up             (AdaZeta)

for e = 0, 1, ... Each is a plan of integers made before the run, so a step never computes a power.
Sources: MeZO (arXiv 2305.17333), AdaZeta (arXiv 2406.18060).
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any

from .fixed_point import round_half_up
from .ladder import at_least
from .metric import Metric, exact_decimal

_EXACT, _SHORT = Context(prec=40), Context(prec=30)


class Constant:
    """The same q in every epoch."""

    def __init__(self, q: int) -> None:
        self.q = at_least("q", q, 1)
        self.rungs: tuple[int, ...] = (self.q,)

    def step(self, metric: Metric) -> int:
        """q, whatever the metric is."""
        return self.q

    def state_dict(self) -> dict[str, Any]:
        """The q, to be checked on loading."""
        return {"q": self.q}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Raise ValueError unless the state is of the same q."""
        if dict(state) != self.state_dict():
            saved = state["q"] if set(state) == {"q"} else "another schedule"
            raise ValueError(f"schedule: constant q must be as saved, {saved}, got {self.q}")


class Declared:
    """q by epoch: {0: 8, 20: 16, 50: 64} is 8 in epochs 0-19, 16 in 20-49, 64 from then on.

    raises   ValueError without epoch 0, or for an epoch or q out of range
    """

    def __init__(self, plan: Mapping[int, int]) -> None:
        if 0 not in plan:
            raise ValueError(f"schedule: a plan must say q for epoch 0, got {dict(plan)}")
        self._epochs = sorted(at_least("epoch", epoch, 0) for epoch in plan)
        self._plan = [at_least("q", plan[epoch], 1) for epoch in self._epochs]
        self._epoch = 0

    @property
    def q(self) -> int:
        """The present number of samples."""
        return self._plan[bisect_right(self._epochs, self._epoch) - 1]

    @property
    def rungs(self) -> tuple[int, ...]:
        """Every q of the plan, ascending."""
        return tuple(sorted(set(self._plan)))

    @property
    def plan(self) -> dict[int, int]:
        """q by the first epoch that uses it, ascending."""
        return dict(zip(self._epochs, self._plan, strict=True))

    def step(self, metric: Metric) -> int:
        """The q of the next epoch, whatever the metric is."""
        self._epoch += 1
        return self.q

    def state_dict(self) -> dict[str, Any]:
        """The plan and how many epochs are done."""
        return {"epochs": self._epochs, "plan": self._plan, "epoch": self._epoch}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue; ValueError unless the state is of the same plan."""
        mine = self.state_dict()
        if set(state) != set(mine) or any(state[key] != mine[key] for key in ("epochs", "plan")):
            raise ValueError(f"schedule: the plan must be as saved, {dict(state)}, got {mine}")
        self._epoch = at_least("epoch", state["epoch"], 0)


def linear_ramp(q0: int, q_max: int, epochs: int) -> Declared:
    """q in equal steps from q0 in the first of so many epochs to q_max in the last.

    raises   ValueError unless 1 <= q0 <= q_max and epochs >= 2
    """
    at_least("q_max", q_max, at_least("q0", q0, 1))
    last = at_least("epochs", epochs, 2) - 1
    return _steps(q0 + round_half_up(Fraction((q_max - q0) * e, last)) for e in range(epochs))


def epoch_power(q0: int, q_max: int, epochs: int, power: float = 0.5) -> Declared:
    """q0 times a power of the number of the epoch, from 1, rounded up, and q_max at most.

    raises   ValueError unless 1 <= q0 <= q_max, epochs >= 1 and 0 < power <= 4
    """
    at_least("q_max", q_max, at_least("q0", q0, 1))
    exact = exact_decimal("power", power)
    if not 0 < exact <= 4:
        raise ValueError(f"schedule: power must be above 0 and at most 4, got {power!r}")
    exponent = _EXACT.divide(Decimal(exact.numerator), Decimal(exact.denominator))
    numbers = range(1, at_least("epochs", epochs, 1) + 1)
    return _steps(min(q_max, _rounded_up(q0 * _power(e, exponent))) for e in numbers)


def _power(base: int, exponent: Decimal) -> Decimal:
    return _EXACT.power(Decimal(base), exponent)


def _rounded_up(x: Decimal) -> int:
    """The ceiling, but for the last digits of a power that is an integer."""
    return int(_SHORT.plus(x).to_integral_value(ROUND_CEILING))


def _steps(values: Iterable[int]) -> Declared:
    """The plan with only the epochs in which q changes."""
    plan: dict[int, int] = {}
    last = 0
    for epoch, q in enumerate(values):
        if q != last:
            plan[epoch] = last = q
    return Declared(plan)
