"""Named arithmetics: which rule each operator uses, how its multiplier is computed, and in what it
accumulates.

"Matches TFLite" is not one rule, so a profile is part of every graph.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from .graph import Accumulator

SCALES: Mapping[str, str] = MappingProxyType({
    "double": "in double",
    "float32_product": "from a float32 product",
    "float32": "in float32",
})  # fmt: skip
"""How M = s_x * s_w / s_y is computed, and the words for it; s_x * s_w is the product."""
USUAL_SCALE: Mapping[str, str] = MappingProxyType(dict.fromkeys(
    ("float32_even", "rescale_xnnpack", "add_xnnpack", "mean_xnnpack", "mean_x86"), "float32"
))  # fmt: skip
"""How a rule's M is computed where nothing is said of it; in double for all others."""
BOUNDS = ("away", "even")
"""How the code of an activation's bound is rounded: v / s to nearest, ties away from zero, before
the zero point is added; v / s + zero_point to even."""


C_ON_A_CPU = Accumulator(32, "wrap")


@dataclass(frozen=True)
class Arithmetic:
    """How one operator makes its results.

    rule     of `kernels.structs`, or an operator's own: "add_xnnpack", "half_away", ..
    scale    one of SCALES
    bounds   one of BOUNDS
    block    elements that the rule is used for come in whole blocks of so many
    rest     rule of the elements behind the last whole block
    """

    rule: str
    scale: str = "double"
    bounds: str = "away"
    block: int = 1
    rest: str = ""

    def __str__(self) -> str:
        """double_rounding; double_rounding_up:8+double_rounding where blocks have another rule."""
        return self.rule if self.block == 1 else f"{self.rule}:{self.block}+{self.rest}"


@dataclass(frozen=True)
class Profile:
    """One arithmetic.

    name          as `npusim.load(profile=...)` takes it
    reference     the program whose bits it reproduces
    operators     operator, or one of its variants in `rules.variant`, -> its arithmetic
    accumulator   of weighted operators
    fallback      profile of the nodes that the reference leaves to another program, see
                  `delegation`; "" where it runs all
    """

    name: str
    reference: str
    operators: Mapping[str, Arithmetic]
    accumulator: Accumulator = C_ON_A_CPU
    fallback: str = ""


_DOUBLE = Arithmetic("double_rounding")
_UP = Arithmetic("double_rounding_up")
_SINGLE = Arithmetic("single_rounding")
_FLOAT32 = Arithmetic("float32_even", scale="float32")
_XNNPACK = Arithmetic("float32_even", scale="float32", bounds="even")

_REQUANTIZING = (
    "conv2d",
    "grouped_conv2d",
    "depthwise_conv2d",
    "fully_connected",
    "fully_connected_per_channel",
    "add",
    "mul",
    "mean",
    "mean_of_map",
    "mean_of_map_flat",
    "requantize",
    "requantize_wide",
    "relu",
    "relu6",
)
_WEIGHTED = _REQUANTIZING[:5]
_OWN = {
    "quantize": Arithmetic("divide_away"),
    "dequantize": Arithmetic("product"),
    "dequantize_wide": Arithmetic("product"),
    "average_pool2d": Arithmetic("half_away"),
    "max_pool2d": Arithmetic("exact"),
    "softmax": Arithmetic("fixed_point"),
}
_TFLM = dict.fromkeys(_REQUANTIZING, _DOUBLE) | _OWN
_LITERT = _TFLM | dict.fromkeys(
    ("mul", "relu", "relu6"), Arithmetic("double_rounding", scale="float32")
)
_REF = _LITERT | dict.fromkeys(_WEIGHTED[3:], Arithmetic("float64_away"))
_X86 = _LITERT | {
    "conv2d": _UP,
    "depthwise_conv2d": Arithmetic("double_rounding_up", block=8, rest="double_rounding"),
    "fully_connected": Arithmetic("double_rounding_up", scale="float32_product"),
    "fully_connected_per_channel": _UP,
    "add": Arithmetic("add_x86"),
    "softmax": Arithmetic("softmax_x86"),
    "mean_of_map": Arithmetic("mean_x86", scale="float32"),
    "requantize": Arithmetic("double_rounding_up", block=16, rest="double_rounding"),
    "quantize": Arithmetic("reciprocal_even", block=8, rest="double_away"),
    "dequantize": Arithmetic("affine", block=8, rest="product"),
}
_DELEGATED = dict.fromkeys(_WEIGHTED, _XNNPACK) | {
    "add": Arithmetic("add_xnnpack", scale="float32", bounds="even"),
    "mul": _XNNPACK,
    "mean": Arithmetic("mean_xnnpack", scale="float32"),
    "mean_of_map": Arithmetic("mean_xnnpack", scale="float32"),
    "mean_of_map_flat": Arithmetic("mean_xnnpack", scale="float32"),
    "requantize": Arithmetic("rescale_xnnpack", scale="float32"),
    "quantize": Arithmetic("reciprocal_even"),
    "dequantize": Arithmetic("product"),
    "max_pool2d": Arithmetic("exact", bounds="even"),
}
_ONNX = dict.fromkeys(_WEIGHTED, _FLOAT32) | {
    "quantize": Arithmetic("divide_even"),
    "dequantize": Arithmetic("product"),
    "dequantize_wide": Arithmetic("product"),
    "max_pool2d": Arithmetic("exact"),
}
_ON_NEURAL_ART = (*_WEIGHTED, "add", "mean_of_map", "mean_of_map_flat")

_ALL = (
    Profile("tflm", "TFLite Micro reference kernels, CMSIS-NN", _TFLM),
    Profile("litert-ref", "LiteRT's reference kernels", _REF),
    Profile("litert-x86", "LiteRT's optimised kernels on x86, no delegate", _X86),
    Profile("xnnpack", "LiteRT's default: XNNPACK", _DELEGATED, fallback="litert-x86"),
    Profile(
        "single-rounding",
        "TFLite and CMSIS-NN built for single rounding, TOSA",
        dict.fromkeys(_REQUANTIZING, _SINGLE) | _OWN,
    ),
    Profile("onnx", "onnxruntime", _ONNX),
    Profile(
        "neural-art",
        "ST's Neural-ART (STM32N6), given its parameters",
        _TFLM | dict.fromkeys(_ON_NEURAL_ART, Arithmetic("neural_art")),
        Accumulator(64, "wrap"),
    ),
)
PROFILES: Mapping[str, Profile] = MappingProxyType({p.name: p for p in _ALL})


def find_profile(name: str) -> Profile:
    """The profile called `name`; ValueError lists those there are."""
    try:
        return PROFILES[name]
    except KeyError:
        known = ", ".join(sorted(PROFILES))
        raise ValueError(f"profile: must be one of {known}, got {name!r}") from None
