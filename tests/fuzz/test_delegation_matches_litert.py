"""Which nodes XNNPACK takes: those that LiteRT lists as taken, and the bits that follow from it.

In the networks of `oracles.networks`; and in chains of elementwise operators, convolutions and
pools whose scales lie at, beside and around every limit that decides, so that one operator is taken
here and left there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import pytest
from numpy.random import Generator
from oracles import draws, litert, networks, tflite_builder
from oracles.tflite_builder import Operation, Tensor, Window, constant

from fuzz.agreement import parsed
from fuzz.litert_layers import differing_layers
from npusim import Graph, ModelError, delegation
from npusim.check import check
from npusim.rules import MOVING

TENTH, REST = range(60), range(60, 600)
MOST_REFUSED = 0.02  # of the networks
SHAPE = (1, 6, 7, 5)
BOUNDARY = (float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).tiny) / 2)


class Chain(NamedTuple):
    """A model while it grows; each step reads its last tensor."""

    rng: Generator
    tensors: list[Tensor]
    operations: list[Operation]

    def scale(self) -> float:
        """Of the last tensor."""
        return float(np.float32(self.tensors[-1].scale))

    def near(self, limits: tuple[np.float32, np.float32]) -> float:
        """A ratio of scales: one of the limits, beside or around it, or an ordinary one."""
        limit = np.float32(self.rng.choice(limits))
        beside = np.nextafter(limit, np.float32(self.rng.choice([0, np.inf])))
        around = limit * np.exp(self.rng.uniform(-1, 1))
        ordinary = np.exp(self.rng.uniform(-2, 2))
        return float(self.rng.choice([limit, beside, around, ordinary, ordinary]))

    def made(self, scale: float, shape: tuple[int, ...] = ()) -> Tensor:
        """The tensor that a step makes."""
        return Tensor("y", shape or self.tensors[-1].shape, np.int8, draws.float32(scale),
                      draws.zero_point(self.rng))  # fmt: skip

    def append(
        self, more: list[Tensor], y: Tensor, build: Callable[[tuple[int, ...], int], Operation]
    ) -> None:
        """Append an operator that reads the last tensor and `more`."""
        last = len(self.tensors) - 1
        operands = (last, *range(last + 1, last + 1 + len(more)))
        self.operations.append(build(operands, operands[-1] + 1))
        self.tensors.extend(t._replace(name=f"{t.name}_{len(self.tensors) + i}")
                            for i, t in enumerate([*more, y]))  # fmt: skip


def chain(seed: int) -> tuple[bytes, list[np.ndarray]]:
    """A model of two to six operators, and its inputs."""
    rng = np.random.default_rng([0x64656C, seed])
    draft = Chain(rng, [Tensor("x", SHAPE, np.int8, 0.1, draws.zero_point(rng))], [])
    for _ in range(int(rng.integers(2, 7))):
        STEPS[str(rng.choice(list(STEPS)))](draft)
    made = {operation.outputs[0] for operation in draft.operations}
    fed = [t for i, t in enumerate(draft.tensors) if t.data is None and i not in made]
    inputs = [draws.codes(rng, t.shape, int(np.asarray(t.zero_point))) for t in fed]
    return tflite_builder.model(draft.tensors, draft.operations), inputs


def _add(draft: Chain) -> None:
    """Of a tensor near a limit and an ordinary one, in either order."""
    y = draft.made(draft.scale() / draft.near(delegation.ADD_RATIO))
    other = draft.made(float(np.asarray(y.scale)) * np.exp(draft.rng.uniform(-2, 2)))
    swapped = bool(draft.rng.random() < 0.5)
    draft.append([other._replace(name="b")], y,
                 lambda i, o: tflite_builder.add(i[::-1] if swapped else i, o))  # fmt: skip


def _mul(draft: Chain) -> None:
    factor = draft.made(np.exp(draft.rng.uniform(-2, 2)))._replace(name="b")
    product = draft.scale() * float(np.asarray(factor.scale))
    y = draft.made(product / draft.near(delegation.MUL_RATIO))
    draft.append([factor], y, tflite_builder.mul)


def _quantize(draft: Chain) -> None:
    y = draft.made(draft.scale() / draft.near(delegation.REQUANTIZE_RATIO))
    draft.append([], y, lambda i, o: tflite_builder.quantize(*i, o))


def _convolution(draft: Chain) -> None:
    """1x1, one weight scale or one a channel, some of them no normal number."""
    outputs = draft.tensors[-1].shape[3]
    scales = draft.rng.choice([1e-2, 2e-2, *BOUNDARY], outputs, p=[0.6, 0.3, 0.07, 0.03])
    weights = draft.rng.integers(-127, 128, (outputs, 1, 1, outputs)).astype(np.int8)
    x_scale = np.float32(draft.scale())
    operands = [
        constant("weights", weights, scales.astype(np.float32)),
        constant("bias", draft.rng.integers(-99, 99, outputs).astype(np.int32),
                 x_scale * scales.astype(np.float32)),
    ]  # fmt: skip
    y = draft.made(draft.scale() * np.exp(draft.rng.uniform(-1, 2)))
    draft.append(operands, y, lambda i, o: tflite_builder.conv_2d(i, o, Window()))


def _max_pool(draft: Chain) -> None:
    """Strides up to beyond the kernel, which XNNPACK does not take."""
    kernel, window = draws.pair(draft.rng, 2), Window(draws.pair(draft.rng, 2), (1, 1), "SAME")
    n, h, w, c = draft.tensors[-1].shape
    y = draft.tensors[-1]._replace(
        name="y", shape=(n, *draws.window_output((h, w), kernel, window), c)
    )
    draft.append([], y, lambda i, o: tflite_builder.max_pool_2d(*i, o, kernel, window))


def _relu(draft: Chain) -> None:
    """Stays with LiteRT's own kernels."""
    draft.append([], draft.made(draft.scale()), lambda i, o: tflite_builder.relu(*i, o))


