"""The oracles and their cases: deterministic, accepted, mostly not clamped, and in agreement."""

import numpy as np
import pytest
from naive.rounding import LIMITS, activation_range
from oracles import cases, litert, tflite_builder, tflm
from oracles.tflite_builder import Tensor, Window, constant

FIRST = range(30)
CLAMPED_AT_MOST = 0.5
# LiteRT's reference kernels have another rule here: fully_connected rounds acc * M once, in double;
# mul and relu compute M in float32, which shows on ties only.
DISAGREE = {"fully_connected": FIRST, "relu": range(100), "mul": range(600)}


def clamped_share(case: cases.Case, y: np.ndarray) -> float:
    """Share of outputs at the ends of what the type and the fused activation allow."""
    low, high = LIMITS[y.dtype.name]
    if "activation" in case.arguments:
        affine = case.arguments.get("affine") or case.arguments["quantization"][-1]
        low, high = activation_range(case.arguments["activation"], affine)
    return float(np.mean((y <= low) | (y >= high)))


def two_layer_model() -> tuple[bytes, np.ndarray]:
    rng = np.random.default_rng(4)
    weights = rng.integers(-127, 128, (5, 3, 3, 2), np.int8)
    tensors = [
        Tensor("x", (2, 6, 6, 2), np.int8, 0.05, -3),
        constant("weights", weights, np.geomspace(0.001, 0.01, 5)),
        constant("bias", np.arange(5, dtype=np.int32), 0.05 * np.geomspace(0.001, 0.01, 5)),
        Tensor("convolved", (2, 3, 3, 5), np.int8, 0.2, 4),
        Tensor("pooled", (2, 1, 1, 5), np.int8, 0.2, 4),
    ]
    window = Window((2, 2), (1, 1), "SAME")
    operations = [
        tflite_builder.conv_2d((0, 1, 2), 3, window, "relu"),
        tflite_builder.average_pool_2d(3, 4, (3, 3), Window()),
    ]
    x = rng.integers(-128, 128, (2, 6, 6, 2), np.int8)
    return tflite_builder.model(tensors, operations), x


@pytest.mark.parametrize("op", cases.OPERATORS)
def test_case_is_reproducible(op: str) -> None:
    first, second = cases.case(op, 3), cases.case(op, 3)
    assert first.model == second.model
    assert [x.tobytes() for x in first.inputs] == [x.tobytes() for x in second.inputs]
    assert cases.case(op, 4).model != first.model


@pytest.mark.parametrize("op", cases.OPERATORS)
def test_case_is_accepted_and_seldom_clamped(op: str) -> None:
    shares = []
    for seed in FIRST:
        case = cases.case(op, seed)
        (y,) = tflm.run(case.model, case.inputs)
        if y.dtype != np.float32:
            shares.append(clamped_share(case, y))
    assert op == "dequantize" or np.mean(shares) < CLAMPED_AT_MOST


def test_case_description_names_operator_and_seed() -> None:
    assert cases.case("mean", 5).description.startswith("case('mean', 5): x(")


@pytest.mark.parametrize("op", cases.OPERATORS)
def test_tflm_matches_litert_ref(op: str) -> None:
    differing = compared = 0
    for seed in DISAGREE.get(op, FIRST):
        case = cases.case(op, seed)
        try:
            (other,) = litert.run(case.model, case.inputs, "ref")
        except RuntimeError:
            continue  # a limit of LiteRT, named in the generators' docstrings
        (y,) = tflm.run(case.model, case.inputs)
        compared += 1
        differing += int(np.sum(y != other))
    assert compared >= len(FIRST) // 2
    assert (differing > 0) == (op in DISAGREE)


def test_trace_holds_inputs_and_every_output() -> None:
    model, x = two_layer_model()
    expected = tflm.trace(model, [x])
    assert [*expected] == [0, 3, 4]
    assert np.array_equal(expected[0], x)
    assert np.array_equal(expected[4], tflm.run(model, [x])[0])
    for mode in litert.MODES:
        actual = litert.trace(model, [x], mode)
        assert [*actual] == [0, 3, 4]
        assert np.array_equal(actual[4], litert.run(model, [x], mode)[0])


def test_litert_modes_are_different_arithmetics() -> None:
    drawn = [cases.case("conv2d", seed) for seed in range(40)]
    biased = [case for case in drawn if case.arguments["bias"] is not None]
    codes = {
        b"".join(litert.run(case.model, case.inputs, mode)[0].tobytes() for case in biased)
        for mode in litert.MODES
    }
    assert len(codes) == len(litert.MODES)


def test_tflm_refuses_what_the_generators_avoid() -> None:
    x = Tensor("x", (1, 2, 1, 2, 1, 2), np.int8, 0.1)
    axes = constant("permutation", np.arange(6, dtype=np.int32))
    transposed = tflite_builder.model(
        [x, axes, x._replace(name="y")], [tflite_builder.transpose((0, 1), 2)]
    )
    real = Tensor("x", (3,), np.float32)
    unsigned = Tensor("y", (3,), np.uint8, 0.1)
    quantized = tflite_builder.model([real, unsigned], [tflite_builder.quantize(0, 1)])
    with pytest.raises(RuntimeError):
        tflm.run(transposed, [np.zeros(x.shape, np.int8)])
    with pytest.raises(RuntimeError):
        tflm.run(quantized, [np.zeros(3, np.float32)])
