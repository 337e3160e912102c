"""Strided walks: how an operator moves through its operands, with as few dimensions as possible.

Dimensions of length 1 fall away, and neighbours that every operand crosses evenly become one, so
that the last dimension, the kernels' inner loop, is long.
"""

from math import prod

Shape = tuple[int, ...]
Strides = tuple[int, ...]


def contiguous(shape: Shape) -> Strides:
    """Strides in elements of a row-major array."""
    return tuple(prod(shape[d + 1 :]) for d in range(len(shape)))


def broadcast_strides(shape: Shape, target: Shape) -> Strides:
    """Strides of an operand in a walk over `target`: 0 where it is repeated."""
    own = (1,) * (len(target) - len(shape)) + shape
    return tuple(0 if d == 1 else s for d, s in zip(own, contiguous(own), strict=True))


def merged(shape: Shape, *operands: Strides) -> tuple[Shape, ...]:
    """(shape, strides of every operand) of the same walk in the fewest dimensions, at least one."""
    kept = [d for d in range(len(shape)) if shape[d] != 1]
    columns = [(shape[d], *(s[d] for s in operands)) for d in kept]
    out: list[tuple[int, ...]] = []
    for length, *steps in reversed(columns):
        inner = out[-1] if out else None
        if inner and all(s == inner[0] * t for s, t in zip(steps, inner[1:], strict=True)):
            out[-1] = (length * inner[0], *inner[1:])
        else:
            out.append((length, *steps))
    if not out:
        return ((1,),) * (1 + len(operands))
    return tuple(tuple(column) for column in zip(*reversed(out), strict=True))
