"""Schedules that raise q when what a step measures is mostly noise.

When a step is noisy stands in `evidence`, for three measures and a threshold t. An epoch is noisy
when more than half of its steps are; q rises after `patience` noisy epochs in a row. Everything is
an integer or an exact fraction.

`split_half` is FwdLLM's variance gate with absolute values: two estimates of one gradient must
agree. `coefficients` compares what tells directions apart with what all of them share, which for
one-sided differences is curvature: it grows beside the slope as training converges, and only more
samples average it away. `dead_zone` asks whether the steps are too small to move a code.
Source: FwdLLM (arXiv 2308.13894).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from .budget import Budget, RunShape
from .evidence import MEASURES, Evidence, is_noisy
from .ladder import at_least, ladder_of, rung_above
from .metric import Metric, exact_decimal
from .schedule import require_settings

LARGEST_Q = 1 << 15
"""So that sums over the samples of a step fit int64."""
THRESHOLDS = {"split_half": 1.0, "coefficients": 1.0, "dead_zone": 0.9}


class Gate:
    """Raise q along a ladder after noisy epochs.

    measure     one of MEASURES
    q0          samples at the start; 2 at least but under dead_zone
    patience    noisy epochs in a row until q rises by a rung, at least 1
    q_max       q never exceeds it; a Budget becomes a number when a run begins
    threshold   t above, a decimal; None: 1, and 0.9 under dead_zone
    ladder      as of QScheduler
    raises      ValueError for arguments out of range
    """

    def __init__(
        self,
        measure: str,
        q0: int = 8,
        patience: int = 1,
        *,
        q_max: int | Budget = 64,
        threshold: float | None = None,
        ladder: Sequence[int] | None = None,
    ) -> None:
        if measure not in MEASURES:
            raise ValueError(
                f"schedule: measure must be one of {', '.join(MEASURES)}, got {measure!r}"
            )
        at_least("q0", q0, 1 if measure == "dead_zone" else 2)
        self._measure, self._ladder, self._q_max = measure, ladder, q_max
        self._patience = at_least("patience", patience, 1)
        self._threshold = exact_decimal(
            "threshold", THRESHOLDS[measure] if threshold is None else threshold
        )
        if not 0 < self._threshold < 1 << 20:
            raise ValueError(f"schedule: threshold must be above 0 and below 2^20, got {threshold}")
        self._q, self._noisy_epochs, self._noisy_steps, self._steps = q0, 0, 0, 0
        self._rungs = () if isinstance(q_max, Budget) else ladder_of(q0, q_max, ladder)

    @property
    def q(self) -> int:
        """The present number of samples."""
        return self._q

    @property
    def rungs(self) -> tuple[int, ...]:
        """Every q that may occur, ascending; () before a Budget is known."""
        return self._rungs

    @property
    def wants_halves(self) -> bool:
        """Whether it compares halves of the samples."""
        return self._measure == "split_half"

    def start(self, shape: RunShape) -> None:
        """Take q_max from a budget; ValueError for coefficients under central."""
        if self._measure == "coefficients":
            require_differences(self._measure, shape.estimator)
        if isinstance(self._q_max, Budget):
            self._rungs = ladder_of(self._q, self._q_max.q_max(shape, self._q), self._ladder)
        if self._rungs[-1] > LARGEST_Q:
            raise ValueError(f"schedule: q must be {LARGEST_Q} at most, got {self._rungs[-1]}")

    def observe(self, evidence: Evidence) -> None:
        """Count a step, and whether it is noisy."""
        self._steps += 1
        self._noisy_steps += is_noisy(self._measure, evidence, self._threshold)

    def step(self, metric: Metric) -> int:
        """The q of the next epoch, by the steps observed since the last call."""
        noisy = 2 * self._noisy_steps > self._steps
        self._noisy_epochs = self._noisy_epochs + 1 if noisy else 0
        self._noisy_steps = self._steps = 0
        if self._noisy_epochs >= self._patience:
            self._noisy_epochs = 0
            self._q = rung_above(self._rungs, self._q)
        return self._q

    @property
    def noisy_epochs(self) -> int:
        """Noisy epochs in a row, so far."""
        return self._noisy_epochs

    def state_dict(self) -> dict[str, Any]:
        """Settings and state between two epochs, as plain numbers and lists."""
        return {"settings": self._settings(), "q": self._q, "noisy_epochs": self._noisy_epochs}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from `state_dict`; ValueError unless the settings are the same."""
        require_settings(self.state_dict(), state, self._rungs)
        self._q, self._noisy_epochs = int(state["q"]), int(state["noisy_epochs"])
        self._noisy_steps = self._steps = 0

    def _settings(self) -> dict[str, Any]:
        return {
            "measure": self._measure,
            "rungs": list(self._rungs),
            "patience": self._patience,
            "threshold": str(self._threshold),
        }


def require_differences(name: str, estimator: str) -> None:
    """ValueError under an estimator whose samples have no loss of their own beside L_0."""
    if estimator == "central":
        raise ValueError(
            f"schedule: {name} must have the differences L_i - L_0, got estimator central, which "
            "does without; use one_sided"
        )
