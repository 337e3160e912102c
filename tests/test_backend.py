"""Backends: rows of bytes in and out, equal bits from both, and numba loaded only where needed."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from graphs import Draft, codes
from hypothesis import given
from hypothesis import strategies as st
from oracles.networks import network

from npusim import Session
from npusim.backend import ISAS, CompiledBackend, Layout, NumpyBackend, _slices, make_backend
from npusim.constants import with_biases
from npusim.formats import tflite
from npusim.graph import Graph, Quantization, Tensor

NETWORKS = range(40)
EXECUTORS = ("numpy", "portable")
DTYPES = ("int8", "int16", "int32", "int64", "uint8", "float32", "bool")
TENSORS = st.lists(
    st.tuples(st.lists(st.integers(1, 3), max_size=3), st.sampled_from(DTYPES)),
    min_size=1, max_size=5,
)  # fmt: skip


@cache
def random_graph(seed):
    drawn = network(seed)
    return with_biases(tflite.parse(drawn.model, drawn.description))


def session(graph, isa, **settings):
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("NPUSIM_ISA", isa)
        return Session(graph, **settings)


@given(TENSORS, st.integers(0, 4), st.integers(0, 2**32 - 1))
def test_layout_round_trips(described, count, seed):
    tensors = tuple(Tensor(f"t{i}", tuple(shape), dtype, "input")
                    for i, (shape, dtype) in enumerate(described))  # fmt: skip
    graph = Graph("g", tensors, (), tuple(range(len(tensors))), ())
    layout = Layout.of(graph, range(len(tensors)))
    rng = np.random.default_rng(seed)
    values = {}
    for i, tensor in enumerate(tensors):
        shape = tensor.shape or (1,)
        drawn = rng.integers(0, 2, (count * shape[0], *shape[1:]))
        values[i] = drawn.astype(tensor.dtype)
    rows = layout.write(values, count)
    assert rows.shape == (count, layout.width)
    for i, array in layout.read(graph, rows).items():
        assert array.dtype == values[i].dtype
        assert array.shape == values[i].shape
        assert array.tobytes() == values[i].tobytes()


def test_layout_reads_aligned_arrays_behind_odd_columns():
    tensors = (Tensor("a", (1, 3), "int8", "input"), Tensor("b", (1, 2), "float32", "input"))
    graph = Graph("g", tensors, (), (0, 1), ())
    layout = Layout.of(graph, (0, 1))
    values = {0: np.ones((1, 3), np.int8), 1: np.array([[1.5, -2.5]], np.float32)}
    read = layout.read(graph, layout.write(values, 1))
    assert read[1].flags.aligned
    assert read[1].tolist() == [[1.5, -2.5]]


@given(st.integers(0, 40), st.integers(1, 9))
def test_slices_part_a_batch_evenly(images, threads):
    parts = _slices(images, threads)
    covered = [image for part in parts for image in range(images)[part]]
    assert covered == list(range(images))
    lengths = [part.stop - part.start for part in parts]
    assert len(parts) <= threads
    assert max(lengths) - min(lengths) <= 1
    assert min(lengths) > 0 or images == 0


@pytest.mark.parametrize(("isa", "kind"), [("numpy", NumpyBackend), ("portable", CompiledBackend)])
def test_environment_chooses_the_backend(monkeypatch, isa, kind):
    monkeypatch.setenv("NPUSIM_ISA", isa)
    assert type(make_backend(random_graph(0), frozenset(), 1)) is kind


def test_compiled_backend_is_the_default(monkeypatch):
    monkeypatch.delenv("NPUSIM_ISA", raising=False)
    assert type(make_backend(random_graph(0), frozenset(), 1)) is CompiledBackend


@pytest.mark.parametrize("isa", ["avx2", "NUMPY", ""])
def test_unknown_isa_lists_those_there_are(monkeypatch, isa):
    monkeypatch.setenv("NPUSIM_ISA", isa)
    with pytest.raises(ValueError, match=f"NPUSIM_ISA must be one of {', '.join(ISAS)}, got"):
        Session(random_graph(0))


SCRIPT = """
import sys
import numpy as np
import npusim
from npusim.graph import Graph, Node, Quantization, Tensor
q = Quantization(0.5, 0)
w = Tensor("w", (2, 3), "int8", "constant", q, np.ones((2, 3), np.int8))
x, y = Tensor("x", (1, 3), "int8", "input", q), Tensor("y", (1, 2), "int8", "activation", q)
node = Node("fully_connected", "n", (0, 1), (2,), {"activation": "none", "keep_dims": False})
session = npusim.Session(Graph("g", (x, w, y), (node,), (0,), (2,)), trainable=["n"])
print(session.run(np.ones((1, 3), np.int8)).tolist(), "numba" in sys.modules)
"""


@pytest.mark.parametrize(("isa", "loads_numba"), [("numpy", False), ("portable", True)])
def test_numba_is_loaded_only_by_the_compiled_backend(monkeypatch, isa, loads_numba):
    monkeypatch.setenv("NPUSIM_ISA", isa)
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert run.stdout == f"[[2, 2]] {loads_numba}\n"


@pytest.mark.parametrize("seed", NETWORKS)
def test_backends_agree_on_every_tensor(seed):
    graph = random_graph(seed)
    x = codes(graph, 3, seed)
    numpy, portable = (
        list(session(graph, isa, threads=1).trace(x)) for isa in ("numpy", "portable")
    )
    assert [name for name, _ in numpy] == [name for name, _ in portable]
    for (name, expected), (_, actual) in zip(numpy, portable, strict=True):
        assert actual.dtype == expected.dtype
        assert actual.shape == expected.shape
        assert actual.tobytes() == expected.tobytes(), name


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("seed", NETWORKS)
def test_run_gives_what_trace_gives(seed, isa):
    """A trace keeps every tensor, a run uses memory again."""
    graph = random_graph(seed)
    run = session(graph, isa, threads=1)
    x = codes(graph, 2, seed)
    traced, results = dict(run.trace(x)), run.run(x)
    outputs = [graph.tensors[i].name for i in graph.outputs]
    results = results if isinstance(results, dict) else {outputs[0]: results}
    assert list(results) == outputs
    for name, array in results.items():
        assert np.array_equal(array, traced[name])


@pytest.mark.parametrize("isa", ISAS)
def test_backends_hand_out_arrays_that_are_read_at_every_run(isa):
    draft = Draft(1)
    graph = draft.graph(draft.fully_connected(draft.input((1, 4)), 3))
    _, weights, bias = graph.nodes[0].inputs
    run = session(graph, isa, threads=1)
    backend = run._backend
    assert backend.constant(weights).shape == (3, 4)
    backend.constant(weights)[:] = 0
    backend.constant(bias)[:] = [1 << 20, -(1 << 20), 0]
    assert run.run(np.zeros((1, 4), np.int8)).tolist() == [[127, -128, 4]]
    r = backend.requantization(0)
    r.multiplier[:], r.shift[:] = 2**30, -18
    assert run.run(np.zeros((1, 4), np.int8)).tolist() == [[4 + 2, 4 - 2, 4]]
    assert not np.shares_memory(backend.constant(weights), graph.tensors[weights].data)


def test_sessions_of_one_graph_do_not_share_weights():
    draft = Draft(1)
    graph = draft.graph(draft.fully_connected(draft.input((1, 4)), 3))
    one, two = (Session(graph, trainable=["fully_connected_0"]) for _ in range(2))
    x = codes(graph, 2)
    before = two.run(x)
    one.weights["fully_connected_0"][:] = 0
    assert np.array_equal(two.run(x), before)
    assert graph.tensors[1].data.any()


def test_session_may_be_used_by_several_threads_at_once():
    """Every run takes an arena of its own, also when several begin together."""
    graph = random_graph(2)
    run = Session(graph, threads=2)
    inputs = [codes(graph, 1 + seed % 5, seed) for seed in range(60)]
    expected = [run.run(x) for x in inputs]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            for got, wanted in zip(pool.map(run.run, inputs), expected, strict=True):
                assert np.array_equal(as_bytes(got), as_bytes(wanted))


def as_bytes(results):
    arrays = results.values() if isinstance(results, dict) else [results]
    return np.concatenate([np.frombuffer(array.tobytes(), np.int8) for array in arrays])


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_pad_and_transpose_move_every_type(isa, dtype):
    """Elements of 1, 2, 4 and 8 bytes."""
    quantization = Quantization(1.0, 3) if dtype in ("int8", "int16", "int32", "uint8") else None
    draft = Draft()
    x = draft.input((2, 3), "float32")
    draft.tensors[x] = replace(draft.tensors[x], dtype=dtype, quantization=quantization)
    turned = draft.node("transpose", [x], permutation=(1, 0))
    padded = draft.node("pad", [turned], padding=((1, 0), (0, 2)))
    for i in (turned, padded):
        draft.tensors[i] = replace(draft.tensors[i], dtype=dtype, quantization=quantization)
    values = np.array([[1, 0, 1], [1, 1, 0]]).astype(dtype)
    if dtype in ("int64", "int32"):
        values = values * (np.iinfo(dtype).max - 5)
    outside = 3 if quantization else 0
    expected = np.pad(values.T, ((1, 0), (0, 2)), constant_values=outside)
    actual = session(draft.graph(padded), isa, threads=1).run(values)
    assert actual.dtype == dtype
    assert np.array_equal(actual, expected)
