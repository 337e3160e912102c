"""Where LiteRT is known to be wrong, and the right values in their place.

* Its reference FULLY_CONNECTED converts a double beyond int32 to an integer, which C leaves
  undefined; right is the nearest int32.
* Its ADD and MUL for x86 bring the scaled result to 16 bits, and add the zero point there, by
  dropping what is above; right is the result, clamped. An int8 output needs operands that are
  hundreds of times coarser than it to get there.
* XNNPACK returns a broadcast of one element and several dimensions in the shape of the operand
  with fewer; right is the declared shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from naive import operators, rounding
from numpy.typing import NDArray

from npusim import Graph
from npusim.affine import quantization, scale, zero_point
from npusim.graph import ABSENT, Node, Tensor
from npusim.rules import profile_of

INT16_END = 2**15 - 2  # from here on a rounding may decide


def corrected(
    graph: Graph, node: Node, operands: Sequence[NDArray[Any]], expected: NDArray[Any]
) -> NDArray[Any]:
    """What LiteRT should have computed for a node, given what it did compute.

    graph      under the profile of LiteRT's mode
    operands   the arrays of the node's inputs, constants too, without absent ones
    """
    tensors = [graph.tensors[i] for i in (*node.inputs, *node.outputs) if i != ABSENT]
    profile = profile_of(graph, node).name
    if (node.op, profile) == ("fully_connected", "litert-ref"):
        return _saturated(node, tensors, operands, expected)
    if node.op in ("add", "mul") and profile == "litert-x86":
        return _added_in_full(node, tensors, operands, expected)
    if node.op in ("add", "mul") and profile == "xnnpack":
        return expected.reshape(np.broadcast_shapes(*(x.shape for x in operands)))
    return expected


def _saturated(
    node: Node, tensors: list[Tensor], operands: Sequence[NDArray[Any]], expected: NDArray[Any]
) -> NDArray[Any]:
    """Outputs whose accumulator times M is no int32 lie at the end they passed."""
    x, weights, y = *tensors[:2], tensors[-1]
    bias = operands[2] if len(operands) > 2 else None
    acc = operators.fully_connected_accumulators(*operands[:2], bias, zero_point(x))
    reals = scale(x) * quantization(weights).scale.astype(np.float64) / scale(y)
    products = np.vectorize(rounding.wrap32, otypes=[object])(acc).astype(np.float64) * reals
    beyond = (np.abs(products) >= 2.0**31 - 0.5).reshape(expected.shape)
    return _at_the_ends(node, y, products.reshape(expected.shape), beyond, expected)


def _added_in_full(
    node: Node, tensors: list[Tensor], operands: Sequence[NDArray[Any]], expected: NDArray[Any]
) -> NDArray[Any]:
    """Outputs that leave int16 with the zero point lie at the end they passed."""
    y = tensors[-1]
    a, b = (scale(t) * (x.astype(np.float64) - zero_point(t))
            for t, x in zip(tensors[:2], operands, strict=True))  # fmt: skip
    total = (a + b if node.op == "add" else a * b) / scale(y) + zero_point(y)
    return _at_the_ends(node, y, total, np.abs(total) > INT16_END, expected)


def _at_the_ends(
    node: Node, y: Tensor, real: NDArray[Any], beyond: NDArray[Any], expected: NDArray[Any]
) -> NDArray[Any]:
    """`expected`; where a result is beyond what LiteRT holds, the end of the range on its side."""
    affine = (scale(y), zero_point(y))
    low, high = rounding.activation_range(str(node.attributes["activation"]), affine)
    return np.where(beyond, np.where(real > 0, high, low), expected).astype(expected.dtype)
