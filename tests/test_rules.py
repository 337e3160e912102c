"""Rules of single nodes: computed, stored, shown; what has no such rule is refused by name."""

import json
from dataclasses import replace

import numpy as np
import pytest
from graphs import Draft, codes

import npusim
from npusim import ModelError, Quantization, Session, cli
from npusim.describe import describe
from npusim.profiles import PROFILES
from npusim.rules import CHOICES, arithmetic, choices, has_its_own, with_rules


def small():
    """conv2d, average pool, pad, fully connected."""
    draft = Draft(4)
    x = draft.conv2d(draft.input((1, 6, 6, 3)), 5)
    x = draft.node("average_pool2d", [x], kernel=(2, 2), stride=(2, 2), padding="valid",
                   activation="none")  # fmt: skip
    x = draft.node("pad", [x], padding=((0, 0), (1, 1), (1, 1), (0, 0)))
    return draft.graph(draft.fully_connected(x, 7))


def operators():
    """A graph for each operator or variant that has a choice of rules."""
    draft = Draft(5)
    image, other = draft.input((1, 4, 4, 2)), draft.input((1, 4, 4, 2), scale=0.03)
    draft.tensors[other] = replace(draft.tensors[other], name="b")
    y = {"scale": 0.04, "zero_point": 7}
    pooled = draft.node("mean", [image], affine=y, axes=(1, 2), keep_dims=True)
    flat = draft.node("mean", [image], affine=y, axes=(1, 2), keep_dims=False)
    made = [
        draft.conv2d(image, 4),
        draft.depthwise_conv2d(image),
        draft.fully_connected(flat, 3),
        draft.node("add", [image, other], affine=y, activation="none"),
        draft.node("mul", [image, other], affine=y, activation="none"),
        pooled,
        flat,
        draft.node("mean", [image], affine=y, axes=(3,), keep_dims=False),
        draft.node("quantize", [image], affine=y),
        draft.node("quantize", [image], affine=y, dtype="int16"),
        draft.node("relu", [image]),
        draft.node("relu6", [image]),
        draft.node("softmax", [flat], affine={"scale": 1 / 256, "zero_point": -128}, beta=1.0),
        draft.node("dequantize", [image], dtype="float32"),
    ]
    return draft.graph(*made)


def sums():
    """Operators of which the profile onnx says something."""
    draft = Draft(6)
    x = draft.conv2d(draft.depthwise_conv2d(draft.input((1, 4, 4, 2))), 4)
    return draft.graph(draft.node("dequantize", [draft.fully_connected(x, 3)], dtype="float32"))


def test_a_rule_of_its_own_is_that_of_the_profile_which_has_it(isa):
    """single_rounding for one node of tflm: that node's codes under the profile of that name."""
    graph = small()
    x = codes(graph, 40)
    mixed = dict(Session(with_rules(graph, {"conv2d_0": "single_rounding"})).trace(x))
    single = dict(Session(replace(graph, profile="single-rounding")).trace(x))
    plain = dict(Session(graph).trace(x))
    name = graph.tensors[graph.node("conv2d_0").outputs[0]].name
    assert np.array_equal(mixed[name], single[name])
    assert not np.array_equal(mixed[name], plain[name])


