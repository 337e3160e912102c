"""A function as a schedule."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .ladder import at_least
from .metric import Metric


class UserSchedule:
    """q by any function of what an epoch came to.

    function   (epochs done, metric) -> the q of the next epoch, one of rungs; the metric is
               (correct, total) of the validation images. A run that is resumed calls it only for
               the epochs that are left, so it should go by its arguments alone
    rungs      every q that may occur, ascending; the first epoch takes q0
    q0         one of rungs; the first if None
    raises     ValueError for rungs that do not ascend or lack q0
    """

    def __init__(
        self,
        function: Callable[[int, Metric], int],
        rungs: Sequence[int],
        q0: int | None = None,
    ) -> None:
        self._function = function
        self.rungs: tuple[int, ...] = tuple(at_least("q", q, 1) for q in rungs)
        if not self.rungs or list(self.rungs) != sorted(set(self.rungs)):
            raise ValueError(f"schedule: rungs must ascend, got {self.rungs}")
        self.q = self._checked(self.rungs[0] if q0 is None else q0, "q0")
        self._epoch = 0

    def step(self, metric: Metric) -> int:
        """What the function says; ValueError where it is none of the rungs."""
        self._epoch += 1
        name = getattr(self._function, "__name__", "schedule")
        self.q = self._checked(self._function(self._epoch, metric), name)
        return self.q

    def state_dict(self) -> dict[str, Any]:
        """Rungs, q and how many epochs are done."""
        return {"rungs": list(self.rungs), "q": self.q, "epoch": self._epoch}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue; ValueError unless the state is of the same rungs."""
        mine = self.state_dict()
        if set(state) != set(mine) or state["rungs"] != mine["rungs"]:
            raise ValueError(f"schedule: rungs must be as saved, {dict(state)}, got {mine}")
        self.q, self._epoch = self._checked(state["q"], "q"), int(state["epoch"])

    def _checked(self, q: int, where: str) -> int:
        if q not in self.rungs:
            raise ValueError(f"{where}: must give one of the rungs {self.rungs}, got {q!r}")
        return int(q)
