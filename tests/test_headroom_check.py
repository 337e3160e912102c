"""Head-room of whole graphs: what is proven, what is seen, what is spoiled, and how it is told."""

import json
from dataclasses import replace

import numpy as np
import pytest
from graphs import Draft
from rich.console import Console

import npusim
from npusim import Accumulator, ModelError, Quantization, Session, check_headroom, models
from npusim.clamps import node_clamps, reach
from npusim.headroom import accumulator_bound
from npusim.headroom_page import page
from npusim.neural_art.settle import settle
from npusim.tally import node_sums


def changed(graph, index, **fields):
    """The graph with other fields of one tensor."""
    tensors = list(graph.tensors)
    tensors[index] = replace(tensors[index], **fields)
    return replace(graph, tensors=tuple(tensors))


def one_layer(outputs=4):
    draft = Draft(3)
    return draft.graph(draft.conv2d(draft.input((1, 4, 4, 2)), outputs))


@pytest.fixture(scope="module")
def digits():
    return models.digits_cnn(), models.to_int8(models.digits().test.images[:6])


def test_without_inputs_bounds_are_told(digits):
    graph, _ = digits
    headroom = check_headroom(graph)
    weighted = [n for n in graph.nodes if "conv" in n.op or n.op == "fully_connected"]
    assert [n.node for n in headroom.nodes] == [n.name for n in weighted]
    assert [n.bound for n in headroom.nodes] == [accumulator_bound(graph, n) for n in weighted]
    assert (headroom.images, headroom.findings) == (0, ())
    assert all(n.sums is None and n.low is None and n.bits_seen is None for n in headroom.nodes)


@pytest.mark.parametrize("overflow", ["wrap", "saturate"])
def test_sums_are_those_of_the_session_with_that_accumulator(digits, overflow):
    """Every node gets what the nodes before it make, overflows and all."""
    graph, x = digits
    narrow = Accumulator(16, overflow)
    headroom = check_headroom(replace(graph, accumulator=narrow), x)
    session = Session(graph, accumulator=narrow)
    values = dict(session.trace(x))
    for found, node in zip(headroom.nodes, (n for n in graph.nodes if len(n.inputs) == 3),
                           strict=True):  # fmt: skip
        source = values[graph.tensors[node.inputs[0]].name]
        expected = node_sums(session.graph, node, source, narrow)
        assert [f.tolist() for f in found.sums] == [f.tolist() for f in expected]
        assert found.sums_formed == values[graph.tensors[node.outputs[0]].name].size
    assert headroom.images == len(x)
    assert {f.kind for f in headroom.findings} == {"overflow", "unproven"}


def test_an_accumulator_that_refuses_is_counted_on_exact_sums(digits):
    graph, x = digits
    refusing = replace(graph, accumulator=Accumulator(16, "error"))
    with pytest.raises(ModelError, match="must stay in 16 bits"):
        Session(refusing).run(x)
    headroom = check_headroom(refusing, x)
    values = dict(Session(graph, accumulator=Accumulator(64, "wrap")).trace(x))
    first = headroom.nodes[0]
    node = graph.node(first.node)
    source = values[graph.tensors[node.inputs[0]].name]
    expected = node_sums(graph, node, source, Accumulator(16, "error"))
    assert [f.tolist() for f in first.sums] == [f.tolist() for f in expected]
    assert headroom.accumulator == Accumulator(16, "error")
    assert first.total("overflows") > 0 == first.total("changed")


def test_parts_of_the_images_add_up(digits, monkeypatch):
    graph, x = digits
    graph = replace(graph, accumulator=Accumulator(16))
    whole, calls = check_headroom(graph, x), []
    monkeypatch.setattr("npusim.headroom_check.TRACE_BYTES", 1)
    parts = check_headroom(graph, {"image": x}, progress=lambda *done: calls.append(done))
    assert parts.as_dict() == whole.as_dict()
    assert calls == [(k, len(x)) for k in range(len(x) + 1)]


def test_spoiled_channels_are_found_by_number():
    graph = one_layer()
    _, weights, bias = graph.nodes[0].inputs
    codes = graph.tensors[weights].data.copy()
    codes[2] = 0
    graph = changed(graph, weights, data=codes)
    starts = np.array([2**31 - 1, 5, -(2**31), 1 << 20], np.int32)
    graph = changed(graph, bias, data=starts)
    scale = graph.tensors[weights].quantization.scale.copy()
    scale[1] = 1e-12
    graph = changed(graph, weights, quantization=Quantization(scale, np.zeros(4), 0))
    (node,) = check_headroom(replace(graph, accumulator=Accumulator(20, "saturate"))).nodes
    assert node.saturated_biases == (0, 2)
    assert node.biases_out_of_range == (0, 2, 3)
    assert node.dead == (2,)
    assert node.without_multiplier == (1,)
    assert set(node.unproven) >= {0, 2, 3}


