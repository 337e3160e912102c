"""Accumulators of every width: equal to Python integers, in both executors and on any threads."""

import numpy as np
import pytest
from graphs import Draft
from hostile_layers import LAYERS, Step, hostile, saturating, sums, wrapping
from naive.rounding import clamp, requantize_double_rounding

from npusim import Accumulator, ModelError, Session
from npusim.headroom import accumulator_bound, bits_needed

pytestmark = pytest.mark.usefixtures("isa")
WIDTHS = range(8, 65)
NARROW = (8, 12, 16, 18)
STEPS = {"wrap": wrapping, "saturate": saturating}


def codes_of(acc, shift):
    """What requantisation by 2^(shift - 1) makes of accumulators; the zero point is 4."""
    flat = [requantize_double_rounding(int(a), 1 << 30, shift) for a in acc.ravel()]
    return [clamp(code + 4, -128, 127) for code in flat]


def top_bits(session, shift):
    """The session with every layer requantising by 2^(shift - 1)."""
    for r in session.requantization.values():
        r.multiplier[:], r.shift[:] = 1 << 30, shift
    return session


@pytest.mark.parametrize("op", LAYERS)
@pytest.mark.parametrize("overflow", STEPS)
def test_every_width_matches_python_integers(op, overflow):
    """The output shows the eight highest bits of the accumulator, or of 24 where it has more."""
    for bits in WIDTHS:
        graph, x = hostile(op, seed=bits)
        step = STEPS[overflow](bits)
        shift = 9 - min(bits, 24)
        expected = codes_of(sums(graph, x, step, step), shift)
        session = Session(graph, accumulator=Accumulator(bits, overflow), threads=1)
        actual = top_bits(session, shift).run(x)
        assert actual.ravel().tolist() == expected, bits


@pytest.mark.parametrize("op", LAYERS)
@pytest.mark.parametrize("overflow", STEPS)
@pytest.mark.parametrize("bits", NARROW)
def test_narrow_widths_match_python_integers(op, overflow, bits):
    for seed in range(12):
        graph, x = hostile(op, seed)
        step = STEPS[overflow](bits)
        expected = codes_of(sums(graph, x, step, step), 9 - bits)
        session = Session(graph, accumulator=Accumulator(bits, overflow), threads=1)
        assert top_bits(session, 9 - bits).run(x).ravel().tolist() == expected, seed


@pytest.mark.parametrize("op", LAYERS)
def test_default_accumulator_wraps_at_32_bits(op):
    for seed in range(20):
        graph, x = hostile(op, seed)
        step = wrapping(32)
        for shift in (-23, -10):
            expected = codes_of(sums(graph, x, step, step), shift)
            session = top_bits(Session(graph, threads=1), shift)
            assert session.run(x).ravel().tolist() == expected, seed


@pytest.mark.parametrize("op", LAYERS)
def test_every_accumulator_that_fits_gives_the_same_bits(op):
    """Its kernel is the fast one, or the ordered one where the bias might change."""
    draft = Draft(5)
    graph = draft.graph(LAYERS[op](draft, draft.input((1, 3, 4, 4))))
    x = np.random.default_rng(5).integers(-128, 128, (3, 3, 4, 4)).astype(np.int8)
    expected = Session(graph, threads=1).run(x)
    needed = bits_needed(accumulator_bound(graph, graph.nodes[0]))
    for bits in (needed, needed + 1, 31, 32, 33, 64):
        for overflow in ("wrap", "saturate", "error"):
            for trainable in ((), (f"{op}_0/bias",)):
                session = Session(graph, accumulator=Accumulator(bits, overflow),
                                  trainable=trainable, threads=1)  # fmt: skip
                assert np.array_equal(session.run(x), expected), (bits, overflow, trainable)
    assert not np.array_equal(
        Session(graph, accumulator=Accumulator(10, "saturate"), threads=1).run(x), expected
    )


