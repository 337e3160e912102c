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
    "average_pool2d",
    "max_pool2d",
    "mean",
    "softmax",
    "pad",
    "transpose",
    "move",
    *(f"quantize_{code}" for code in CODE_TYPES),
    *(f"dequantize_{code}" for code in CODE_TYPES),
    *(f"rescale_{x}_{y}" for x, y in RESCALES),
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
    AVERAGE_POOL2D,
    MAX_POOL2D,
    MEAN,
    SOFTMAX,
    PAD,
    TRANSPOSE,
    MOVE,
    QUANTIZE,
) = range(16)
DEQUANTIZE = QUANTIZE + len(CODE_TYPES)
RESCALE = DEQUANTIZE + len(CODE_TYPES)
(
    NEURAL_ART_CONV2D,
    NEURAL_ART_DEPTHWISE_CONV2D,
    NEURAL_ART_FULLY_CONNECTED,
    NEURAL_ART_ADD,
    NEURAL_ART_MEAN,
) = range(RESCALE + len(RESCALES), RESCALE + len(RESCALES) + 5)

ARENA, CONSTANTS = 0, 1

OPERATION, NODE, OPERANDS = 0, 1, 2
OPERAND_COLUMNS = 3
X, WEIGHTS, Y, BIAS, MULTIPLIER, SHIFT, SCRATCH, SUMS, V0, V1, V2 = range(11)
PARAMETERS = OPERANDS + 11 * OPERAND_COLUMNS
WIDTH = PARAMETERS + 27
"""The longest list of numbers: Conv2d (17) and the tail of NeuralArt (10)."""
