"""Calls of zo/c/update.c."""

from collections.abc import Iterator

import numpy as np

from zo import perturb, prng, update
from zo.fixed_point import Ratio

from ..records import Case
from .arguments import (
    draw_codes,
    draw_uint32,
    rails,
    ratio,
    state,
    state_after,
    state_sizes,
    stream,
    update_rule,
)

# (channels, inner, outer): fully connected, one channel, depthwise, tiles that end in odd places
LAYOUTS = ((4, 25, 1), (1, 300, 1), (50, 1, 3), (70, 3, 1), (5, 4, 5), (3, 64, 1), (2, 65, 2))


def cases(random: np.random.Generator) -> Iterator[Case]:
    for den in (1, 2, 3, 64, 65, 12345, 1024 * 1023 * 64 * 126, 2**47 - 1):
        yield _scale(den, int(random.integers(1, 5)))
    for layout in LAYOUTS:
        for name in update.RULES:
            for beta in (0, 29491, 32767):
                yield from _updates(random, layout, name, beta)
        yield from _loops(random, layout)


def draw_state(
    random: np.random.Generator, layout: tuple[int, int, int], rule: update.UpdateRule
) -> update.State:
    """A state in mid-run, most codes at a rail, momentum up to its limits."""
    channels, inner, outer = layout
    codes = draw_codes(random, channels * inner * outer, rule.rails)
    made = update.new_state(codes, channels, inner, rule)
    made.doublings[:] = random.integers(0, 4, channels)
    n = codes.size
    if made.momentum.size:
        made.momentum[:] = random.integers(-(2**31), 2**31, n) >> random.integers(0, 30, n)
        made.momentum[::7] = random.choice([-(2**31), 2**31 - 1])
    if made.residual.size:
        made.residual[:] = random.integers(-(2**15), 2**15, n)
    return made


def draw_ratio(random: np.random.Generator, channels: int, shifts: tuple[int, int]) -> Ratio:
    """From a step of no effect to one from rail to rail."""
    multiplier = random.choice([0, 1 << 15, (1 << 16) - 1, 1 << 16], channels)
    return Ratio(multiplier.astype(np.int64), random.integers(*shifts, channels))


def draw_gradient(random: np.random.Generator, n: int) -> np.ndarray:
    gradient = random.integers(-(2**46) + 1, 2**46, n) >> random.integers(0, 46, n)
    gradient[::11] = 2**46 - 1
    return gradient


def _scale(den: int, channels: int) -> Case:
    expected = update.gradient_scale(den, channels)
    given = {"den": den, "channels": channels}
    given |= {name: np.zeros(channels, np.int32) for name in ("multiplier", "right_shift")}
    made = ratio(expected)
    return Case("zo_gradient_scale", given, {key: made[key] for key in Ratio._fields})


def _updates(
    random: np.random.Generator, layout: tuple[int, int, int], name: str, beta: int
) -> Iterator[Case]:
    rule = update.UpdateRule(name, perturb.rails(int(random.integers(1, 7))), beta, 1 << 14)
    made = draw_state(random, layout, rule)
    n, channels = made.codes.size, layout[0]
    rate = draw_ratio(random, channels, (-4, 70))
    scale = draw_ratio(random, int(random.choice([1, channels])), (0, 60))
    rounding = prng.rounding_stream(int(random.integers(0, 2**63)), draw_uint32(random), 7)
    gradient = draw_gradient(random, n)
    given = {"gradient": gradient, "scale": ratio(scale), "rate": ratio(rate)}
    given |= {"rule": update_rule(rule), "stream": stream(rounding), "state": state(made)}
    first = int(random.integers(0, n)) // layout[1] * layout[1]
    yield _part(made, given, first, min(n, first + 2 * layout[1]))
    moved = update.update(made, gradient, scale, rate, rule, rounding)
    expected = {"return": moved, **state_after(made), **state_sizes(made)}
    yield Case("zo_update", given, expected)


def _part(made: update.State, given: dict, first: int, end: int) -> Case:
    """Weights first .. end-1 move as in the whole update, the others stay."""
    before, after = state(made), state(made)
    whole = update.State(
        after["codes"], *(np.zeros(0, t) if after[key] is None else after[key]
                          for key, t in (("residual", np.int16), ("momentum", np.int32))),
        after["doublings"], made.inner,
    )  # fmt: skip
    scale, rate = (Ratio(*(given[key][field].astype(np.int64) for field in Ratio._fields))
                   for key in ("scale", "rate"))  # fmt: skip
    rule = given["rule"]
    python_rule = update.UpdateRule(
        update.RULES[rule["name"]], perturb.Rails(**rule["rails"]), rule["beta"], rule["threshold"]
    )
    rounding = prng.Stream(**given["stream"])
    update.update(whole, given["gradient"], scale, rate, python_rule, rounding)
    expected = {**state_sizes(made)}
    for key in ("codes", "residual", "momentum"):
        if before[key] is not None:
            mixed = before[key].copy()
            mixed[first:end] = after[key][first:end]
            expected[f"state.{key}"] = mixed
    expected["state.doublings"] = before["doublings"]
    expected["return"] = int((expected["state.codes"] != before["codes"]).sum())
    part = {**given, "state": before, "first": first, "n": end - first}
    part["gradient"] = given["gradient"][first:end].copy()
    return Case("zo_update_part", part, expected)


def _loops(random: np.random.Generator, layout: tuple[int, int, int]) -> Iterator[Case]:
    channels, inner, outer = layout
    rule = update.UpdateRule("error_feedback", perturb.rails(2))
    made = draw_state(random, layout, rule)
    n, rate = channels * inner * outer, draw_ratio(random, channels, (-4, 70))
    shared = {"codes": made.codes.copy(), "n": n, "momentum": made.momentum, "inner": inner}
    shared |= {"rate": ratio(rate), "between": rails(rule.rails)}
    for name, extra in (
        ("error_feedback", {"residual": made.residual}),
        ("nearest", {}),
        ("stochastic", {"words": random.integers(0, 2**32, n, dtype=np.uint32)}),
        ("threshold", {"least": int(random.choice([1, 1 << 15, 2**62]))}),
    ):
        codes = made.codes.copy()
        arguments = [*extra.values()] if name != "error_feedback" else []
        residual = [made.residual.copy()] if name == "error_feedback" else []
        moved = getattr(update, name)(
            codes, *residual, made.momentum, rate, rule.rails, inner, *arguments
        )
        expected = {"return": moved, "codes": codes}
        expected |= {"residual": residual[0]} if residual else {}
        yield Case(f"zo_{name}", {**shared, **extra}, expected)
    scale, gradient = draw_ratio(random, channels, (0, 60)), draw_gradient(random, n)
    momentum = made.momentum.copy()
    update.add_momentum(momentum, gradient, scale, rule.beta, inner)
    given = {"momentum": made.momentum, "n": n, "gradient": gradient, "scale": ratio(scale)}
    yield Case(
        "zo_add_momentum", {**given, "beta": rule.beta, "inner": inner}, {"momentum": momentum}
    )
