"""The part of the TFLite schema that the loader reads, as tables to verify.

Slots are the fields' positions in schema.fbs, version 3.
Source: tensorflow/compiler/mlir/lite/schema/schema.fbs
"""

from .flatbuffer import Scalar, Table, Tables, Vector

_BYTE = Scalar(1)
_INT = Scalar(4)
_LONG = Scalar(8)
_STRING = Vector(1)
_INTS = Vector(4)

OPERATOR_CODE = Table(
    "operator_code",
    {
        0: ("deprecated_builtin_code", _BYTE),
        1: ("custom_code", _STRING),
        2: ("version", _INT),
        3: ("builtin_code", _INT),
    },
)

QUANTIZATION = Table(
    "quantization",
    {
        2: ("scale", _INTS),
        3: ("zero_point", Vector(8)),
        4: ("details_type", _BYTE),
        6: ("quantized_dimension", _INT),
    },
)

TENSOR = Table(
    "tensor",
    {
        0: ("shape", _INTS),
        1: ("type", _BYTE),
        2: ("buffer", _INT),
        3: ("name", _STRING),
        4: ("quantization", QUANTIZATION),
        5: ("is_variable", _BYTE),
        6: ("sparsity", Table("sparsity")),
        10: ("external_buffer", _INT),
    },
)

OPERATOR = Table(
    "operator",
    {
        0: ("opcode_index", _INT),
        1: ("inputs", _INTS),
        2: ("outputs", _INTS),
        3: ("builtin_options_type", _BYTE),
        4: ("builtin_options", Table("builtin_options")),
    },
)

SUBGRAPH = Table(
    "subgraph",
    {
        0: ("tensors", Tables(TENSOR)),
        1: ("inputs", _INTS),
        2: ("outputs", _INTS),
        3: ("operators", Tables(OPERATOR)),
        4: ("name", _STRING),
    },
)

BUFFER = Table("buffer", {0: ("data", _STRING), 1: ("offset", _LONG), 2: ("size", _LONG)})

MODEL = Table(
    "model",
    {
        0: ("version", _INT),
        1: ("operator_codes", Tables(OPERATOR_CODE)),
        2: ("subgraphs", Tables(SUBGRAPH)),
        4: ("buffers", Tables(BUFFER)),
    },
)

CONV_2D_OPTIONS = Table(
    "conv_2d_options",
    {
        0: ("padding", _BYTE),
        1: ("stride_w", _INT),
        2: ("stride_h", _INT),
        3: ("fused_activation_function", _BYTE),
        4: ("dilation_w_factor", _INT),
        5: ("dilation_h_factor", _INT),
    },
)

DEPTHWISE_CONV_2D_OPTIONS = Table(
    "depthwise_conv_2d_options",
    {
        0: ("padding", _BYTE),
        1: ("stride_w", _INT),
        2: ("stride_h", _INT),
        3: ("depth_multiplier", _INT),
        4: ("fused_activation_function", _BYTE),
        5: ("dilation_w_factor", _INT),
        6: ("dilation_h_factor", _INT),
    },
)

POOL_2D_OPTIONS = Table(
    "pool_2d_options",
    {
        0: ("padding", _BYTE),
        1: ("stride_w", _INT),
        2: ("stride_h", _INT),
        3: ("filter_width", _INT),
        4: ("filter_height", _INT),
        5: ("fused_activation_function", _BYTE),
    },
)

FULLY_CONNECTED_OPTIONS = Table(
    "fully_connected_options",
    {
        0: ("fused_activation_function", _BYTE),
        1: ("weights_format", _BYTE),
        2: ("keep_num_dims", _BYTE),
    },
)

ADD_OPTIONS = Table("add_options", {0: ("fused_activation_function", _BYTE)})
MUL_OPTIONS = Table("mul_options", {0: ("fused_activation_function", _BYTE)})
REDUCER_OPTIONS = Table("reducer_options", {0: ("keep_dims", _BYTE)})
RESHAPE_OPTIONS = Table("reshape_options", {0: ("new_shape", _INTS)})
SQUEEZE_OPTIONS = Table("squeeze_options", {0: ("squeeze_dims", _INTS)})
SOFTMAX_OPTIONS = Table("softmax_options", {0: ("beta", _INT)})
