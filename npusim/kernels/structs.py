"""Parameters of the kernels, grouped as the C structs are.

Letters: N batch, H W input height and width, C input channels, O output channels, I input channels
of one group, KH KW kernel, OH OW output height and width.
Nothing here needs numba: the NumPy reference takes the same tuples.
"""

from typing import NamedTuple

import numpy as np

DOUBLE_ROUNDING = 0

WRAP, SATURATE, ERROR = 0, 1, 2
OVERFLOW = {"wrap": WRAP, "saturate": SATURATE, "error": ERROR}

AWAY, EVEN, UP, FLOOR = 0, 1, 2, 3
TIES = {"away": AWAY, "even": EVEN, "up": UP, "floor": FLOOR}
"""How a right shift rounds: to nearest with ties away from zero, to even or up, or not at all."""


class Requantization(NamedTuple):
    """Accumulator -> output code, one multiplier and shift per output channel.

    multiplier, shift   int32 (O,): Q0.31 and exponent, shift > 0 is a left shift
    zero_point          of the output
    act_min, act_max    clamp of the output code
    rule                one of the rule numbers above
    """

    multiplier: np.ndarray
    shift: np.ndarray
    zero_point: int
    act_min: int
    act_max: int
    rule: int


class Conv2d(NamedTuple):
    """Geometry of conv2d and depthwise_conv2d; `groups` is 1 for depthwise."""

    n: int
    h: int
    w: int
    c: int
    oh: int
    ow: int
    o: int
    kh: int
    kw: int
    stride_h: int
    stride_w: int
    dilation_h: int
    dilation_w: int
    pad_top: int
    pad_left: int
    groups: int
    x_zero_point: int


class FullyConnected(NamedTuple):
    """y (N, O) from x (N, I)."""

    n: int
    i: int
    o: int
    x_zero_point: int


class Accumulation(NamedTuple):
    """An accumulator whose order matters: width in bits, WRAP, SATURATE or ERROR."""

    bits: int
    overflow: int


class Pool2d(NamedTuple):
    """Geometry of the pools and the clamp of their output."""

    n: int
    h: int
    w: int
    c: int
    oh: int
    ow: int
    kh: int
    kw: int
    stride_h: int
    stride_w: int
    pad_top: int
    pad_left: int
    act_min: int
    act_max: int


class Add(NamedTuple):
    """Three requantisations of ADD: each operand to a common scale, the sum to the output's."""

    left_shift: int
    a_zero_point: int
    a_multiplier: int
    a_shift: int
    b_zero_point: int
    b_multiplier: int
    b_shift: int
    y_zero_point: int
    y_multiplier: int
    y_shift: int
    act_min: int
    act_max: int


class Mul(NamedTuple):
    """The product of two operands and its requantisation."""

    a_zero_point: int
    b_zero_point: int
    y_zero_point: int
    multiplier: int
    shift: int
    act_min: int
    act_max: int


class Mean(NamedTuple):
    """Sum over `cells` values, requantised; the division is folded into the multiplier."""

    cells: int
    x_zero_point: int
    y_zero_point: int
    multiplier: int
    shift: int
    act_min: int
    act_max: int


class Softmax(NamedTuple):
    """Fixed-point softmax over the last dimension: `rows` rows of `depth` codes."""

    rows: int
    depth: int
    multiplier: int
    shift: int
    diff_min: int


class Rescale(NamedTuple):
    """code -> code: subtract, requantise, add, clamp (requantize, relu, relu6)."""

    x_zero_point: int
    y_zero_point: int
    multiplier: int
    shift: int
    act_min: int
    act_max: int


class NeuralArt(NamedTuple):
    """Neural-ART's tail of a weighted operator, and the pieces its sums are made in.

    a_c, bc_c      int32 (O,): coefficients of the second and third stage
    runs           int64 (S, 3): first product and number of products along (KH, KW, I), and 1 where
                   a piece ends
    s0, s1, s2     right shifts of the three stages
    a2             coefficient of the third stage
    partial_bits   16 or 24: what passes from piece to piece
    round0..2      one of TIES for each stage
    """

    a_c: np.ndarray
    bc_c: np.ndarray
    runs: np.ndarray
    s0: int
    s1: int
    s2: int
    a2: int
    partial_bits: int
    round0: int
    round1: int
    round2: int
    act_min: int
    act_max: int


class NeuralArtAdd(NamedTuple):
    """ADD in one ARITH unit: operands times a and b, plus c; round0 is that of the operands."""

    a: int
    b: int
    c: int
    a_shift: int
    b_shift: int
    c_shift: int
    shift: int
    round0: int
    round1: int
    act_min: int
    act_max: int


class NeuralArtMean(NamedTuple):
    """Global average: POOL (mulval, pool_shift), then ARITH (a, c, shift); `cells` of a map."""

    cells: int
    channels: int
    mulval: int
    pool_shift: int
    a: int
    c: int
    shift: int
    round0: int
    round1: int
    round2: int