@pytest.mark.parametrize(
    ("start", "saturated"),
    [(2**31 - 1, True), (1 - 2**31, True), (-(2**31), True), (2**31 - 2, False)],
)
def test_saturated_biases_are_the_ends_of_int32(start, saturated):
    graph = one_layer(1)
    graph = changed(graph, graph.nodes[0].inputs[2], data=np.array([start], np.int32))
    (node,) = check_headroom(graph).nodes
    assert node.saturated_biases == ((0,) if saturated else ())


@pytest.mark.parametrize(("edge", "fits"), [(127, True), (128, False), (-128, True), (-129, False)])
def test_biases_out_of_range_are_those_that_8_bits_do_not_hold(edge, fits):
    graph = one_layer(1)
    graph = changed(graph, graph.nodes[0].inputs[2], data=np.array([edge], np.int32))
    (node,) = check_headroom(replace(graph, accumulator=Accumulator(8))).nodes
    assert node.biases_out_of_range == (() if fits else (0,))


@pytest.mark.parametrize(("scale", "lost"), [(2.0**-32, False), (2.0**-33, True), (0.0, True)])
def test_a_multiplier_is_lost_below_2_to_the_minus_32(scale, lost):
    draft = Draft()
    x = draft.input((1, 2), scale=1.0)
    graph = draft.graph(draft.fully_connected(x, 2))
    weights, y = graph.nodes[0].inputs[1], graph.nodes[0].outputs[0]
    q = Quantization(np.array([1, scale], np.float32), np.zeros(2), 0)
    graph = changed(graph, weights, quantization=q)
    graph = changed(graph, y, quantization=Quantization(np.ones(1), np.array([3])))
    (node,) = check_headroom(graph).nodes
    assert node.without_multiplier == ((1,) if lost else ())


def test_a_lost_multiplier_of_another_operator_is_told():
    draft = Draft()
    a, b = draft.input((1, 4), scale=1e-9), draft.input((1, 4), scale=1e-9)
    draft.tensors[b] = replace(draft.tensors[b], name="b")
    graph = draft.graph(draft.node("mul", (a, b), affine={"scale": 1.0}, activation="none"))
    headroom = check_headroom(graph)
    assert [(f.kind, f.node, f.channels) for f in headroom.findings] == [
        ("no multiplier", "mul_0", (0,))
    ]
    assert page(headroom, Console(width=80)).splitlines() == [
        "draft: profile tflm, accumulator 32 bits, wrap, no input",
        "node   op   lost",
        "mul_0  mul     1",
        "no node forms sums of products",
        "lost multiplier, M is below 2^-32, where shift ends: mul_0",
        "found: no multiplier in 1 node",
    ]


def test_constant_channels_are_told_and_no_finding():
    graph = one_layer()
    weights = graph.nodes[0].inputs[1]
    codes = graph.tensors[weights].data.copy()
    codes[1, ...] = 0
    graph = changed(graph, weights, data=codes)
    x = np.random.default_rng(1).integers(-128, 128, (1, 4, 4, 2)).astype(np.int8)
    (node,) = check_headroom(graph, x).nodes
    assert (node.dead, node.constant) == ((1,), (1,))
    assert {f.kind for f in check_headroom(graph, x).findings} == {"dead channel"}


def test_one_output_is_not_called_constant():
    draft = Draft()
    graph = draft.graph(draft.fully_connected(draft.input((1, 3)), 2))
    x = np.array([[1, 2, 3]], np.int8)
    assert check_headroom(graph, x).nodes[0].constant == ()
    assert check_headroom(graph, np.repeat(x, 2, 0)).nodes[0].constant == (0, 1)


def test_neural_art_sums_have_no_bias_and_no_width():
    graph = replace(one_layer(), profile="neural-art")
    bias = graph.nodes[0].inputs[2]
    x = np.random.default_rng(1).integers(-128, 128, (2, 4, 4, 2)).astype(np.int8)
    found = check_headroom(graph, x)
    raw = dict(Session(graph).raw_sums(x))["conv2d_0"]
    (node,) = found.nodes
    assert node.low <= raw.min() <= raw.max() <= node.high
    assert node.bound == accumulator_bound(
        changed(one_layer(), bias, data=np.zeros(4, np.int32)), graph.nodes[0]
    )
    assert found.findings == ()
    lines = page(found, Console(width=80)).splitlines()
    assert lines[0] == "draft: profile neural-art, exact sums, 2 images"
    assert lines[-5:] == [
        f"whatever the input: conv2d_0 may need {node.bits} bits; a board shows 24",
        f"on this input: conv2d_0 needed {node.bits_seen} bits",
        "whatever the input, no stage clamps",
        "on this input, no stage clamped",
        "no findings",
    ]


