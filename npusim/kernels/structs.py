"""Parameters of the kernels, grouped as the C structs are.

Letters: N batch, H W input height and width, C input channels, O output channels, I input channels
of one group, KH KW kernel, OH OW output height and width.
Nothing here needs numba: the NumPy reference takes the same tuples.
"""

from typing import NamedTuple

import numpy as np

REQUANTIZE = (
    "double_rounding",
    "double_rounding_up",
    "single_rounding",
    "float32_even",
    "float64_away",
    "double_rounding_down",
)
"""Rules that make codes of accumulators, in the order of their numbers."""
(
    DOUBLE_ROUNDING,
    DOUBLE_ROUNDING_UP,
    SINGLE_ROUNDING,
    FLOAT32_EVEN,
    FLOAT64_AWAY,
    DOUBLE_ROUNDING_DOWN,
) = range(6)

QUANTIZE = ("divide_away", "divide_even", "reciprocal_even", "double_away")
"""Rules that make codes of real numbers, in the order of their numbers."""
DIVIDE_AWAY, DIVIDE_EVEN, RECIPROCAL_EVEN, DOUBLE_AWAY = range(4)

DEQUANTIZE = ("product", "affine")
"""Rules that make real numbers of codes, in the order of their numbers."""
PRODUCT, AFFINE = range(2)

PIECE = 2048
"""Elements that elementwise kernels requantise at a time; a multiple of every block."""

WRAP, SATURATE, ERROR = 0, 1, 2
OVERFLOW = {"wrap": WRAP, "saturate": SATURATE, "error": ERROR}

AWAY, EVEN, UP, FLOOR = 0, 1, 2, 3
TIES = {"away": AWAY, "even": EVEN, "up": UP, "floor": FLOOR}
"""How a right shift rounds: to nearest with ties away from zero, to even or up, or not at all."""


class Rounding(NamedTuple):
    """Which rule makes the results of a row or a tensor.

    rule    number of the rule for whole blocks
    block   elements in a block; 1: the rule is everybody's
    rest    number of the rule for the elements behind the last whole block
    """

    rule: int
    block: int
    rest: int


TWICE = Rounding(DOUBLE_ROUNDING, 1, DOUBLE_ROUNDING)
"""double_rounding for every element: TFLite Micro's."""


class Requantization(NamedTuple):
    """Accumulator -> output code, one multiplier per output channel, or a single one.

    multiplier, shift   int32 (O,): Q0.31 and exponent, shift > 0 is a left shift
    scale               float64 (O,): the real multiplier, for the rules that compute with it
    zero_point          of the output
    act_min, act_max    clamp of the output code
    rounding            numbers of REQUANTIZE
    """

    multiplier: np.ndarray
    shift: np.ndarray
    scale: np.ndarray
    zero_point: int
    act_min: int
    act_max: int
    rounding: Rounding


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


class Tallies(NamedTuple):
    """What the sums of a weighted operator do, by output channel (O,).

    exact        scratch: the sum of one output, int32 where none can leave it, else int64
    low, high    least and greatest exact sum on the way, of the type of `exact`
    kept         int64 scratch: what the accumulator holds instead
    left         int64 scratch: how often the sum of one output left the accumulator's range
    overflows    int64: how often any did
    outputs      int64: outputs in which that happened
    changed      int64: outputs whose accumulator ended at another number than the exact sum
    """

    exact: np.ndarray
    low: np.ndarray
    high: np.ndarray
    kept: np.ndarray
    left: np.ndarray
    overflows: np.ndarray
    outputs: np.ndarray
    changed: np.ndarray


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
    """ADD in fixed point: each operand is shifted left and requantised, then their sum is.

    row    elements of y in a row, from whose start blocks are counted
    a, b   Requantization of the operands to their common scale, without zero point
    """

    row: int
    left_shift: int
    a_zero_point: int
    b_zero_point: int
    a: Requantization
    b: Requantization


class AddXnnpack(NamedTuple):
    """XNNPACK's ADD: y = zero_point + (a_multiplier*a + b_multiplier*b) / 2^shift, rounded once."""

    a_zero_point: int
    a_multiplier: int
    b_zero_point: int
    b_multiplier: int
    shift: int
    y_zero_point: int
    act_min: int
    act_max: int


class Mul(NamedTuple):
    """The product of two operands, which is then requantised."""

    a_zero_point: int
    b_zero_point: int


class Mean(NamedTuple):
    """Sum over `cells` values, requantised; the division is folded into the multiplier."""

    cells: int
    x_zero_point: int


class MeanXnnpack(NamedTuple):
    """XNNPACK's MEAN: y = rint(sum of codes * scale + offset), in float32.

    scale    (s_x / s_y) * (1 / cells)
    offset   y_zero_point - cells * x_zero_point * scale
    """

    scale: np.float32
    offset: np.float32
    act_min: int
    act_max: int


class Softmax(NamedTuple):
    """Fixed-point softmax over the last dimension: `rows` rows of `depth` codes."""

    rows: int
    depth: int
    multiplier: int
    shift: int
    diff_min: int


class SoftmaxX86(NamedTuple):
    """LiteRT's softmax on x86; table float32 (256,): exp(-beta * scale * difference of codes)."""

    rows: int
    depth: int
    table: np.ndarray


class Rescale(NamedTuple):
    """code -> code: subtract the zero point, then requantise (quantize of codes, relu, relu6)."""

    x_zero_point: int


class RescaleXnnpack(NamedTuple):
    """XNNPACK's code -> code: y = y_zero_point + (x - x_zero_point) * multiplier / 2^8."""

    x_zero_point: int
    multiplier: int
    y_zero_point: int
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


class Quantize(NamedTuple):
    """Real number -> code; numbers of QUANTIZE."""

    scale: np.float32
    zero_point: int
    rounding: Rounding


class Dequantize(NamedTuple):
    """Code -> real number; numbers of DEQUANTIZE."""

    scale: np.float32
    zero_point: int
    rounding: Rounding


class Pairs(NamedTuple):
    """A walk over y and, beside it, over the two operands it is made of.

    shape       int64 (R,), merged: no dimension of length 1 unless it is the only one
    a_strides   int64 (R,), in elements; the last is 0 or 1, and 1 for at least one operand
    b_strides   int64 (R,)
    """

    shape: np.ndarray
    a_strides: np.ndarray
    b_strides: np.ndarray
