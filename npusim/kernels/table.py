"""The operation table: how a plan tells the compiled executor what to do.

One int64 row per node: operation, node index, operands as (space, offset, bytes), and the numbers
of the operator's structs in field order. Nothing here needs numba.
"""

CODE_TYPES = ("int8", "uint8", "int16")
RESCALES = (
    ("int8", "int8"),
    ("int8", "uint8"),
    ("int8", "int16"),
    ("int8", "int32"),
    ("uint8", "int8"),
    ("int16", "int8"),
    ("int16", "int16"),
    ("int16", "int32"),
    ("int32", "int8"),
    ("int32", "int16"),
)
"""Pairs of input and output types between which codes are requantised."""

OPERATIONS = (
    "conv2d",
    "depthwise_conv2d",
    "fully_connected",
    "conv2d_ordered",
    "depthwise_conv2d_ordered",
    "fully_connected_ordered",
    "add",
    "mul",
    "add_xnnpack",
    "average_pool2d",
    "max_pool2d",
    "mean",
    "mean_xnnpack",
    "softmax",
    "softmax_x86",
    "pad",
    "transpose",
    "move",
    *(f"quantize_{code}" for code in CODE_TYPES),
    *(f"dequantize_{code}" for code in CODE_TYPES),
    *(f"rescale_{x}_{y}" for x, y in RESCALES),
    "rescale_xnnpack",
    "neural_art_conv2d",
    "neural_art_depthwise_conv2d",
    "neural_art_fully_connected",
    "neural_art_add",
    "neural_art_mean",
)
(
    CONV2D,
    DEPTHWISE_CONV2D,
    FULLY_CONNECTED,
    CONV2D_ORDERED,
    DEPTHWISE_CONV2D_ORDERED,
    FULLY_CONNECTED_ORDERED,
    ADD,
    MUL,
    ADD_XNNPACK,
    AVERAGE_POOL2D,
    MAX_POOL2D,
    MEAN,
    MEAN_XNNPACK,
    SOFTMAX,
    SOFTMAX_X86,
    PAD,
    TRANSPOSE,
    MOVE,
    QUANTIZE,
) = range(19)
DEQUANTIZE = QUANTIZE + len(CODE_TYPES)
RESCALE = DEQUANTIZE + len(CODE_TYPES)
RESCALE_XNNPACK = RESCALE + len(RESCALES)
(
    NEURAL_ART_CONV2D,
    NEURAL_ART_DEPTHWISE_CONV2D,
    NEURAL_ART_FULLY_CONNECTED,
    NEURAL_ART_ADD,
    NEURAL_ART_MEAN,
) = range(RESCALE_XNNPACK + 1, RESCALE_XNNPACK + 6)

ARENA, CONSTANTS = 0, 1

OPERATION, NODE, OPERANDS = 0, 1, 2
OPERAND_COLUMNS = 3
X, WEIGHTS, Y, BIAS, MULTIPLIER, SHIFT, SCALE, SCRATCH, SUMS, V0, V1, V2 = range(12)
PARAMETERS = OPERANDS + 12 * OPERAND_COLUMNS
TAIL = 6
"""Numbers of a Requantization: zero point, clamp, rounding."""
WIDTH = PARAMETERS + 17 + 10
"""The longest list of numbers: Conv2d and the tail of NeuralArt."""
