"""Calls of zo/c/recalibrate.c and zo/c/bias.c."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from zo import bias, perturb, recalibrate, update
from zo.loss import cross_entropy_loss

from ..records import Case
from .arguments import rails, state, state_after, state_sizes
from .loss import cross_entropy
from .update import LAYOUTS, draw_state


def cases(random: np.random.Generator) -> Iterator[Case]:
    for layout in LAYOUTS:
        for name in ("error_feedback", "nearest"):
            for beta in (0, 29491):
                rule = update.UpdateRule(name, perturb.rails(int(random.integers(1, 7))), beta)
                yield from _weights(random, layout, rule)
    yield from _one_percent(random)
    for at_rail in (0, 599, 600, 601, 1000):
        for exponent in (0, 5, 6):
            yield _logits(random, at_rail, exponent)
    for channels in (1, 2, 9, 40):
        for beta in (0, 29491):
            yield from _biases(random, channels, beta)


def _one_percent(random: np.random.Generator) -> Iterator[Case]:
    """Channels of 200 codes with 1, 2 and 3 of them at a rail: only more than 1 % doubles."""
    rule = update.UpdateRule("error_feedback", perturb.rails(1))
    made = draw_state(random, (3, 200, 1), rule)
    made.codes[:] = random.integers(-100, 101, 600)
    for channel in range(3):
        made.codes[200 * channel : 201 * channel + 1] = rule.rails.hi
    given = {"state": state(made), "between": rails(rule.rails)}
    channels = recalibrate.double_channels(made, rule.rails)
    assert channels == (2,)
    expected = {"return": 1, "doubled": np.array([0, 0, 1]), **state_after(made)}
    given["doubled"] = np.zeros(3, np.int32)
    yield Case("zo_double_channels", given, {**expected, **state_sizes(made)})


def _calm(random: np.random.Generator, made: update.State, between: perturb.Rails) -> None:
    """Take the codes of every other channel off the rails, so that not all double."""
    channel = np.arange(made.codes.size) // made.inner % made.doublings.size
    quiet = channel % 2 == 0
    made.codes[quiet] = np.clip(made.codes[quiet], between.lo + 1, between.hi - 1)


def _weights(
    random: np.random.Generator, layout: tuple[int, int, int], rule: update.UpdateRule
) -> Iterator[Case]:
    made, between = draw_state(random, layout, rule), rule.rails
    _calm(random, made, between)
    channels = layout[0]
    given: dict[str, Any] = {"state": state(made), "between": rails(between)}
    given["doubled"] = np.full(channels, 9, np.int32)
    values = random.integers(-(2**31), 2**31, channels).astype(np.int32)
    shift = random.integers(-31, 10, channels).astype(np.int32)
    yield _counts(made, between)
    yield _halved(random, made)
    both = {"bias": values.copy(), "shift": shift.copy()}
    found = recalibrate.recalibrate_weights(made, values, shift, between)
    doubled = np.zeros(channels, np.int32)
    doubled[list(found)] = 1
    expected = {"return": len(found), "doubled": doubled, **state_after(made), **state_sizes(made)}
    yield Case("zo_double_channels", given, expected)
    expected = {**expected, "bias": values, "shift": shift}
    yield Case("zo_recalibrate_weights", {**given, **both}, expected)


def _counts(made: update.State, between: perturb.Rails) -> Case:
    counts = np.zeros(made.doublings.size, np.int64)
    recalibrate.count_at_rails(made.codes, made.inner, between, counts)
    given = {"codes": made.codes.copy(), "n": made.codes.size, "inner": made.inner}
    given |= {"between": rails(between), "counts": np.full(counts.size, 5, np.int32)}
    expected = {"counts": counts.astype(np.int32)}
    return Case("zo_count_at_rails", {**given, "c": counts.size}, expected)


def _halved(random: np.random.Generator, made: update.State) -> Case:
    before = state(made)
    crowded = random.random(made.doublings.size) < 0.5
    kept = {key: before[key] for key in ("codes", "residual", "momentum")}
    after = {key: None if value is None else value.copy() for key, value in kept.items()}
    empty = {"residual": np.zeros(0, np.int16), "momentum": np.zeros(0, np.int32)}
    arrays = [empty[key] if value is None else value for key, value in after.items()]
    recalibrate.halve_channels(*arrays, made.inner, crowded)
    given = {**kept, "n": made.codes.size, "inner": made.inner, "c": crowded.size}
    given["crowded"] = crowded.astype(np.int32)
    expected = {key: value for key, value in after.items() if value is not None}
    return Case("zo_halve_channels", given, expected)


def _logits(random: np.random.Generator, at_rail: int, exponent: int) -> Case:
    made = cross_entropy_loss(0.03, 10)
    for _ in range(exponent):
        made = made.doubled()
    shift = random.integers(-31, 10, 10).astype(np.int32)
    given = {"at_rail": at_rail, "entries": 1000, "shift": shift.copy(), "c": 10}
    given["loss"] = cross_entropy(made)
    after = recalibrate.recalibrate_logits(at_rail, 1000, shift, made)
    expected = {"return": int(after is not made), "shift": shift, "loss.classes": 10}
    return Case("zo_recalibrate_logits", given, {**expected, "loss.exponent": after.exponent})


def _biases(random: np.random.Generator, channels: int, beta: int) -> Iterator[Case]:
    rule = update.UpdateRule("error_feedback", perturb.rails(1), beta)
    made = draw_state(random, (channels, 1, 1), rule)
    unit = (1 << random.integers(0, 20, channels)).astype(np.int32)
    unit[::3], unit[1::3] = 1, 2
    base = random.integers(-(2**30), 2**30, channels).astype(np.int32)
    form, values = bias.BiasCodes(base, unit), np.zeros(channels, np.int32)
    bias.write_bias(values, form, made.codes)
    plain = {"base": base.copy(), "unit": unit.copy()}
    given = {"bias": np.zeros(channels, np.int32), "c": channels, "form": plain}
    same = {f"form.{key}": array.copy() for key, array in plain.items()}
    yield Case("zo_write_bias", {**given, "codes": made.codes.copy()}, {"bias": values, **same})
    marked = random.random(channels) < 0.7
    given = {"form": plain, "state": state(made), "bias": values.copy()}
    given["channels"] = marked.astype(np.int32)
    bias.rebase(form, made, values, np.flatnonzero(marked).tolist())
    expected = {"form.base": form.base, "form.unit": form.unit}
    yield Case("zo_rebase", given, {**expected, **state_after(made), **state_sizes(made)})
