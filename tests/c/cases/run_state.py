"""Calls of zo_crc32 of zo/c/run_state.c; test_two_hundred_steps.py packs and unpacks runs."""

from collections.abc import Iterator

import numpy as np

from zo.run_state import crc32

from ..records import Case

SIZES = (0, 1, 2, 3, 8, 255, 1000)


def cases(random: np.random.Generator) -> Iterator[Case]:
    for n in SIZES:
        data = random.integers(0, 256, n, dtype=np.uint8)
        for before in (0, 1, 2**32 - 1, int(random.integers(2**32))):
            given = {"data": data, "n": n, "before": before}
            yield Case("zo_crc32", given, {"return": crc32(data.tobytes(), before)})
