"""A tensor that departs: what was expected, what was found, and the node that made it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..affine import LIMITS
from ..graph import Accumulator, ModelError, Quantization
from .ideal import Ideal, ideal
from .replay import Part

SIMULATED, FITTED, SYMPTOM = "simulated", "fitted", "symptom"
"""How well a cause is founded: the model, changed so, gives the very codes; numbers fitted to the
codes do; or the differences look like it."""


@dataclass(frozen=True, eq=False)
class Alone:
    """The node that made the tensor, with the inputs it is judged from.

    part     one node
    inputs   its activations by name, in the graph's types
    """

    part: Part
    inputs: Mapping[str, np.ndarray]

    @cached_property
    def ideal(self) -> Ideal | None:
        """What exact arithmetic makes of the inputs; None where that says nothing."""
        return ideal(self.part.graph, self.inputs)

    def run(self, part: Part, accumulator: Accumulator | None = None) -> np.ndarray | None:
        """What the node makes when it is changed to `part`; None where that is no legal node."""
        try:
            return part.run(self.inputs, accumulator).astype(np.int64)
        except (ModelError, TypeError, ValueError):
            return None


@dataclass(frozen=True, eq=False)
class Case:
    """One tensor that departs.

    expected       int64 codes by the first side's rules
    actual         int64 codes that the second side has
    dtype          of the tensor
    quantization   None where no scale is known
    alone          None without a model
    others         other tensors of the first side by name
    """

    expected: np.ndarray
    actual: np.ndarray
    dtype: str
    quantization: Quantization | None = None
    alone: Alone | None = None
    others: Mapping[str, np.ndarray] = field(default_factory=dict)

    @cached_property
    def difference(self) -> np.ndarray:
        """actual - expected"""
        return self.actual - self.expected

    @cached_property
    def differing(self) -> np.ndarray:
        """Which elements differ."""
        return self.difference != 0

    @property
    def limits(self) -> tuple[int, int]:
        """Smallest and largest code of the type."""
        return LIMITS[self.dtype]

    @property
    def zero_point(self) -> int:
        """The code of 0; 0 where none is known."""
        return 0 if self.quantization is None else int(self.quantization.zero_point[0])


@dataclass(frozen=True, eq=False)
class Explanation:
    """A cause, and which elements it accounts for.

    kind        one word or two, such as "padding"
    sentence    the cause in plain words
    evidence    what speaks for it besides the count; "" where nothing does
    consistent  bool, elements whose actual code the cause accounts for, equal ones included
    basis       SIMULATED, FITTED or SYMPTOM
    freedom     numbers that were fitted to the codes
    unsure      elements counted as consistent of which the cause says nothing
    given       parameters that the node is to be given, by name
    """

    kind: str
    sentence: str
    evidence: str
    consistent: np.ndarray
    basis: str
    freedom: int = 0
    unsure: int = 0
    given: Mapping[str, Any] = field(default_factory=dict)
