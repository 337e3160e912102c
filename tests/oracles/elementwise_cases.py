"""Cases of the operators that work element by element, and of softmax.

TFLite Micro's limits:
* add aborts unless s_y > 2^-19 max(s_a, s_b);
* relu6 ignores the output's quantisation: it is drawn equal to the input's;
* quantize takes the pairs of QUANTIZE_PAIRS (and int8, int16 to int32, int32 to int8, int16);
  real to uint8 is not among them;
* dequantize takes int8, uint8 and int16;
* softmax needs an output scale of 1/256 and zero point of -128, aborts unless
  beta * scale > 2^-26, and aborts on a row whose sum of exponentials reaches 512.
* a fused relu6 or relu_n1_to_1 needs s_y above 6/2^31 or 1/2^31.
Broadcasting in add and mul works up to rank 6; cases go to rank 4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from . import draws, tflite_builder
from .draws import Affine, Drawn
from .tflite_builder import Operation

MAX_ELEMENTS = 4000
MAX_DIMENSION = 9
MAX_RANK = 4
CONSTANT_SHARE = 0.25  # of add and mul whose second operand is a constant
ADD_TIES = 0.5  # only on ties do add's inner roundings show
ADD_RANGE = 2.0**-18  # smallest output scale over the larger input scale
QUANTIZE_PAIRS = (
    (np.float32, np.int8),
    (np.float32, np.int16),
    (np.int8, np.int8),
    (np.int8, np.uint8),
    (np.int8, np.int16),
    (np.uint8, np.int8),
    (np.int16, np.int8),
)
MAX_ROW = 1100
MAX_EXPONENTIALS = 500.0
SOFTMAX_AFFINE = Affine(1 / 256, -128)


def add(rng: Generator) -> Drawn:
    """a + b with equal, near or wildly different scales; half of the cases broadcast."""
    ties = bool(rng.random() < ADD_TIES)
    a_affine, b_affine = draws.affine(rng, ties), draws.affine(rng, ties)
    relation = rng.random()
    if relation < 0.25:
        b_affine = b_affine._replace(scale=a_affine.scale)
    elif relation < 0.75:
        scale = draws.float32(a_affine.scale * draws.log_uniform(rng, 0.1, 10))
        b_affine = b_affine._replace(scale=draws.simple(rng, scale) if ties else scale)
    return _binary(rng, tflite_builder.add, np.add, (a_affine, b_affine), ties)


def mul(rng: Generator) -> Drawn:
    """a * b; half of the cases broadcast."""
    ties = bool(rng.random() < draws.TIES)
    affines = (draws.affine(rng, ties), draws.affine(rng, ties))
    return _binary(rng, tflite_builder.mul, np.multiply, affines, ties)


def relu(rng: Generator) -> Drawn:
    """max(x, 0) with another output quantisation, multipliers above 1 among them."""
    ties = bool(rng.random() < draws.TIES)
    x_affine = draws.affine(rng, ties)
    x = _operand(rng, _shape(rng), x_affine)
    y_affine = draws.fitted(rng, draws.reals(x, x_affine), ties, "relu")
    tensors = [draws.tensor("x", x, x_affine), draws.output(x.shape, y_affine)]
    arguments = {"x": x, "quantization": (x_affine, y_affine)}
    return Drawn(tensors, tflite_builder.relu(0, 1), (x,), arguments)


def relu6(rng: Generator) -> Drawn:
    """min(max(x, 0), 6) in the input's quantisation."""
    ties = bool(rng.random() < draws.TIES)
    affine = Affine(draws.bounded_scale(rng, "relu6", ties, (20, 300)), draws.zero_point(rng))
    x = _operand(rng, _shape(rng), affine)
    tensors = [draws.tensor("x", x, affine), draws.output(x.shape, affine)]
    return Drawn(tensors, tflite_builder.relu6(0, 1), (x,), {"x": x, "affine": affine})


def quantize(rng: Generator) -> Drawn:
    """Real numbers or codes to codes of another quantisation."""
    source, target = QUANTIZE_PAIRS[rng.integers(len(QUANTIZE_PAIRS))]
    ties = bool(rng.random() < draws.TIES)
    if source is np.float32:
        return _quantize_real(rng, target, ties)
    x_affine = draws.affine(rng, ties)._replace(zero_point=draws.zero_point(rng, source))
    x = draws.codes(rng, _shape(rng), x_affine.zero_point, source)
    y_affine = draws.fitted(rng, draws.reals(x, x_affine), ties, dtype=target)
    if {source, target} == {np.int8, np.uint8} and rng.random() < 0.3:
        offset = 128 if target is np.uint8 else -128
        y_affine = Affine(x_affine.scale, x_affine.zero_point + offset)
    tensors = [draws.tensor("x", x, x_affine), draws.output(x.shape, y_affine, target)]
    arguments = {"x": x, "quantization": (x_affine, y_affine), "dtype": np.dtype(target).name}
    return Drawn(tensors, tflite_builder.quantize(0, 1), (x,), arguments)


def dequantize(rng: Generator) -> Drawn:
    """Codes to real numbers."""
    dtype = (np.int8, np.uint8, np.int16)[rng.integers(3)]
    affine = draws.affine(rng, False)._replace(zero_point=draws.zero_point(rng, dtype))
    x = draws.codes(rng, _shape(rng), affine.zero_point, dtype)
    tensors = [
        draws.tensor("x", x, affine),
        tflite_builder.Tensor("y", x.shape, np.float32),
    ]
    return Drawn(tensors, tflite_builder.dequantize(0, 1), (x,), {"x": x, "affine": affine})