STEPS: Mapping[str, Callable[[Chain], None]] = {
    "add": _add,
    "mul": _mul,
    "quantize": _quantize,
    "conv2d": _convolution,
    "max_pool2d": _max_pool,
    "relu": _relu,
}
DECIDED = STEPS.keys() - {"relu"}


@pytest.mark.parametrize(
    "seeds", [TENTH, pytest.param(REST, marks=pytest.mark.full)], ids=["tenth", "rest"]
)
def test_chain_at_the_limits_is_shared_out_as_litert_does(seeds: range) -> None:
    found: list[str] = []
    seen: Counter[tuple[str, bool]] = Counter()
    for seed in seeds:
        model, inputs = chain(seed)
        expected, tensors = litert.delegated(model), litert.trace(model, inputs, "xnnpack")
        graph = parsed(model, "chain", "xnnpack")
        taken = [delegation.takes(graph, node) for node in graph.nodes]
        seen.update((node.op, t) for node, t in zip(graph.nodes, taken, strict=True))
        if taken != expected:
            found.append(f"chain({seed}): {[n.op for n in graph.nodes]}: {taken}, not {expected}")
        found += [f"chain({seed}): {line}" for line in differing_layers(graph, tensors)]
    assert not found, "\n".join(found)
    assert {(op, taken) for op in DECIDED for taken in (True, False)} <= seen.keys(), seen


def refusal(graph: Graph) -> str:
    """What npusim says against the graph; nothing where it takes it."""
    try:
        check(graph)
    except ModelError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    "seeds", [TENTH, pytest.param(REST, marks=pytest.mark.full)], ids=["tenth", "rest"]
)
def test_network_is_shared_out_as_litert_does(seeds: range) -> None:
    """Operators that move codes aside: who moves them changes no bit.

    LiteRT refuses those networks that npusim does, for a multiplier of 2^8 or more, and no other.
    """
    found = []
    refused = 0
    for network in (networks.network(seed, biased=True) for seed in seeds):
        graph = parsed(network.model, "network", "xnnpack")
        message = refusal(graph)
        if message:
            assert message.endswith("LiteRT refuses the model as well, raise the output scale")
            with pytest.raises(RuntimeError, match="failed to create XNNPACK runtime"):
                litert.delegated(network.model)
            refused += 1
            continue
        expected = litert.delegated(network.model)
        found += [
            f"{network.description}: {node.name}: LiteRT {'takes' if taken else 'leaves'} it"
            for node, taken in zip(graph.nodes, expected, strict=True)
            if node.op not in MOVING and delegation.takes(graph, node) != taken
        ]
    assert not found, "\n".join(found)
    assert refused <= MOST_REFUSED * len(seeds), refused
