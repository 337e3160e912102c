"""LiteRT's broadcast in at most five nested loops, as far as it decides how ADD rounds on x86.

Counted from the innermost, the loops run along dimensions that both operands have, dimensions in
which one operand stands still, both again, the other one standing still, both again. Operands that
take turns more often go through another kernel, which rounds everywhere in one way.
"""

import math
from itertools import groupby, zip_longest
from typing import NamedTuple

Shape = tuple[int, ...]

BOTH, A, B = "both", "a", "b"
"""Who moves along a dimension; "a" and "b" move alone."""


class Row(NamedTuple):
    """The innermost loop.

    length   its elements
    moves    BOTH, A or B; "" where the loops are not LiteRT's five
    """

    length: int
    moves: str


def innermost_row(a: Shape, b: Shape) -> Row:
    """The innermost loop over operands of these shapes, which broadcast."""
    pairs = zip_longest(reversed(a), reversed(b), fillvalue=1)
    runs = [
        Row(math.prod(max(pair) for pair in run), moves)
        for moves, run in groupby((p for p in pairs if p != (1, 1)), _moves)
    ]
    alone = [row.moves for row in runs if row.moves != BOTH]
    first = alone[0] if alone else A
    loops = iter((BOTH, first, BOTH, B if first == A else A, BOTH))
    follows = all(row.moves in loops for row in runs)
    return Row(runs[0].length if runs else 1, (runs[0].moves if runs else BOTH) if follows else "")


def _moves(lengths: tuple[int, int]) -> str:
    if lengths[0] == lengths[1]:
        return BOTH
    return B if lengths[0] == 1 else A
