"""`npusim multiplier`: a real factor as multiplier and shift, and how far they are from it."""

import argparse
import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from .command_line import DONE, JSON, NEGATIVE, Command
from .multiplier import quantize_multiplier, real_factor
from .neural_art.stored import RULE as NEURAL_ART
from .profiles import PROFILES, SCALES

MANUAL = """\
The fixed-point form of a real factor M: multiplier and shift, as TFLite, TFLite
Micro, CMSIS-NN and npusim hold them.

  M ~ multiplier * 2^(shift - 31),  2^30 <= multiplier < 2^31

The sign rule: shift > 0 is to the left, shift < 0 to the right. A mantissa that
rounds to 2^31 is halved and the shift raised. Below 2^-32 nothing is left: the
multiplier is 0.

Given three scales, M = s_x * s_w / s_y. They are taken as float32, as files
hold them. Profiles do not agree on how to compute M; each way is shown with
those that use it. Errors are those against the exact quotient. The rules
float32_even (xnnpack, onnx) and float64_away (litert-ref's fully_connected)
multiply by M itself, all others by multiplier and shift.
"""

EXAMPLES = """\
examples:
  npusim multiplier 0.0003715
  npusim multiplier 0.0235 0.0071 0.0512
  npusim multiplier 0.0235 0.0071 0.0512 --profile litert-x86 --json

"""

OPERATORS = ("conv2d", "grouped_conv2d", "depthwise_conv2d", "fully_connected",
             "fully_connected_per_channel", "mul")  # fmt: skip
"""Operators and variants whose factor is made of three scales."""
SCALE_NAMES = ("s_x", "s_w", "s_y")

WIDTH, LABEL = 80, 12

Users = Mapping[str, tuple[str, ...]]


class Refused(NamedTuple):
    """A way to compute a factor that ends in none; `reason` says what it must be."""

    real: float
    reason: str
    way: str
    users: Users

    def as_dict(self) -> dict[str, Any]:
        """JSON's types: `way`, `users` (profile: its operators), `refused` (the reason)."""
        return {"way": self.way, "users": dict(self.users), "refused": self.reason}


class Form(NamedTuple):
    """A factor in fixed point.

    real        the factor, as computed
    exact       what it should be
    way, users  how it was computed, and the operators of each profile that do so; "" and none for
                a factor that was given
    """

    real: float
    exact: Fraction
    multiplier: int
    shift: int
    way: str = ""
    users: Users = MappingProxyType({})

    @property
    def stands_for(self) -> Fraction:
        """The number that multiplier and shift stand for."""
        return self.multiplier * Fraction(2) ** (self.shift - 31)

    @property
    def error(self) -> Fraction:
        """`stands_for` minus `exact`."""
        return self.stands_for - self.exact

    def as_dict(self) -> dict[str, Any]:
        """JSON's types.

        `way` and `users` (profile: its operators) of a factor made of scales; `real`, `multiplier`,
        `shift`, `hex` (the multiplier as text); `stands_for`, `absolute_error` (`error`) and
        `relative_error`, of `exact`, None where that is 0: all of them pure numbers
        """
        computed = {"way": self.way, "users": dict(self.users)} if self.way else {}
        relative = float(self.error / self.exact) if self.exact else None
        return {**computed, "real": self.real, "multiplier": self.multiplier, "shift": self.shift,
                "hex": _hex(self.multiplier), "stands_for": float(self.stands_for),
                "absolute_error": float(self.error), "relative_error": relative}  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """`npusim multiplier`: NEGATIVE where a way leaves no multiplier."""
    numbers = arguments.numbers
    if len(numbers) not in (1, 3):
        raise ValueError(f"numbers: must be M, or s_x, s_w and s_y, got {len(numbers)} of them")
    if len(numbers) == 1 and arguments.profile is not None:
        raise ValueError("--profile: must come with three scales, got M itself")
    forms: list[Form | Refused] = (
        [of_factor(numbers[0])] if len(numbers) == 1 else of_scales(numbers, arguments.profile)
    )
    if arguments.json:
        print(
            json.dumps({"numbers": numbers, "forms": [form.as_dict() for form in forms]}, indent=1)
        )
    else:
        print("\n\n".join("\n".join(_lines(form)) for form in forms))
    lost = (isinstance(form, Refused) or form.multiplier == 0 for form in forms)
    return NEGATIVE if any(lost) else DONE


def of_factor(real: float) -> Form:
    """The form of a factor; ValueError for one that has none."""
    try:
        return Form(real, Fraction(real) if np.isfinite(real) else Fraction(0),
                    *quantize_multiplier(real))  # fmt: skip
    except ValueError:
        raise ValueError(f"M: must be a number from 0 and below 2^31, got {real!r}; "
                         "give s_x * s_w / s_y, or the three scales") from None  # fmt: skip