def softmax(rng: Generator) -> Drawn:
    """Rows of 1 to 1,100 codes; differences from nearly none to more than exp can show."""
    depth = round(draws.log_uniform(rng, 1, MAX_ROW))
    rows = _shape(rng, MAX_RANK - 1, max(MAX_ELEMENTS // depth, 1))
    beta = float(rng.choice([1.0, 1.0, 0.5, 2.0, 10.0, draws.float32(rng.uniform(0.05, 3))]))
    affine = draws.affine(rng, bool(rng.random() < draws.TIES), 1e-3 / beta, 0.15 / beta)
    x = draws.codes(rng, (*rows, depth), 0)
    while _largest_sum(x, beta * affine.scale) > MAX_EXPONENTIALS:
        x = rng.integers(-128, 128, x.shape).astype(np.int8)
        affine = affine._replace(scale=2 * affine.scale)
    tensors = [draws.tensor("x", x, affine), draws.output(x.shape, SOFTMAX_AFFINE)]
    arguments = {"x": x, "scale": affine.scale, "beta": beta}
    return Drawn(tensors, tflite_builder.softmax(0, 1, beta), (x,), arguments)


def summable(y: Affine, a: Affine, b: Affine) -> Affine:
    """An output quantisation whose scale is not too small for add."""
    return y._replace(scale=max(y.scale, draws.float32(ADD_RANGE * max(a.scale, b.scale))))


def _binary(
    rng: Generator,
    build: Callable[..., Operation],
    combine: Callable[..., NDArray[np.float64]],
    affines: tuple[Affine, Affine],
    ties: bool,
) -> Drawn:
    """An operator on two operands, whose scales are moved so that the activation matters."""
    name = draws.activation(rng)
    affines = (draws.suited(rng, affines[0], name), draws.suited(rng, affines[1], name))
    a_shape, b_shape = _shapes(rng)
    a, b = _operand(rng, a_shape, affines[0]), _operand(rng, b_shape, affines[1])
    if name in ("relu6", "relu_n1_to_1"):
        spread = float(
            np.abs(combine(draws.reals(a, affines[0]), draws.reals(b, affines[1]))).mean()
        )
        wanted = rng.uniform(0.2, 0.6) * draws.ACTIVATION_BOUNDS[name][1] / max(spread, 1e-9)
        factor = draws.power_of_two(wanted if combine is np.add else wanted**0.5)
        affines = (_scaled(affines[0], factor), _scaled(affines[1], factor))
    reals = combine(draws.reals(a, affines[0]), draws.reals(b, affines[1]))
    y_affine = summable(draws.fitted(rng, reals, ties, name), *affines)
    tensors = [draws.tensor("a", a, affines[0]), draws.tensor("b", b, affines[1])]
    inputs: tuple[NDArray[Any], ...] = (a, b)
    if rng.random() < CONSTANT_SHARE:
        tensors[1], inputs = tensors[1]._replace(data=b), (a,)
    tensors.append(draws.output(reals.shape, y_affine))
    arguments = {"a": a, "b": b, "quantization": (*affines, y_affine), "activation": name}
    return Drawn(tensors, build((0, 1), 2, name), inputs, arguments)


def _quantize_real(rng: Generator, dtype: type, ties: bool) -> Drawn:
    """Real numbers, a few far outside the output's range; on ties half of them lie on .5 codes."""
    x = (rng.normal(rng.normal(), 1.0, _shape(rng)) * draws.log_uniform(rng, 1e-3, 1e3)).astype("f")
    affine = draws.fitted(rng, x.astype(np.float64), ties, dtype=dtype)
    if ties:
        halves = (np.floor(x / affine.scale) + 0.5) * affine.scale
        x = np.where(rng.random(x.shape) < 0.5, halves, x).astype("f")
    x = np.where(rng.random(x.shape) < 0.02, x * np.float32(1000), x)
    tensors = [draws.tensor("x", x, None), draws.output(x.shape, affine, dtype)]
    arguments = {"x": x, "quantization": (None, affine), "dtype": np.dtype(dtype).name}
    return Drawn(tensors, tflite_builder.quantize(0, 1), (x,), arguments)


def _shape(rng: Generator, rank: int = MAX_RANK, elements: int = MAX_ELEMENTS) -> tuple[int, ...]:
    """A shape of rank 1 to `rank` with at most that many elements."""
    while True:
        rank_drawn = int(rng.integers(1, rank, endpoint=True))
        shape = tuple(int(v) for v in rng.integers(1, MAX_DIMENSION, rank_drawn, endpoint=True))
        if np.prod(shape) <= elements:
            return shape


def _shapes(rng: Generator) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Two shapes: equal, or each with some dimensions of one, or one of lower rank."""
    shape = _shape(rng)
    if rng.random() < 0.5:
        return shape, shape
    shrunk = [tuple(1 if rng.random() < 0.3 else d for d in shape) for _ in range(2)]
    which = int(rng.integers(2))
    shrunk[which] = shrunk[which][int(rng.integers(len(shape) + 1)) :]
    return shrunk[0], shrunk[1]


def _operand(rng: Generator, shape: tuple[int, ...], affine: Affine) -> NDArray[Any]:
    """int8 codes; a tenth of the operands stay within 3 of their zero point."""
    if rng.random() < 0.1:
        return draws.codes_near(rng, shape, affine.zero_point, 3)
    return draws.codes(rng, shape, affine.zero_point)


def _scaled(affine: Affine, factor: float) -> Affine:
    return affine._replace(scale=draws.float32(affine.scale * factor))


def _largest_sum(x: NDArray[Any], scale: float) -> float:
    """The largest sum of exp(scale * (x - max)) over a row."""
    differences = x.astype(np.float64) - x.max(axis=-1, keepdims=True)
    return float(np.exp(scale * differences).sum(axis=-1).max())
