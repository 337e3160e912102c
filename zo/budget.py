"""The largest q that a run can afford, so that no sweep is needed to choose it."""

from collections.abc import Callable
from dataclasses import dataclass

from .cost import Cost

LARGEST_Q = 1 << 20


@dataclass(frozen=True)
class RunShape:
    """What a schedule is told of a run before its first step.

    steps       of all epochs
    step_cost   of one step with q samples
    estimator   of the gradient
    """

    steps: int
    step_cost: Callable[[int], Cost]
    estimator: str


@dataclass(frozen=True)
class Budget:
    """Limits that every step of the largest q keeps; those left out are not limited.

    forwards   batch forwards of a whole run, if all its steps were of that q
    macs       multiply-accumulates of the same
    per_step   batch forwards of a single step
    raises     ValueError where nothing is limited, or a limit is below 1
    """

    forwards: int | None = None
    macs: int | None = None
    per_step: int | None = None

    def __post_init__(self) -> None:
        if not self._given():
            raise ValueError("budget: must limit forwards, macs or per_step, got none")
        for name, limit in self._given():
            if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
                raise ValueError(f"budget: {name} must be an integer above 0, got {limit!r}")

    def q_max(self, shape: RunShape, q0: int) -> int:
        """The largest q within the limits; ValueError where q0 is beyond them."""
        if not self.allows(shape, q0):
            cost = shape.step_cost(q0)
            raise ValueError(
                f"budget: must allow q0 = {q0}, which takes {cost.forwards} forwards a step, "
                f"{shape.steps * cost.forwards} forwards and {shape.steps * cost.macs} MACs in "
                f"{shape.steps} steps, got {', '.join(f'{n} = {v}' for n, v in self._given())}"
            )
        low, high = q0, LARGEST_Q
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.allows(shape, middle) else (low, middle - 1)
        return low

    def _given(self) -> list[tuple[str, int]]:
        """Names and values of the limits."""
        limits = [(name, getattr(self, name)) for name in ("forwards", "macs", "per_step")]
        return [(name, limit) for name, limit in limits if limit is not None]

    def allows(self, shape: RunShape, q: int) -> bool:
        """Whether steps of q samples keep every limit."""
        cost = shape.step_cost(q)
        spent = (shape.steps * cost.forwards, shape.steps * cost.macs, cost.forwards)
        limits = (self.forwards, self.macs, self.per_step)
        return all(limit is None or s <= limit for s, limit in zip(spent, limits, strict=True))
