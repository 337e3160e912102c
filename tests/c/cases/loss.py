"""Calls of zo/c/loss.c and zo/c/exact_head.c."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from zo import exact_head, loss
from zo.fixed_point import Ratio

from ..records import Case
from .arguments import ratio, status

CLASSES = (1, 2, 3, 10, 100, 2047)
SCALES = (0.001, 0.04, 0.5, 1.999)


def cases(random: np.random.Generator) -> Iterator[Case]:
    for classes in CLASSES:
        for scale in SCALES:
            yield from _cross_entropy(random, classes, scale)
    yield from _logarithms(random)
    for n in (0, 1, 5, 300):
        one, two = (draw_logits(random, (n,)) for _ in range(2))
        expected = int(loss.squared_error(one, two))
        given = {"outputs": one, "n": n, "targets": two}
        yield Case("zo_squared_error", given, {"return": expected})
    yield from _labels(random)
    yield from _doubled_scales(random)
    for batch, classes, features in ((1, 1, 1), (3, 5, 40), (8, 10, 7), (2, 3, 300)):
        yield from _outer_products(random, batch, classes, features)


def draw_logits(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Half of them at a rail."""
    inner = random.integers(-128, 128, shape)
    return np.where(random.random(shape) < 0.5, random.choice([-128, 127], shape), inner).astype(
        np.int8
    )


def cross_entropy(made: loss.CrossEntropy) -> dict[str, Any]:
    tables = {"exp": made.tables.exp.reshape(-1), "loss": made.tables.loss.reshape(-1)}
    return {
        "classes": made.classes,
        "tables": tables,
        "exponent": made.exponent,
        "log": loss.log_table(),
    }


def _cross_entropy(random: np.random.Generator, classes: int, scale: float) -> Iterator[Case]:
    made = loss.cross_entropy_loss(scale, classes)
    for _ in range(int(random.integers(0, 7))):
        made = made.doubled()
    samples, batch = (int(n) for n in random.integers(1, 4, 2))
    outputs = draw_logits(random, (samples, batch, classes))
    labels = random.integers(0, classes, batch)
    narrow = labels.astype(np.int32)
    sums = made.each(outputs, labels)
    flat = {"outputs": outputs, "s": samples, "b": batch}
    room = {"sums": np.zeros(samples, np.int64)}
    given = {**flat, "c": classes, "labels": narrow, "exp": made.exp, "loss": made.loss}
    given["log"] = loss.log_table()
    yield Case("zo_cross_entropy", {**given, **room}, {"sums": sums})
    given = {"loss": cross_entropy(made), **flat, "labels": narrow, **room}
    yield Case("zo_cross_entropy_each", given, {"sums": sums})
    given = {"loss": cross_entropy(made), "batch": batch}
    yield Case("zo_cross_entropy_bound", given, {"return": made.bound(batch)})
    wrong = int(loss.count_errors(outputs[0], labels))
    given = {"outputs": outputs[0], "b": batch, "c": classes, "labels": narrow}
    yield Case("zo_count_errors", given, {"return": wrong})
    error = exact_head.head_error(outputs[0], labels, made)
    given = {"logits": outputs[0], "b": batch, "c": classes, "labels": narrow, "exp": made.exp}
    yield Case("zo_fill_error", {**given, "error": np.zeros_like(error)}, {"error": error})
    yield _doubled(made)


def _doubled(made: loss.CrossEntropy) -> Case:
    last = made.exponent == loss.EXPONENTS - 1
    result = status("BAD_SCALE" if last else "OK")
    expected = {"return": result, "loss.exponent": made.exponent + (not last)}
    expected |= {"loss.classes": made.classes}
    return Case("zo_cross_entropy_doubled", {"loss": cross_entropy(made)}, expected)


def _logarithms(random: np.random.Generator) -> Iterator[Case]:
    drawn = (int(v) >> int(random.integers(0, 31)) or 1 for v in random.integers(1, 2**31, 60))
    for v in (1, 2, 3, 2**20 - 1, 2**20, 2**20 + 1, 2**31 - 1, 2**31, *drawn):
        expected = int(loss.ln_q16(np.array([v], np.int64))[0])
        yield Case("zo_ln_q16", {"v": v, "log": loss.log_table()}, {"return": expected})


def _labels(random: np.random.Generator) -> Iterator[Case]:
    for wrong in (None, -1, 10, 2**31 - 1, -(2**31)):
        labels = random.integers(0, 10, 8).astype(np.int32)
        if wrong is not None:
            labels[int(random.integers(0, 8))] = wrong
        given = {"labels": labels, "n": 8, "classes": 10}
        result = status("OK" if wrong is None else "BAD_LABEL")
        yield Case("zo_check_labels", given, {"return": result})


def _doubled_scales(random: np.random.Generator) -> Iterator[Case]:
    """Scales that just fit int64 after their doublings, and some that do not."""
    for batch in (1, 8, 2**20):
        for shift in (0, 3, -8, -21, -22, -23, -24):
            multiplier = random.integers(1 << 15, 1 << 16, 5)
            scale = Ratio(multiplier, shift + random.integers(0, 3, 5))
            doublings = random.integers(0, 4, 5).astype(np.int32)
            yield _doubled_scale(scale, doublings, batch)


def _doubled_scale(scale: Ratio, doublings: np.ndarray, batch: int) -> Case:
    try:
        exact_head.doubled_scale(scale, doublings, batch)
        result = status("OK")
    except ValueError:
        result = status("BAD_RANGE")
    given = {"scale": ratio(scale), "doublings": doublings, "batch": batch}
    room = np.zeros(doublings.size, np.int32)
    given |= {"right_shift": room, "doubled": ratio(Ratio(scale.multiplier, room))}
    right_shift = scale.right_shift - doublings
    expected = {"return": result, "right_shift": right_shift, "doubled.channels": doublings.size}
    return Case("zo_doubled_scale", given, expected)


def _outer_products(
    random: np.random.Generator, batch: int, classes: int, features: int
) -> Iterator[Case]:
    error = random.choice([-65536, -1, 0, 1, 65535], (batch, classes)).astype(np.int32)
    x = draw_logits(random, (batch, features))
    zero_point = int(random.choice([-128, 0, 127]))
    whole = exact_head.head_gradient(error, x, zero_point)
    given = {"error": error, "b": batch, "c": classes, "x": x, "d": features}
    given |= {"zero_point": zero_point}
    room = np.zeros(whole.size, np.int64)
    yield Case("zo_outer_product", {**given, "gradient": room}, {"gradient": whole})
    for _ in range(3):
        first, end = sorted(int(i) for i in random.integers(0, whole.size + 1, 2))
        part = {**given, "first": first, "gradient": room[first:end].copy(), "n": end - first}
        yield Case("zo_outer_product_part", part, {"gradient": whole[first:end]})