@pytest.mark.parametrize("profile", ["tflm", "litert-x86", "xnnpack", "neural-art"])
def test_every_rule_of_every_operator_runs_alike_in_both_executors(profile, monkeypatch):
    graph = replace(operators(), profile=profile)
    x = codes(graph, 3)
    tried = set()
    for node in graph.nodes:
        for rule in choices(graph, node):
            tried.add(rule)
            changed = with_rules(graph, {node.name: rule})
            name = graph.tensors[node.outputs[0]].name
            results = []
            for isa in ("numpy", "portable"):
                monkeypatch.setenv("NPUSIM_ISA", isa)
                results.append(dict(Session(changed, threads=1).trace(x))[name])
            assert np.array_equal(*results), (node.name, rule)
    offered = {rule for rules in CHOICES.values() for rule in rules}
    quantizing = {"divide_away", "divide_even", "reciprocal_even", "double_away"}
    assert tried == offered - quantizing  # of real numbers, which this graph has none of


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_the_profiles_own_rule_changes_nothing(profile, monkeypatch):
    """Plain or with its blocks: the arithmetic, and so scales, multipliers and codes."""
    monkeypatch.setenv("NPUSIM_ISA", "numpy")
    graph = replace(sums() if profile == "onnx" else operators(), profile=profile)
    own = {n.name: arithmetic(graph, n) for n in graph.nodes}
    x = codes(graph, 3)
    plain = Session(graph, threads=1)
    expected = dict(plain.trace(x))
    for name_of in (lambda a: a.rule, str):
        named = with_rules(graph, {name: name_of(a) for name, a in own.items()})
        assert {n.name: arithmetic(named, n) for n in named.nodes} == own
        assert not any(has_its_own(named, n) for n in named.nodes)
        session = Session(named, threads=1)
        for node, r in plain.requantization.items():
            other = session.requantization[node]
            assert np.array_equal(r.multiplier, other.multiplier)
            assert np.array_equal(r.scale, other.scale)
        for tensor, values in session.trace(x):
            assert np.array_equal(values, expected[tensor]), tensor


def test_the_own_rule_keeps_the_product_in_float32():
    """The scales of one fully connected layer, for which double and float32 give two codes."""
    draft = Draft()
    graph = draft.graph(draft.fully_connected(draft.input((1, 1)), 1), profile="litert-x86")
    node = graph.nodes[0]
    for index, scale in zip((*node.inputs[:2], *node.outputs), (0.0005606394843198359,
                            0.0009554173448123038, 0.7162393927574158), strict=True):  # fmt: skip
        graph = scaled(graph, index, scale)
    expected = Session(graph).requantization[node.name]
    named = with_rules(graph, {node.name: "double_rounding_up"})
    actual = Session(named).requantization[node.name]
    assert actual.multiplier.tolist() == expected.multiplier.tolist()
    other = Session(with_rules(graph, {node.name: "single_rounding"})).requantization[node.name]
    assert other.multiplier.tolist() != expected.multiplier.tolist()  # computed in double
    assert describe(named).layers[0].instead_of is None


def test_rules_are_stored_with_the_graph(tmp_path):
    graph = small()
    npusim.save(graph, tmp_path / "plain.h5")
    rules = {"conv2d_0": "single_rounding", "fully_connected_0": "float64_away"}
    mixed = npusim.load(tmp_path / "plain.h5", rules=rules)
    npusim.save(mixed, tmp_path / "mixed.h5")
    again = npusim.load(tmp_path / "mixed.h5")
    assert {n.name: n.rule for n in again.nodes if n.rule} == rules
    assert again == mixed
    other = npusim.load(tmp_path / "mixed.h5", rules={"conv2d_0": "double_rounding_up"})
    assert other.node("conv2d_0").rule == "double_rounding_up"
    assert other.node("fully_connected_0").rule == "float64_away"


TFLM = "conv2d under tflm rounds by double_rounding"
KNOWN = ("double_rounding, double_rounding_up, single_rounding, float32_even, float64_away, "
         "double_rounding_down, neural_art or a profile (litert-ref, litert-x86, neural-art, onnx, "
         "single-rounding, tflm, xnnpack)")  # fmt: skip