def on_board(given, layer=None):
    """A layer on Neural-ART, some of its parameters given."""
    graph = replace(layer or one_layer(), profile="neural-art")
    return settle(graph, {"conv2d_0": given})


def test_clamps_that_change_codes_are_found_with_and_without_inputs():
    graph = on_board({"s0": 0, "s1": 0, "A_c": 30000, "s2": 20, "A2": 1})
    x = np.random.default_rng(1).integers(-128, 128, (2, 4, 4, 2)).astype(np.int8)
    found, unseen = check_headroom(graph, x), check_headroom(graph)
    node, seen = graph.nodes[0], found.nodes[0].clamps
    expected = node_clamps(graph, node, x)
    assert seen.changed.tolist() == expected.changed.tolist()
    assert found.nodes[0].clamped == tuple(np.flatnonzero(expected.changed).tolist()) != ()
    assert found.nodes[0].unproven == reach(graph, node).unproven
    assert {f.kind for f in found.findings} == {"clamp", "unproven"}
    assert [f.kind for f in unseen.findings] == ["unproven"]
    facts = found.as_dict()["nodes"][0]
    assert json.loads(json.dumps(facts["clamps"])) == facts["clamps"]
    assert facts["clamps"]["stages"] == {n: int(v.sum()) for n, v in expected.stages.items()}
    assert facts["clamps"]["channels"]["changed"] == expected.changed.tolist()
    text = " ".join(page(found, Console(width=80)).split())
    assert (f"r1 clamped in {expected.stages['r1'].sum()} outputs, which changed "
            f"{expected.changed.sum()} codes; most in conv2d_0, channel "
            f"{expected.changed.argmax()} found: clamp in 1 node, unproven in 1 node"
            ) in text  # fmt: skip


def test_clamps_that_change_no_code_are_told_and_no_finding():
    graph = on_board({"s0": 0, "s1": 0, "A_c": 30000, "s2": 0, "A2": 1, "BC_c": 0})
    x = np.random.default_rng(1).integers(-128, 128, (2, 4, 4, 2)).astype(np.int8)
    found = check_headroom(graph, x)
    count = int(found.nodes[0].clamps.stages["r1"].sum())
    assert count > 0
    assert found.findings == ()
    text = " ".join(page(found, Console(width=80)).split())
    assert "whatever the input, no clamp changes a code: r1 of conv2d_0 may need " in text
    assert text.endswith(f"r1 clamped in {count} outputs, which changed no code no findings")


def test_clamps_of_parts_of_the_images_add_up(monkeypatch):
    graph = on_board({"s0": 0, "s1": 0, "A_c": 30000, "s2": 20, "A2": 1})
    x = np.random.default_rng(1).integers(-128, 128, (5, 4, 4, 2)).astype(np.int8)
    whole = check_headroom(graph, x).as_dict()
    monkeypatch.setattr("npusim.headroom_check.TRACE_BYTES", 1)
    assert check_headroom(graph, x).as_dict() == whole


@pytest.mark.parametrize(("bias", "saturated"), [(0, ()), (2**27, (1,)), (-(2**27), (1,))])
def test_offsets_that_int32_does_not_hold_are_found(bias, saturated):
    """2^27 * s_x * s_w / s_y * 2^20 is far beyond int32."""
    graph = one_layer()
    starts = np.array([0, bias, 0, 0], np.int32)
    graph = on_board({}, changed(graph, graph.nodes[0].inputs[2], data=starts))
    found = check_headroom(graph)
    assert found.nodes[0].saturated_offsets == saturated
    assert ("saturated offset" in {f.kind for f in found.findings}) == bool(saturated)
    if saturated:
        text = " ".join(page(found, Console(width=80)).split())
        assert ("offset BC_c at the end of int32, which may not hold bias and zero point: "
                "conv2d_0 channel 1") in text  # fmt: skip


