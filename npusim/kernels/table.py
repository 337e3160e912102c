"""The operation table: how a plan tells the compiled executor what to do.

One int64 row per node: operation, node index, operands as (space, offset, bytes), and the numbers
of the operator's struct in field order. Nothing here needs numba.
"""

OPERATIONS = (
    "conv2d",
    "conv2d_ordered",
    "depthwise_conv2d",
    "depthwise_conv2d_ordered",
    "fully_connected",
    "fully_connected_ordered",
    "add",
    "mul",
    "average_pool2d",
    "max_pool2d",
    "mean",
    "pad",
    "move",
    "transpose",
    "softmax",
    "quantize",
    "dequantize",
    "rescale",
)
(
    CONV2D,
    CONV2D_ORDERED,
    DEPTHWISE_CONV2D,
    DEPTHWISE_CONV2D_ORDERED,
    FULLY_CONNECTED,
    FULLY_CONNECTED_ORDERED,
    ADD,
    MUL,
    AVERAGE_POOL2D,
    MAX_POOL2D,
    MEAN,
    PAD,
    MOVE,
    TRANSPOSE,
    SOFTMAX,
    QUANTIZE,
    DEQUANTIZE,
    RESCALE,
) = range(len(OPERATIONS))

ARENA, CONSTANTS = 0, 1

OPERATION, NODE, OPERANDS = 0, 1, 2
OPERAND_COLUMNS = 3
(X, WEIGHTS, BIAS, Y, SCRATCH, SUMS, MULTIPLIER, SHIFT, V0, V1, V2, V3) = range(12)
PARAMETERS = OPERANDS + 12 * OPERAND_COLUMNS
WIDTH = PARAMETERS + 26