@pytest.mark.parametrize(
    ("node", "rule", "message"),
    [
        ("conv2d_1", "single_rounding",
         "rules: must name nodes of the graph, got 'conv2d_1'; closest of 4: conv2d_0"),
        ("conv2d_0", "half_up", f"rules: conv2d_0: {TFLM}; a rule of its own must be {KNOWN}, "
         "got half_up"),
        ("conv2d_0", "add_xnnpack", f"rules: conv2d_0: {TFLM}; a rule of its own must be {KNOWN}, "
         "got add_xnnpack"),
        ("average_pool2d_0", "single_rounding",
         "rules: average_pool2d_0: average_pool2d under tflm rounds by half_away, the only way "
         "there is, and must have no rule of its own, got single_rounding"),
        ("pad_0", "single_rounding",
         "rules: pad_0: pad under tflm only moves codes and must have no rule of its own, got "
         "single_rounding"),
    ],
)  # fmt: skip
def test_what_has_no_such_rule_is_refused(node, rule, message, tmp_path):
    with pytest.raises(ValueError) as refused:
        with_rules(small(), {node: rule})
    assert str(refused.value) == message
    npusim.save(small(), tmp_path / "m.h5")
    with pytest.raises(ValueError) as refused:
        npusim.load(tmp_path / "m.h5", rules={node: rule})
    assert str(refused.value) == message


def test_a_rule_that_is_no_name_is_refused():
    with pytest.raises(TypeError) as refused:
        with_rules(small(), {"conv2d_0": 3})
    assert str(refused.value) == "rules: conv2d_0: must be the name of a rule or profile, got 3"


@pytest.mark.parametrize(
    ("node", "rule", "message"),
    [
        ("conv2d_0", "half_up",
         f"conv2d_0/conv2d: {TFLM}; a rule of its own must be {KNOWN}, got half_up"),
        ("pad_0", "half_away", "pad_0/pad: pad under tflm only moves codes and must have no rule "
         "of its own, got half_away"),
    ],
)  # fmt: skip
def test_graph_with_such_a_rule_is_refused(node, rule, message):
    graph = small()
    nodes = tuple(replace(n, rule=rule) if n.name == node else n for n in graph.nodes)
    with pytest.raises(ModelError) as refused:
        Session(replace(graph, nodes=nodes))
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("profile", "rule", "how"),
    [
        ("litert-ref", None, "conv2d under litert-ref rounds by double_rounding"),
        ("single-rounding", None, "conv2d under single-rounding rounds by single_rounding"),
        ("tflm", "float64_away",
         "conv2d under tflm rounds by float64_away, a rule of its own"),
        ("litert-x86", None, "conv2d under litert-x86 rounds by double_rounding_up"),
    ],
)  # fmt: skip
def test_scales_too_far_apart_name_profile_and_rule(profile, rule, how):
    graph = small()
    x, y = graph.nodes[0].inputs[0], graph.nodes[0].outputs[0]
    graph = scaled(scaled(graph, x, 1e30), y, 1e-30)
    nodes = (replace(graph.nodes[0], rule=rule), *graph.nodes[1:])
    with pytest.raises(ModelError) as refused:
        Session(replace(graph, profile=profile, nodes=nodes))
    message = str(refused.value)
    assert message.startswith(f"conv2d_0/conv2d: {how}: multiplier: must be below 2^31, got ")
    assert message.endswith("; raise the output scale")


def test_fully_connected_under_litert_ref_rounds_in_float64():
    draft = Draft()
    graph = draft.graph(draft.fully_connected(draft.input((1, 4)), 2), profile="litert-ref")
    graph = scaled(scaled(graph, 0, 1e30), graph.nodes[0].outputs[0], 1e-30)
    with pytest.raises(ModelError) as refused:
        Session(graph)
    assert str(refused.value).startswith(
        "fully_connected_0/fully_connected: fully_connected under litert-ref rounds by "
        "float64_away: multiplier: must be below 2^31, got "
    )


