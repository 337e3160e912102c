"""Memory: live tensors never share a byte, and the arena is little larger than it must be."""

import itertools

import pytest
from graphs import Draft
from hypothesis import given
from hypothesis import strategies as st

from npusim.arena import ALIGNMENT, Lifetime, aligned, lifetimes, place, tensor_bytes

STEPS = st.tuples(st.integers(-1, 8), st.integers(-1, 8)).map(sorted)
REQUESTS = st.lists(
    st.builds(lambda nbytes, steps: Lifetime(nbytes, *steps), st.integers(0, 300), STEPS),
    max_size=14,
)


def overlap(a, b):
    """Whether two requests live at one time."""
    return a.first <= b.last and b.first <= a.last


def peak(requests):
    """Bytes that are live at the worst step, each request taking whole lines."""
    steps = {step for r in requests for step in (r.first, r.last)}
    live = [[r for r in requests if r.first <= step <= r.last] for step in steps]
    return max((sum(aligned(r.nbytes) for r in group) for group in live), default=0)


@given(REQUESTS)
def test_live_requests_never_share_a_byte(requests):
    offsets, size = place(requests)
    for (i, a), (j, b) in itertools.combinations(enumerate(requests), 2):
        if overlap(a, b) and a.nbytes and b.nbytes:
            apart = offsets[i] + a.nbytes <= offsets[j] or offsets[j] + b.nbytes <= offsets[i]
            assert apart, (a, offsets[i], b, offsets[j])
    assert all(o + r.nbytes <= size for o, r in zip(offsets, requests, strict=True))


@given(REQUESTS)
def test_places_are_aligned(requests):
    offsets, size = place(requests)
    assert all(offset % ALIGNMENT == 0 for offset in (*offsets, size))


@given(REQUESTS)
def test_arena_lies_between_the_peak_and_no_sharing_at_all(requests):
    _, size = place(requests)
    assert peak(requests) <= size <= sum(aligned(r.nbytes) for r in requests)


@given(REQUESTS)
def test_place_is_reproducible(requests):
    assert place(requests) == place(list(requests))


def test_requests_of_different_times_share_their_place():
    offsets, size = place([Lifetime(100, 0, 1), Lifetime(100, 2, 3), Lifetime(100, 4, 4)])
    assert (offsets, size) == ([0, 0, 0], 128)


def test_a_chain_needs_its_two_largest_neighbours():
    """y[k] is written while y[k - 1] is read."""
    sizes = [640, 128, 1280, 64, 320]
    requests = [Lifetime(n, step - 1, step) for step, n in enumerate(sizes)]
    assert place(requests)[1] == 128 + 1280


def test_small_request_fills_a_gap():
    """Between two large ones that live on; the gap is where a third one was."""
    requests = [Lifetime(1024, 0, 9), Lifetime(512, 0, 1), Lifetime(256, 0, 9), Lifetime(64, 5, 9)]
    offsets, size = place(requests)
    assert offsets == [0, 1024, 1536, 1024]
    assert size == 1792


def test_no_requests_need_no_memory():
    assert place([]) == ([], 0)


@pytest.mark.parametrize(("offset", "expected"), [(0, 0), (1, 64), (64, 64), (65, 128)])
def test_aligned_is_the_next_multiple(offset, expected):
    assert aligned(offset) == expected


def residual():
    """x -> a -> b -> c = a + b, and the float d of c."""
    draft = Draft()
    x = draft.input((1, 4, 4, 3))
    a = draft.conv2d(x, 5)
    b = draft.depthwise_conv2d(a)
    c = draft.node("add", [a, b], activation="none")
    d = draft.node("dequantize", [c], dtype="float32")
    return draft.graph(d), (x, a, b, c, d)


def test_tensor_bytes_count_elements_of_their_type():
    graph, (x, a, _, _, d) = residual()
    assert [tensor_bytes(graph, i) for i in (x, a, d)] == [48, 80, 320]


def test_lifetimes_reach_from_the_writer_to_the_last_reader():
    graph, (x, a, b, c, d) = residual()
    spans = {i: (r.first, r.last) for i, r in lifetimes(graph, {}, False).items()}
    assert spans == {x: (-1, 0), a: (0, 2), b: (1, 2), c: (2, 3), d: (3, 4)}


def test_lifetimes_of_a_trace_reach_to_the_end():
    graph, _ = residual()
    spans = lifetimes(graph, {}, True).values()
    assert {r.last for r in spans} == {4}
    assert [r.first for r in spans] == [-1, 0, 1, 2, 3]


def test_aliases_live_as_long_as_their_owner():
    draft = Draft()
    x = draft.conv2d(draft.input((1, 2, 2, 3)), 4)
    flat = draft.node("reshape", [x], shape=(1, 16))
    y = draft.fully_connected(flat, 3)
    late = draft.node("reshape", [flat], shape=(1, 4, 4))
    graph = draft.graph(y, late)
    spans = lifetimes(graph, {flat: x, late: x}, False)
    assert flat not in spans
    assert (spans[x].first, spans[x].last) == (0, len(graph.nodes))


def test_inputs_nobody_reads_have_a_place():
    draft = Draft()
    x, unread = draft.input((1, 4)), draft.input((1, 9))
    graph = draft.graph(draft.node("relu", [x]))
    spans = lifetimes(graph, {}, False)
    assert (spans[unread].first, spans[unread].last) == (-1, 0)
