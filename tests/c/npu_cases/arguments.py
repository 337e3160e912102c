"""npusim's structs in the form C takes them, and draws of what C computes."""

from typing import Any

import numpy as np

from npusim.kernels.structs import REQUANTIZE, Requantization, Rounding

INTEGER_RULES = [i for i, name in enumerate(REQUANTIZE) if not name.startswith("float")]
"""Numbers of the rules C has."""


def struct(value: Any) -> dict[str, Any]:
    """A NamedTuple as C's struct: numbers and structs within it, by the same names."""
    if isinstance(value, Requantization):
        return requantization(value)
    inside = value._asdict().items()
    return {name: struct(v) if hasattr(v, "_asdict") else v for name, v in inside}


def requantization(r: Requantization) -> dict[str, Any]:
    """Without the real scales, and with the number of multipliers."""
    fields = r._asdict()
    del fields["scale"]
    fields["rounding"] = r.rounding._asdict()
    return {**fields, "channels": len(r.multiplier)}


def integer_rounding(rng: np.random.Generator) -> Rounding:
    """Rules of C: one for all, or one for blocks and another for what is behind them."""
    rule, rest = rng.choice(INTEGER_RULES, 2).tolist()
    return Rounding(rule, int(rng.choice([1, 1, 8, 16])), rest)


def with_integer_rules(rng: np.random.Generator, r: Requantization) -> Requantization:
    """The same numbers by rules of C."""
    return r._replace(rounding=integer_rounding(rng))


def written(like: np.ndarray) -> np.ndarray:
    """Memory for an output: every byte is something else than what must come."""
    memory = like.reshape(-1).copy()
    return ~memory if memory.dtype.kind in "iu" else np.full_like(memory, np.nan)