def test_a_board_node_among_others_has_lines_of_its_own():
    draft = Draft(3)
    y = draft.conv2d(draft.conv2d(draft.input((1, 4, 4, 2)), 4), 3)
    graph = replace(draft.graph(y), accumulator=Accumulator(8, "saturate"))
    graph = replace(graph, nodes=(graph.nodes[0], replace(graph.nodes[1], rule="neural_art")))
    lines = page(check_headroom(settle(graph)), Console(width=80)).splitlines()
    assert any(line.startswith("not proven: sums of 1 of 1 node may leave 8 bits: conv2d_0")
               for line in lines)  # fmt: skip
    assert any(line.startswith("whatever the input: conv2d_1 may need") for line in lines)
    assert "whatever the input, no stage clamps" in lines


def test_one_node_on_neural_art_has_exact_sums_too():
    plain = replace(one_layer(), accumulator=Accumulator(8, "saturate"))
    board = replace(plain, nodes=(replace(plain.nodes[0], rule="neural_art"),))
    x = np.random.default_rng(1).integers(-128, 128, (2, 4, 4, 2)).astype(np.int8)
    assert {f.kind for f in check_headroom(plain, x).findings} >= {"overflow", "unproven"}
    assert check_headroom(board, x).findings == ()


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        ({"x": np.zeros((0, 4, 4, 2), np.int8)}, ValueError,
         "inputs: must hold at least one image, got none"),
        ({"z": np.zeros((1, 4, 4, 2), np.int8)}, ValueError,
         "inputs must have the keys ['x_0'], got ['z']"),
        (np.zeros((1, 4, 4, 3), np.int8), ValueError,
         "input x_0: shape must be (batch, 4, 4, 2), got (1, 4, 4, 3)"),
        (np.float64(3), ValueError, "input x_0: shape must be (batch, 4, 4, 2), got ()"),
        (np.full((1, 4, 4, 2), np.nan), ValueError, "input x_0: real numbers must not be NaN"),
        (np.zeros((1, 4, 4, 2), np.int16), TypeError,
         "input x_0: type must be int8 (codes) or floating (real numbers), got int16"),
    ],
)  # fmt: skip
def test_inputs_are_refused_as_a_session_refuses_them(x, error, message):
    if isinstance(x, dict) and "x" in x:
        x = {"x_0": x["x"]}
    with pytest.raises(error) as refused:
        check_headroom(one_layer(), x)
    assert str(refused.value) == message


def test_inputs_that_do_not_match_are_refused_before_anything_runs(monkeypatch):
    draft = Draft()
    a, b = draft.input((1, 4)), draft.input((1, 4))
    draft.tensors[b] = replace(draft.tensors[b], name="b")
    graph = draft.graph(draft.node("mul", (a, b), activation="none"))
    name = graph.tensors[a].name
    monkeypatch.setattr(Session, "run", None)
    monkeypatch.setattr(Session, "trace", None)
    for x, error, message in (
        ({name: np.zeros((2, 4), np.int8), "b": np.zeros((3, 4), np.int8)}, ValueError,
         f"inputs must hold equally many images, got {{'{name}': 2, 'b': 3}}"),
        (np.zeros((1, 4), np.int8), TypeError,
         f"inputs must be a mapping with the keys ['{name}', 'b'], got one array"),
    ):  # fmt: skip
        with pytest.raises(error) as refused:
            check_headroom(graph, x)
        assert str(refused.value) == message


def test_real_inputs_are_those_of_a_run(digits):
    graph, x = digits
    real = (x.astype(np.float32) + 128) * np.float32(graph.tensors[0].quantization.scale[0])
    assert check_headroom(graph, real).as_dict() == check_headroom(graph, x).as_dict()


def test_a_scalar_input_is_one_image():
    draft = Draft()
    x = draft.input((), scale=0.5, zero_point=0)
    graph = draft.graph(draft.node("relu", [x]))
    assert check_headroom(graph, np.int8(3)).images == 1


def test_everything_is_json(digits):
    graph, x = digits
    facts = check_headroom(replace(graph, accumulator=Accumulator(16)), x).as_dict()
    assert json.loads(json.dumps(facts))["nodes"][0]["seen"]["overflows"] > 0


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_page_fits_the_terminal(digits, width):
    graph, x = digits
    long = tuple(replace(n, name=f"{'very/' * 40}long_{i}") for i, n in enumerate(graph.nodes))
    for shown in (graph, replace(graph, nodes=long)):
        found = check_headroom(replace(shown, accumulator=Accumulator(14, "saturate")), x)
        lines = page(found, Console(width=width, color_system=None)).splitlines()
        assert max(map(len, lines)) <= width
        assert any("bits" in line for line in lines)


def test_public_names():
    assert npusim.check_headroom is check_headroom
    assert "check_headroom" in npusim.__all__