def test_a_multiplier_that_xnnpack_refuses_names_profile_and_rule():
    draft = Draft()
    graph = draft.graph(draft.fully_connected(draft.input((1, 4), scale=256.0), 2),
                        profile="xnnpack")  # fmt: skip
    weights, bias = graph.nodes[0].inputs[1:]
    graph = scaled(scaled(graph, weights, 1.0), bias, 1.0)
    graph = scaled(graph, graph.nodes[0].outputs[0], 1.0)
    with pytest.raises(ModelError) as refused:
        Session(graph)
    assert str(refused.value) == (
        "fully_connected_0/fully_connected: fully_connected under xnnpack rounds by float32_even: "
        "s_x * s_w / s_y must be below 256, got 256; LiteRT refuses the model as well, raise the "
        "output scale"
    )
    Session(with_rules(graph, {"fully_connected_0": "float32_even"}))  # no longer LiteRT's


def test_a_profile_without_a_rule_for_an_operator_says_so():
    with pytest.raises(ModelError) as refused:
        Session(replace(small(), profile="onnx"))
    assert str(refused.value) == (
        "average_pool2d_0/average_pool2d: profile onnx must have a rule for average_pool2d, got "
        "none; choose another profile"
    )


def scaled(graph, index, scale):
    """The graph with another scale of one tensor."""
    tensors = list(graph.tensors)
    old = tensors[index].quantization
    scales = np.full(len(old.scale), scale, np.float32)
    tensors[index] = replace(tensors[index], quantization=Quantization(scales, old.zero_point,
                                                                       old.axis))  # fmt: skip
    return replace(graph, tensors=tuple(tensors))


def test_inspect_and_descriptions_say_which_nodes_have_one(tmp_path, capsys):
    npusim.save(small(), tmp_path / "m.h5")
    arguments = ["inspect", str(tmp_path / "m.h5"), "--node-rule", "conv2d_0=single_rounding"]
    assert cli.main(arguments) == 0
    assert capsys.readouterr().out.splitlines()[-1] == (
        "conv2d_0: conv2d rounds by single_rounding, a rule of its own, instead of double_rounding"
    )
    assert cli.main([*arguments, "--json"]) == 0
    layers = json.loads(capsys.readouterr().out)["layers"]
    assert [(x["rounding"], x["instead_of"]) for x in layers[:2]] == [
        ("single_rounding", "double_rounding"),
        ("half_away", None),
    ]
    assert all(layer.instead_of is None for layer in describe(small()).layers)


@pytest.mark.parametrize("command", ["run", "check", "golden"])
def test_commands_take_rules(command, tmp_path, capsys):
    npusim.save(small(), tmp_path / "m.h5")
    arguments = [command, str(tmp_path / "m.h5"), "--random", "1",
                 "--node-rule", "conv2d_0=single_rounding",
                 "--node-rule", "fully_connected_0=double_rounding_down"]  # fmt: skip
    if command == "golden":
        arguments += ["--output", str(tmp_path / "g.h5")]
    assert cli.main(arguments) == 0
    if command == "golden":
        from npusim.golden.file import load

        rules = [node.rounding for node in load(tmp_path / "g.h5").nodes]
        assert rules == ["single_rounding", "half_away", None, "double_rounding_down"]
    if command == "run":
        shown = capsys.readouterr().out
        assert cli.main(arguments[:4]) == 0
        assert capsys.readouterr().out != shown


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["conv2d_0"], "npusim run: argument --node-rule: must be NODE=RULE, got 'conv2d_0'; try "
         "npusim run --help\n"),
        (["conv2d_0=single_rounding", "conv2d_0=float32_even"],
         "npusim: --node-rule: must give a node one rule, got 2 for conv2d_0\n"),
        (["pad_0=single_rounding"], "npusim: --node-rule: pad_0: pad under tflm only moves "
         "codes and must have no rule of its own, got single_rounding\n"),
    ],
)  # fmt: skip
def test_wrong_rules_end_in_one_line(given, message, tmp_path, capsys):
    npusim.save(small(), tmp_path / "m.h5")
    options = [part for pair in given for part in ("--node-rule", pair)]
    try:
        code = cli.main(["run", str(tmp_path / "m.h5"), "--random", "1", *options])
    except SystemExit as ended:
        code = ended.code
    assert code == 2
    assert capsys.readouterr().err == message
