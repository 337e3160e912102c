"""zo's values in the form C takes them, and draws that reach for the limits."""

from typing import Any

import numpy as np

import zo
from zo.fixed_point import Ratio
from zo.perturb import Rails
from zo.prng import Stream
from zo.update import RULES, State, UpdateRule

from ..headers import read_headers

ENUMERATORS = read_headers(path for path in zo.c_sources() if path.suffix == ".h").enums
UINT32 = (0, 1, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1)


def status(name: str) -> int:
    return ENUMERATORS[f"ZO_{name}"]


def stream(value: Stream) -> dict[str, int]:
    return value._asdict()


def rails(value: Rails) -> dict[str, int]:
    return value._asdict()


def ratio(value: Ratio) -> dict[str, Any]:
    return {
        "multiplier": value.multiplier.astype(np.int32),
        "right_shift": value.right_shift.astype(np.int32),
        "channels": value.multiplier.size,
    }


def state(value: State) -> dict[str, Any]:
    """The arrays are copied: C and Python each change their own."""
    return {
        "codes": value.codes.copy(),
        "n": value.codes.size,
        "residual": value.residual.copy() if value.residual.size else None,
        "momentum": value.momentum.copy() if value.momentum.size else None,
        "doublings": value.doublings.copy(),
        "channels": value.doublings.size,
        "inner": value.inner,
    }


def state_after(value: State, path: str = "state") -> dict[str, Any]:
    """What C must have made of a state, by path."""
    found = {f"{path}.codes": value.codes, f"{path}.doublings": value.doublings}
    if value.residual.size:
        found[f"{path}.residual"] = value.residual
    if value.momentum.size:
        found[f"{path}.momentum"] = value.momentum
    return found


def state_sizes(value: State, path: str = "state") -> dict[str, int]:
    """The numbers of a state that C could have changed."""
    sizes = {"n": value.codes.size, "channels": value.doublings.size, "inner": value.inner}
    return {f"{path}.{name}": size for name, size in sizes.items()}


def update_rule(value: UpdateRule) -> dict[str, Any]:
    return {
        "name": RULES.index(value.name),
        "rails": rails(value.rails),
        "beta": value.beta,
        "threshold": value.threshold,
    }


def draw_stream(random: np.random.Generator) -> Stream:
    """Any key and counter, the extreme ones often."""
    words = (draw_uint32(random) for _ in range(4))
    return Stream(*words, hadamard=int(random.random() < 0.3))


def draw_uint32(random: np.random.Generator) -> int:
    if random.random() < 0.5:
        return int(random.choice(UINT32))
    return int(random.integers(0, 2**32))


def draw_codes(random: np.random.Generator, n: int, between: Rails) -> np.ndarray:
    """Codes of which three quarters lie on a rail."""
    inner = random.integers(between.lo, between.hi + 1, n)
    at_rail = random.choice([between.lo, between.hi], n)
    return np.where(random.random(n) < 0.75, at_rail, inner).astype(np.int8)
