"""Codes that are right, in the wrong place: other layouts, channels, images, addresses, tensors."""

from collections.abc import Iterator
from itertools import permutations, product

import numpy as np

from ...plurals import counted
from ..case import FITTED, SIMULATED, Case, Explanation

NAMED = 4
REACH = 2
"""Rows and columns that an image may be moved by."""
FARTHEST = 128
"""Elements that memory may be moved by."""
FEWEST_ROWS = 4
"""Elements of a channel that make it recognisable."""


def order(case: Case) -> Iterator[Explanation]:
    """Explanations by place."""
    yield from _constant(case)
    yield from _misplaced(case)
    yield from _layout(case)
    yield from _permuted(case, case.expected.ndim - 1, "channel")
    yield from _permuted(case, 0, "image")
    yield from _moved_image(case)
    yield from _moved_memory(case)


def _constant(case: Case) -> Iterator[Explanation]:
    """One value throughout, or from some element on."""
    flat, expected = case.actual.ravel(), case.expected.ravel()
    differing = case.differing.ravel()
    first = int(np.argmax(differing))
    value = int(flat[-1])
    if flat.size < FEWEST_ROWS or (flat[first:] != value).any() or np.ptp(expected[first:]) == 0:
        return
    if (flat == value).all():
        sentence, evidence = f"every element is {value}: never written, or cleared", ""
    else:
        written = f"{counted(first, 'element')} {'was' if first == 1 else 'were'} written"
        sentence = f"only the first {written}: the rest is {value}"
        evidence = "all elements before that are equal"
    consistent = np.ones(case.actual.shape, bool)
    yield Explanation("unwritten", sentence, evidence, consistent, FITTED, 1)


def _misplaced(case: Case) -> Iterator[Explanation]:
    """Another tensor in this one's place."""
    flat = case.actual.ravel()
    for name, values in case.others.items():
        if values.size == flat.size and np.array_equal(values.ravel(), flat):
            sentence = f"these are the codes of {name}: a buffer used twice, or dumps out of order"
            yield Explanation(
                "misplaced", sentence, "", np.ones(case.actual.shape, bool), SIMULATED
            )


def _layout(case: Case) -> Iterator[Explanation]:
    """The same codes with their dimensions in another order in memory."""
    shape = case.expected.shape
    if len(shape) < 3:
        return
    letters = "NHWC" if len(shape) == 4 else "".join(map(str, range(len(shape))))
    inner = range(1, len(shape))
    for order in permutations(inner):
        turned = case.expected.transpose(0, *order).reshape(shape)
        if order == tuple(inner) or np.array_equal(turned, case.expected):
            continue
        name = letters[0] + "".join(letters[i] for i in order)
        sentence = f"the codes are in {name} order, not {letters}"
        yield Explanation("layout", sentence, "", turned == case.actual, SIMULATED)


def _permuted(case: Case, axis: int, what: str) -> Iterator[Explanation]:
    """Whole channels or images in another order."""
    length = case.expected.shape[axis] if case.expected.ndim else 1
    if length < 2 or case.expected.size // length < FEWEST_ROWS:
        return
    expected = np.moveaxis(case.expected, axis, 0).reshape(length, -1)
    actual = np.moveaxis(case.actual, axis, 0).reshape(length, -1)
    known = {row.tobytes(): i for i, row in reversed(list(enumerate(expected)))}
    source = [
        i if np.array_equal(actual[i], expected[i]) else known.get(actual[i].tobytes(), i)
        for i in range(length)
    ]
    moved = [(i, j) for i, j in enumerate(source) if i != j]
    if not moved:
        return
    consistent = np.take(case.expected, source, axis=axis) == case.actual
    listed = ", ".join(f"{i} holds {j}" for i, j in moved[:NAMED])
    more = f" and {len(moved) - NAMED} more" if len(moved) > NAMED else ""
    sentence = f"{what}s are in another order: {what} {listed}{more}"
    if source == list(range(length))[::-1]:
        sentence = f"{what}s are in reverse order"
    yield Explanation(f"{what} order", sentence, "", consistent, FITTED, len(moved))


def _moved_image(case: Case) -> Iterator[Explanation]:
    """The image moved by rows and columns."""
    if case.expected.ndim != 4:
        return
    for down, right in product(range(-REACH, REACH + 1), repeat=2):
        if (down, right) != (0, 0):
            yield from _moved(case, down, right)


def _moved(case: Case, down: int, right: int) -> Iterator[Explanation]:
    _, h, w, _ = case.expected.shape
    if abs(down) > h // 2 or abs(right) > w // 2:
        return
    here = np.s_[:, max(down, 0) : h + min(down, 0), max(right, 0) : w + min(right, 0)]
    there = np.s_[:, max(-down, 0) : h + min(-down, 0), max(-right, 0) : w + min(-right, 0)]
    consistent = np.ones(case.actual.shape, bool)
    consistent[here] = case.actual[here] == case.expected[there]
    if 2 * np.count_nonzero(case.differing[here]) < np.count_nonzero(case.differing):
        return
    ways = [_way(down, "row", "down", "up"), _way(right, "column", "right", "left")]
    sentence = f"the image is moved {' and '.join(filter(None, ways))}"
    unsure = consistent.size - consistent[here].size
    yield Explanation("shift", sentence, "", consistent, FITTED, 1, unsure)


def _way(steps: int, unit: str, positive: str, negative: str) -> str:
    if not steps:
        return ""
    return f"{positive if steps > 0 else negative} by {counted(abs(steps), unit)}"


def _moved_memory(case: Case) -> Iterator[Explanation]:
    """The elements moved in memory: a wrong start address, or a header left in."""
    flat, expected = case.actual.ravel(), case.expected.ravel()
    reach = min(FARTHEST, flat.size // 2)
    middle = np.arange(reach, min(flat.size - reach, reach + 512))
    for distance in (d for k in range(1, reach + 1) for d in (k, -k)):
        if middle.size and not np.array_equal(flat[middle], expected[middle - distance]):
            continue
        here, there = max(distance, 0), max(-distance, 0)
        kept = flat.size - abs(distance)
        consistent = np.ones(flat.size, bool)
        consistent[here : here + kept] = flat[here : here + kept] == expected[there : there + kept]
        inside = np.count_nonzero(case.differing.ravel()[here : here + kept])
        if 2 * inside >= np.count_nonzero(case.differing):
            way = "later" if distance > 0 else "earlier"
            far = counted(abs(distance), "element")
            sentence = f"the codes stand {far} {way} in memory: a wrong address"
            shaped = consistent.reshape(case.actual.shape)
            yield Explanation("shift", sentence, "", shaped, FITTED, 1, abs(distance))