@pytest.mark.parametrize("op", LAYERS)
@pytest.mark.parametrize("overflow", STEPS)
def test_the_fast_path_equals_the_ordered_one_wherever_the_bound_holds(op, overflow):
    """A trainable bias keeps the ordered one; both equal Python integers, clamped or not."""
    for seed in range(15):
        graph, x = hostile(op, seed)
        needed = bits_needed(accumulator_bound(graph, graph.nodes[0]))
        for bits in (needed, needed + 1, min(needed + 7, 64)):
            step = STEPS[overflow](bits)
            acc = sums(graph, x, step, step)
            assert np.array_equal(acc, sums(graph, x, int.__add__, int.__add__)), (seed, bits)
            expected = codes_of(acc, 9 - min(bits, 24))
            for trainable in ((), (f"{op}_0/bias",)):
                session = Session(graph, accumulator=Accumulator(bits, overflow),
                                  trainable=trainable, threads=1)  # fmt: skip
                actual = top_bits(session, 9 - min(bits, 24)).run(x)
                assert actual.ravel().tolist() == expected, (seed, bits, trainable)


class Watched(int):
    """A sum that remembers the first value out of range that it had."""

    first: int | None = None


def watching(bits) -> Step:
    limit = saturating(bits)

    def step(total, product):
        kept = Watched(limit(int(total), product))
        kept.first = getattr(total, "first", None)
        if kept.first is None and kept != total + product:
            kept.first = int(total) + product
        return kept

    return step


def expected_message(graph, x, bits):
    """What an overflow says, by the naive twin; None where every sum fits."""
    node = graph.nodes[0]
    acc = sums(graph, x, saturating(bits), watching(bits))
    bias = [int(b) for b in graph.tensors[node.inputs[2]].data]
    shape = (len(x), *graph.tensors[node.outputs[0]].shape[1:])
    for index, total in np.ndenumerate(acc.reshape(shape)):
        start = bias[index[-1]]
        fits = -(1 << (bits - 1)) <= start < 1 << (bits - 1)
        first = getattr(total, "first", None) if fits else start
        if first is not None:
            return (f"{node.name}/{node.op}: accumulator: must stay in {bits} bits, got {first} "
                    f"at output {index}; use a wider accumulator")  # fmt: skip
    return None


def message_of(graph, x, bits, threads=1):
    """What a session says; None where it gives a result."""
    session = Session(graph, accumulator=Accumulator(bits, "error"), threads=threads)
    try:
        session.run(x)
    except ModelError as error:
        return str(error)
    return None


@pytest.mark.parametrize("op", LAYERS)
def test_error_names_the_first_sum_out_of_range(op):
    seen = set()
    for seed in range(20):
        graph, x = hostile(op, seed)
        for bits in (*NARROW, 20, 34):
            expected = expected_message(graph, x, bits)
            assert message_of(graph, x, bits) == expected, (seed, bits)
            seen.add(expected is None)
    assert seen == {True, False}


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_error_is_the_same_on_any_threads(threads):
    """The first image that overflows is reported, whichever thread met another one."""
    draft = Draft(5)
    graph = draft.graph(draft.conv2d(draft.input((1, 3, 4, 4)), 4))
    rng = np.random.default_rng(2)
    quiet = rng.integers(-6, 0, (9, 3, 4, 4)).astype(np.int8)
    for loud in ([8], [3, 7], [0, 4, 8], [2, 5]):
        x = quiet.copy()
        x[loud] = rng.integers(-128, 128, (len(loud), 3, 4, 4))
        expected = expected_message(graph, x, 16)
        assert f"at output ({loud[0]}, " in expected
        assert message_of(graph, x, 16, threads) == expected


def two_layers():
    """Ones, then large weights: inputs of 1 overflow 12 bits in layer two, of 127 in both."""
    draft = Draft()
    x = draft.input((1, 20), scale=1.0, zero_point=0)
    affine = {"affine": {"scale": 1.0, "zero_point": 0}, "activation": "none", "keep_dims": False}
    ones = draft.constant("ones", np.ones((3, 20), np.int8), 1.0)
    y = draft.node("fully_connected", [x, ones], **affine)
    large = draft.constant("large", np.full((2, 3), 120, np.int8), 1.0)
    return draft.graph(draft.node("fully_connected", [y, large], **affine))


@pytest.mark.parametrize("threads", [1, 2])
def test_images_come_before_layers(threads):
    """Image 1 fails in the second layer, image 2 in the first: image 1 is reported."""
    x = np.zeros((3, 20), np.int8)
    x[1], x[2] = 1, 127
    assert message_of(two_layers(), x, 12, threads) == (
        "fully_connected_1/fully_connected: accumulator: must stay in 12 bits, got 2400 at output "
        "(1, 0); use a wider accumulator"
    )
    assert message_of(two_layers(), x[[0, 2, 1]], 12, threads) == (
        "fully_connected_0/fully_connected: accumulator: must stay in 12 bits, got 2159 at output "
        "(1, 0); use a wider accumulator"
    )


