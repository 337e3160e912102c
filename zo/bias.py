"""Trainable biases as int8 codes, so that perturbation and update only ever see int8.

    bias_c = base_c + unit_c * code_c

unit_c is the power of two nearest to 1/8 of an output code in accumulator units; training changes
code_c, from 0, and leaves base_c and unit_c alone.
"""

from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .fixed_point import sat32
from .update import State

UNITS_PER_OUTPUT_CODE = 8


class BiasCodes(NamedTuple):
    """base int32 (C,) and unit int32 (C,), a power of two; both in accumulator units."""

    base: NDArray[np.int32]
    unit: NDArray[np.int32]


def bias_codes(
    bias: NDArray[np.int32], multipliers: Iterable[float], where: str = "bias"
) -> tuple[BiasCodes, NDArray[np.int8]]:
    """Split an int32 bias into base, unit and codes, all codes 0.

    bias          int32 (C,)
    multipliers   real M_c = s_x*S_w[c]/s_y (C,), output codes per accumulator unit, above 0
    returns       (BiasCodes, codes int8 (C,)); a code's real scale is s_x*S_w[c]*unit_c
    raises        ValueError naming `where` if a bias could leave int32
    """
    unit = np.array([_unit(Fraction(float(m))) for m in multipliers], np.int64)
    reach = int((np.abs(bias.astype(np.int64)) + 128 * unit).max())
    if reach >= 1 << 31:
        raise ValueError(
            f"{where}: trained biases must fit int32, got up to {reach}; train the weights alone"
        )
    return BiasCodes(bias.copy(), unit.astype(np.int32)), np.zeros(bias.size, np.int8)


def write_bias(bias: NDArray[np.int32], form: BiasCodes, codes: NDArray[np.int8]) -> None:
    """bias (C,) = base + unit*codes, in place: after each perturbation, restoration and update."""
    np.multiply(form.unit, codes, out=bias)
    bias += form.base


def rebase(form: BiasCodes, state: State, bias: NDArray[np.int32], channels: Iterable[int]) -> None:
    """Follow a doubling of the weight scale of `channels`, whose biases are halved already.

    unit halves, so that a code keeps its real size, and base takes what is left of the bias. A unit
    of 1 stays: the code is then worth twice as much, so momentum and doublings rise as for weights.

    state   of the bias's codes, changed in place, as `form` is
    bias    int32 (C,) after `recalibrate.recalibrate_weights`
    """
    for c in channels:
        if form.unit[c] > 1:
            form.unit[c] >>= 1
        else:
            state.doublings[c] += 1
            if state.momentum.size:
                state.momentum[c] = sat32(2 * state.momentum[c : c + 1].astype(np.int64))[0]
        form.base[c] = bias[c] - form.unit[c] * np.int32(state.codes[c])


def _unit(multiplier: Fraction) -> int:
    """The power of two nearest to 1/(8*M) in ratio, at least 1."""
    if multiplier <= 0:
        raise ValueError(f"bias: multipliers must be above 0, got {float(multiplier)}")
    target = 1 / (UNITS_PER_OUTPUT_CODE * multiplier)
    exponent = max(0, int(target).bit_length() - 1)
    return 1 << (exponent + (target * target >= 2 << (2 * exponent)))