def of_scales(numbers: Sequence[float], profile: str | None = None) -> list[Form | Refused]:
    """The forms of s_x * s_w / s_y, one for each way in which profiles compute it.

    numbers   s_x, s_w, s_y; rounded to float32
    profile   only its ways; all profiles' if None
    returns   in the order of SCALES; a way that ends in no form as Refused
    raises    ValueError for a scale that is no positive float32, or where no way ends in a form
    """
    s_x, s_w, s_y = (_scale(*named) for named in zip(SCALE_NAMES, numbers, strict=True))
    exact = Fraction(float(s_x)) * Fraction(float(s_w)) / Fraction(float(s_y))
    forms: list[Form | Refused] = []
    for way in SCALES:
        users = {name: operators for name in ((profile,) if profile else PROFILES)
                 if (operators := _users(name, way))}  # fmt: skip
        if users:
            real = float(real_factor(way, s_x, s_w, s_y))
            try:
                forms.append(Form(real, exact, *quantize_multiplier(real), way, users))
            except ValueError as error:
                forms.append(Refused(real, str(error), way, users))
    if not any(isinstance(form, Form) for form in forms):
        raise ValueError(next(form.reason for form in forms if isinstance(form, Refused)))
    return forms


def _scale(name: str, number: float) -> np.float32:
    with np.errstate(over="ignore", under="ignore"):
        scale = np.float32(number)
    if not (np.isfinite(scale) and scale > 0):
        raise ValueError(f"{name}: must be a finite and positive float32, got {number!r}")
    return scale


def _users(profile: str, way: str) -> tuple[str, ...]:
    """The profile's operators that compute M so, and round by it."""
    rules = {op: PROFILES[profile].operators.get(op) for op in OPERATORS}
    return tuple(op for op, a in rules.items() if a and a.scale == way and a.rule != NEURAL_ART)


def _lines(form: Form | Refused) -> Iterator[str]:
    """The form as labelled lines."""
    if form.way:
        text = f"{SCALES[form.way]}, by {', '.join(map(_user, form.users.items()))}"
        yield from textwrap.wrap(text, WIDTH, initial_indent=f"{'computed':{LABEL}}",
                                 subsequent_indent=" " * LABEL)  # fmt: skip
    for label, value in _facts(form) if isinstance(form, Form) else _refusal(form):
        yield f"{label:{LABEL}}{value}"


def _facts(form: Form) -> Iterator[tuple[str, str]]:
    relative = f", {float(form.error / form.exact):.3g} of M" if form.exact else ""
    yield "M", repr(form.real)
    yield "multiplier", f"{form.multiplier}, {_hex(form.multiplier)}"
    yield "shift", f"{form.shift}, {_direction(form.shift)}"
    power = f"{form.multiplier} * 2^({form.shift} - 31)"
    yield "stands for", f"{float(form.stands_for)!r} = {power}"
    yield "error", f"{float(form.error):.3g}{relative}"
    if form.multiplier == 0:
        yield "lost", "M is below 2^-32: every output becomes the zero point"


def _refusal(refused: Refused) -> Iterator[tuple[str, str]]:
    yield "M", repr(refused.real)
    yield "refused", refused.reason.removeprefix("multiplier: ")


def _user(user: tuple[str, tuple[str, ...]]) -> str:
    """ "tflm"; "litert-ref (not mul)" or "litert-x86 (mul)" where only some operators do so."""
    profile, operators = user
    others = [op for op in OPERATORS if op in PROFILES[profile].operators and op not in operators]
    if not others:
        return profile
    few = len(others) < len(operators)
    return f"{profile} ({'not ' if few else ''}{', '.join(others if few else operators)})"


def _direction(shift: int) -> str:
    if shift == 0:
        return "no shift"
    return f"to the {'left' if shift > 0 else 'right'} by {abs(shift)}"


def _hex(multiplier: int) -> str:
    return f"0x{multiplier:08X}"


COMMAND = Command(
    "multiplier",
    "show a scale as multiplier and shift",
    MANUAL,
    EXAMPLES,
    "M, in one way of computing it, is so small that its multiplier is 0",
    {
        "": {
            "numbers": {
                "type": float, "nargs": "+", "metavar": "M | S_X S_W S_Y",
                "help": "the factor, or the three scales it is made of",
            },
            "--profile": {
                "choices": sorted(PROFILES), "metavar": "NAME",
                "help": f"only this profile's way: {', '.join(sorted(PROFILES))}",
            },
            "--json": JSON,
        }
    },
    run,
)  # fmt: skip
