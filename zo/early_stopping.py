"""When a run has been without a better accuracy for too long."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from .ladder import at_least
from .metric import Metric, read_metric


class EarlyStopping:
    """Stop after `patience` epochs without a new best; a rise of q starts the count again.

    Without that restart a run that climbs from q = 8 to 1024 would stop on its way.
    """

    def __init__(self, patience: int = 30) -> None:
        self._patience = at_least("patience", patience, 1)
        self._best: Fraction | None = None
        self._stagnant = 0
        self._q = 0

    def step(self, metric: Metric, q: int) -> bool:
        """Take an epoch's metric and the q of the next epoch; True when training should stop."""
        value = read_metric(metric)[0]
        if self._best is None or value > self._best:
            self._best, self._stagnant = value, 0
        else:
            self._stagnant += 1
        if q > self._q:
            self._q, self._stagnant = q, 0
        return self._stagnant >= self._patience

    def state_dict(self) -> dict[str, Any]:
        """Best metric, count and q, as plain ints and lists."""
        best = self._best
        pair = None if best is None else [best.numerator, best.denominator]
        return {"best": pair, "stagnant": self._stagnant, "q": self._q}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from `state_dict`."""
        self._best = None if state["best"] is None else Fraction(*state["best"])
        self._stagnant, self._q = int(state["stagnant"]), int(state["q"])
