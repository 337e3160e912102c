"""Named arithmetics: which rounding rule each operator uses, and which accumulator.

"Matches TFLite" is not one rule, so a profile is part of every graph.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from .graph import Accumulator
from .kernels.structs import DOUBLE_ROUNDING

RULES: Mapping[str, int] = MappingProxyType({"double_rounding": DOUBLE_ROUNDING})


@dataclass(frozen=True)
class Profile:
    """One arithmetic.

    name          as `npusim.load(profile=...)` takes it
    reference     the program whose bits it reproduces
    rule          requantisation rule of every operator that requantises
    accumulator   of weighted operators
    """

    name: str
    reference: str
    rule: str
    accumulator: Accumulator

    @property
    def rule_number(self) -> int:
        """The rule as the kernels take it."""
        return RULES[self.rule]


PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        "tflm": Profile(
            name="tflm",
            reference="TFLite Micro reference kernels, CMSIS-NN",
            rule="double_rounding",
            accumulator=Accumulator(32, "wrap"),
        ),
        "neural-art": Profile(
            name="neural-art",
            reference="ST Neural-ART of STM32N6, given its parameters",
            rule="double_rounding",
            accumulator=Accumulator(64, "wrap"),
        ),
    }
)


def find_profile(name: str) -> Profile:
    """The profile called `name`; ValueError lists those there are."""
    try:
        return PROFILES[name]
    except KeyError:
        known = ", ".join(sorted(PROFILES))
        raise ValueError(f"profile: must be one of {known}, got {name!r}") from None
