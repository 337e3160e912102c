"""Calls of zo/c/fixed_point.h."""

from collections.abc import Iterator

import numpy as np

from zo import fixed_point

from ..records import Case

LIMIT = 2**62 - 1
SHIFTS = (-30, -1, 0, 1, 2, 15, 16, 31, 32, 33, 61, 62, 63, 64, 100, 2**31 - 1)


def cases(random: np.random.Generator) -> Iterator[Case]:
    drawn = (int(v) >> int(random.integers(0, 62)) for v in random.integers(-LIMIT, LIMIT, 60))
    for x in (0, 1, -1, LIMIT, -LIMIT, 2**31, -(2**31) - 1, *drawn):
        for t in random.choice(SHIFTS, 4, replace=False):
            small = x if t >= 0 else x % 2**31 - 2**30
            expected = fixed_point.rs(small, int(t))
            yield Case("zo_rs", {"x": small, "t": int(t)}, {"return": expected})
        yield Case("zo_sat32", {"x": x}, {"return": int(fixed_point.sat32(np.int64(x)))})
        y = int(random.integers(1, 2**40)) >> int(random.integers(0, 39)) or 1
        yield Case("zo_floor_divide", {"x": x, "y": y}, {"return": x // y})
        lo, hi = sorted(int(v) for v in random.integers(-LIMIT, LIMIT, 2))
        yield Case("zo_clamp", {"x": x, "lo": lo, "hi": hi}, {"return": min(max(x, lo), hi)})
        v = abs(x) + 1
        yield Case("zo_floor_log2", {"v": v}, {"return": v.bit_length() - 1})