def test_error_counts_images_of_a_batch_that_meets():
    """A graph for two images: the coordinate counts through all images of the call."""
    draft = Draft(5)
    x = draft.conv2d(draft.input((2, 3, 4, 4)), 4)
    graph = draft.graph(draft.node("mean", [x], axes=(0,), keep_dims=True))
    x = np.full((4, 3, 4, 4), -3, np.int8)
    x[3] = np.random.default_rng(2).integers(-128, 128, (3, 4, 4))
    expected = expected_message(graph, x, 16)
    assert "at output (3, " in expected
    assert message_of(graph, x, 16) == expected


@pytest.mark.parametrize("op", LAYERS)
@pytest.mark.parametrize("overflow", STEPS)
def test_sums_fit_the_biases_of_the_moment(op, overflow):
    """Biases may change at any time: what fitted the accumulator before does not have to now."""
    draft = Draft(5)
    graph = draft.graph(LAYERS[op](draft, draft.input((1, 3, 4, 4))))
    bits = bits_needed(accumulator_bound(graph, graph.nodes[0]))
    session = Session(graph, accumulator=Accumulator(bits, overflow), threads=1)
    session = top_bits(session, 9 - bits)
    x = np.random.default_rng(5).integers(-128, 128, (2, 3, 4, 4)).astype(np.int8)
    before = session.run(x)
    kept = session.biases[f"{op}_0"].copy()
    session.biases[f"{op}_0"][:] = (1 << (bits - 1)) - 1
    step = STEPS[overflow](bits)
    expected = codes_of(sums(session.snapshot(), x, step, step), 9 - bits)
    assert session.run(x).ravel().tolist() == expected
    traced = dict(session.trace(x))
    assert traced[graph.tensors[-1].name].ravel().tolist() == expected
    session.biases[f"{op}_0"][:] = kept
    assert np.array_equal(session.run(x), before)


def test_a_bias_that_grows_is_an_error_where_overflow_is_one():
    graph = two_layers()
    session = Session(graph, accumulator=Accumulator(24, "error"), threads=1)
    x = np.zeros((2, 20), np.int8)
    session.run(x)
    session.biases["fully_connected_1"][1] = -(1 << 23) - 1
    with pytest.raises(ModelError, match=r"got -8388609 at output \(0, 1\); use a wider"):
        session.run(x)


def test_trace_prefix_and_run_from_report_as_run_does():
    graph, x = two_layers(), np.ones((2, 20), np.int8)
    expected = message_of(graph, x, 12)
    session = Session(graph, accumulator=Accumulator(12, "error"), trainable=["fully_connected_1"])
    prefix = session.prefix(x)
    for call in (lambda: list(session.trace(x)), lambda: session.run_from(prefix)):
        with pytest.raises(ModelError) as caught:
            call()
        assert str(caught.value) == expected
    with pytest.raises(ModelError, match="fully_connected_0/fully_connected"):
        session.prefix(np.full((1, 20), 127, np.int8))


def test_session_runs_on_after_an_error():
    graph = two_layers()
    session = Session(graph, accumulator=Accumulator(12, "error"), threads=2)
    quiet = np.zeros((4, 20), np.int8)
    before = session.run(quiet)
    with pytest.raises(ModelError):
        session.run(np.ones((4, 20), np.int8))
    assert np.array_equal(session.run(quiet), before)


def test_saturation_depends_on_the_order():
    """100 + 100 - 100 is 27 in 8 bits that saturate, 100 where the negative product comes first."""
    draft = Draft()
    x = draft.input((1, 3), scale=1.0, zero_point=0)
    ones = draft.constant("ones", np.ones((1, 3), np.int8), 1.0)
    y = draft.node("fully_connected", [x, ones], activation="none", keep_dims=False,
                   affine={"scale": 1.0, "zero_point": 0})  # fmt: skip
    session = Session(draft.graph(y), accumulator=Accumulator(8, "saturate"))
    x = np.array([[100, 100, -100], [-100, 100, 100]], np.int8)
    assert session.run(x).tolist() == [[27], [100]]
