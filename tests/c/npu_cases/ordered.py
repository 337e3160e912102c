"""Calls of npusim/c/ordered.h: every width, every overflow."""

from collections.abc import Iterator

import numpy as np
from kernels.layers import LAYERS

from npusim.kernels.structs import OVERFLOW, Accumulation

from ..records import Case
from .weighted import layer, ordered_call

FIRST_SEED = 400_000


def cases(random: np.random.Generator) -> Iterator[Case]:
    seed = FIRST_SEED
    for bits in range(8, 65):
        for overflow in OVERFLOW.values():
            op = str(random.choice([*LAYERS]))
            yield ordered_call(op, layer(op, seed), Accumulation(bits, overflow))
            seed += 1
    for op in LAYERS:
        yield _already_faulty(op)


def _already_faulty(op: str) -> Case:
    """A fault that is there stays."""
    case = ordered_call(op, layer(op, FIRST_SEED), Accumulation(8, OVERFLOW["error"]))
    assert case.expected["fault"][0] >= 0
    earlier = np.array([3, 400], np.int64)
    return case._replace(
        arguments={**case.arguments, "fault": earlier}, expected={**case.expected, "fault": earlier}
    )
