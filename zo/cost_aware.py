"""The q that reaches the next improvement at the least predicted cost.

With a rate that follows q, a step of q samples gains as much as q/(q + nu) of a step along the true
gradient, since the estimate's square is (1 + nu/q) times the gradient's. A step costs table[q], so

    q = argmin table[q] * (q + nu) / q,     nu = min(weights, directions) * (1 + shared/slope)

nu is how many directions share the curvature, raised by the share of the coefficients' square that
all samples have in common (curvature, see `gate`): with S = sum_i d_i of one step's differences,
shared is S^2 and slope q*sum_i d_i^2 - S^2, both summed over the epoch. Were a loss curved alike
along all weights, there would be as many directions as weights. Heads on EuroSAT's features have
far fewer: the best rate of q samples is 0.006*q of a unit whose best rate for the true gradient is
2 (see `default_rates`), so samples are as good as it where q is 333. Where a step costs
F + q*s, the minimum is at sqrt(nu*F/s): the dearer what a step needs besides its samples (data,
the unperturbed pass, the update), the larger q should be.

Decisions read the table and integers alone, so bits stay reproducible where the table was timed.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from .budget import Budget, RunShape
from .evidence import Evidence
from .gate import require_differences
from .ladder import at_least, ladder_of
from .metric import Metric
from .schedule import require_settings

DIRECTIONS = 333
"""The ratio of the two rates of a head in `default_rates`, the exact one over that of a sample."""
CostTable = Mapping[int, int]
"""Cost of a step by q, integers above 0 in any one unit."""


class CostAware:
    """Choose the q of each epoch by what the epoch before has measured.

    q0           samples in the first epoch, 2 at least
    q_max        q never exceeds it; a Budget becomes a number when a run begins
    ladder       the values q is chosen from, ascending, below q0 too; None: 2, powers of two, q0,
                 q_max
    costs        the table, for every value of the ladder; None: multiply-accumulates, counted when
                 a run begins; or what makes one from the values, such as a clock's microseconds. It
                 is saved with checkpoints, and a run that goes on takes the saved one
    directions   that share the loss's curvature, at most as many as there are weights
    raises       ValueError for arguments out of range
    """

    wants_halves = False

    def __init__(
        self,
        q0: int = 8,
        *,
        q_max: int | Budget = 64,
        ladder: Sequence[int] | None = None,
        costs: CostTable | Callable[[tuple[int, ...]], CostTable] | None = None,
        directions: int = DIRECTIONS,
    ) -> None:
        self._q = at_least("q0", q0, 2)
        self._q_max, self._ladder, self._given = q_max, ladder, costs
        self._directions = at_least("directions", directions, 1)
        self._rungs = () if isinstance(q_max, Budget) else self._values(q_max)
        self._costs: dict[int, int] = {}
        self._shared = self._slope = self._weights = 0
        if isinstance(costs, Mapping) and self._rungs:
            self._costs = checked_costs(costs, self._rungs)

    @property
    def q(self) -> int:
        """The present number of samples."""
        return self._q

    @property
    def rungs(self) -> tuple[int, ...]:
        """Every q that may occur, ascending; () before a Budget is known."""
        return self._rungs

    @property
    def directions(self) -> int:
        """As given."""
        return self._directions

    @property
    def costs(self) -> dict[int, int]:
        """The table in use; empty before a run begins if it was not given."""
        return dict(self._costs)

    def start(self, shape: RunShape) -> None:
        """Take q_max from a budget and costs from the run, as far as they are not given."""
        require_differences("cost_aware", shape.estimator)
        if isinstance(self._q_max, Budget):
            self._rungs = self._values(self._q_max.q_max(shape, self._q))
        if self._costs:
            return
        given = self._given
        if given is None:
            given = {q: shape.step_cost(q).macs for q in self._rungs}
        made = given if isinstance(given, Mapping) else given(self._rungs)
        self._costs = checked_costs(made, self._rungs)

    def observe(self, evidence: Evidence) -> None:
        """Add a step's coefficients."""
        differences = [int(d) for d in evidence.losses - evidence.base]
        total = sum(differences)
        self._shared += total * total
        self._slope += len(differences) * sum(d * d for d in differences) - total * total
        self._weights = min(evidence.weights, self._directions)

    def step(self, metric: Metric) -> int:
        """The q of the next epoch; the present one where no step has told directions apart."""
        if self._slope:
            nu = self._weights * (1 + Fraction(self._shared, self._slope))
            self._q = cheapest(self._costs, nu)
        self._shared = self._slope = self._weights = 0
        return self._q

    def state_dict(self) -> dict[str, Any]:
        """Settings, the cost table and q, as plain numbers and lists."""
        table = [[q, cost] for q, cost in self._costs.items()]
        settings = {"rungs": list(self._rungs), "directions": self._directions}
        return {"settings": settings, "q": self._q, "costs": table}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from `state_dict` with its cost table; ValueError for other settings."""
        require_settings(self.state_dict(), state, self._rungs)
        self._costs = checked_costs(dict(state["costs"]), self._rungs)
        self._q, self._shared, self._slope, self._weights = int(state["q"]), 0, 0, 0

    def _values(self, q_max: int) -> tuple[int, ...]:
        """The ladder up to q_max: q may fall as well as rise."""
        at_least("q_max", q_max, self._q)
        if self._ladder is None:
            values = sorted({self._q, *ladder_of(2, q_max, None)})
        else:
            values = list(self._ladder)
        if self._q not in values:
            raise ValueError(f"schedule: ladder must hold q0 = {self._q}, got {values}")
        return ladder_of(at_least("ladder", values[0], 2), q_max, values)


def cheapest(costs: CostTable, nu: Fraction) -> int:
    """argmin costs[q] * (q + nu) / q, the smallest q among equals."""
    return min(sorted(costs), key=lambda q: Fraction(costs[q] * (q + nu), q))


def checked_costs(costs: CostTable, rungs: Sequence[int]) -> dict[int, int]:
    """A table of exactly these q; ValueError where one is missing or no integer above 0."""
    for q in rungs:
        cost = costs.get(q)
        if isinstance(cost, bool) or not isinstance(cost, int) or cost < 1:
            raise ValueError(f"costs: must have an integer above 0 for q = {q}, got {cost!r}")
    return {q: costs[q] for q in rungs}
