"""Explanations: the last step is the session's code, and every step follows from those before."""

import json
from dataclasses import replace

import numpy as np
import pytest
from fuzz.neural_art_draws import parameters
from graphs import Draft, codes
from naive import rounding
from one_node import activation, pointwise

import npusim
from npusim import Accumulator, Session, models
from npusim.affine import zero_point
from npusim.cli import main
from npusim.explain import explain
from npusim.headroom import WEIGHTED
from npusim.kernels.structs import REQUANTIZE
from npusim.neural_art.settle import settle
from npusim.profiles import PROFILES
from npusim.requantization import clamp_of

IMAGES, ELEMENTS = 3, 12
ACCUMULATORS = [Accumulator(14, "saturate"), Accumulator(14), Accumulator(40), Accumulator(64)]


def network(**settings):
    """Weighted nodes of every kind: groups, strides, dilation, blocks with a rest, rows."""
    draft = Draft(seed=3)
    x = draft.input((1, 6, 6, 4))
    outputs = [
        draft.conv2d(x, 6, groups=2, stride=(2, 2)),
        draft.conv2d(x, 5, (2, 3), dilation=(2, 2), activation="relu6", bias=False),
        draft.depthwise_conv2d(x, multiplier=5),
        draft.fully_connected(x, 3),
        draft.fully_connected(x, 7, keep_dims=True),
    ]
    return draft.graph(*outputs, **settings)


def explained(graph, seed=0):
    """(node, explanation, the session's code) of random elements of every weighted node."""
    inputs, rng = codes(graph, IMAGES, seed), np.random.default_rng(seed)
    values = dict(Session(graph, threads=1).trace(inputs))
    for node in (n for n in graph.nodes if n.op in WEIGHTED):
        y = values[graph.tensors[node.outputs[0]].name]
        for _ in range(ELEMENTS):
            element = tuple(int(rng.integers(n)) for n in y.shape)
            yield node, explain(graph, inputs, node.name, element), int(y[element])


def steps_of(explanation):
    return {step.name: step.value for step in explanation.steps}


def naive_code(rule, steps, limits):
    """The code of a sum in Python integers; limits are zero point and clamp."""
    by = getattr(rounding, f"requantize_{rule}")
    fixed = rounding.quantize_multiplier(steps["M"])
    scaled = by(steps["acc"], *((steps["M"],) if rule.startswith("float") else fixed))
    return rounding.clamp(scaled + limits[0], *limits[1:])


@pytest.mark.parametrize("profile", PROFILES)
def test_last_step_is_the_code(profile, isa):
    found = list(explained(network(profile=profile)))
    assert len(found) == 5 * ELEMENTS
    assert [e.code for _, e, _ in found] == [code for *_, code in found]
    assert len({code for *_, code in found}) > ELEMENTS


@pytest.mark.parametrize("accumulator", ACCUMULATORS, ids=str)
def test_last_step_is_the_code_in_any_accumulator(accumulator, isa):
    found = list(explained(network(accumulator=accumulator)))
    assert [e.code for _, e, _ in found] == [code for *_, code in found]
    left = [e for _, e, _ in found if e.steps[2].value != e.steps[0].value + e.steps[1].value]
    assert bool(left) == (accumulator.bits == 14)
    held = {"wrap": "wrapped to", "saturate": "saturated at"}[accumulator.overflow]
    assert {e.steps[2].how for e in left} <= {f"bias + products, {held} 14 bits"}


@pytest.mark.parametrize("rule", REQUANTIZE)
def test_every_rule_of_a_node_is_explained(rule):
    graph = network()
    graph = replace(graph, nodes=tuple(replace(node, rule=rule) for node in graph.nodes))
    for node, e, code in explained(graph):
        steps, y = steps_of(e), graph.tensors[node.outputs[0]]
        limits = zero_point(y), *clamp_of(graph, node)
        own = "rule" if rule != "double_rounding" else None  # which is tflm's
        assert (e.rule, e.own) == (rule, own)
        assert code == e.code == naive_code(rule, steps, limits)
        assert e.others == {o: naive_code(o, steps, limits) for o in REQUANTIZE if o != rule}


@pytest.mark.parametrize("rule", [rule for rule in REQUANTIZE if rule.startswith("double")])
def test_two_roundings_are_what_they_say(rule):
    graph = network()
    graph = replace(graph, nodes=tuple(replace(node, rule=rule) for node in graph.nodes))
    last = {
        "double_rounding": lambda h, r: rounding.divide_away(h, 2**r),
        "double_rounding_up": lambda h, r: (h + 2**r // 2) // 2**r,
        "double_rounding_down": lambda h, r: h // 2**r,
    }[rule]
    for _, e, _ in explained(graph):
        s = steps_of(e)
        assert s["products"] + s["bias"] == s["acc"]
        assert s["high"] == (s["acc"] * s["multiplier"] + 2**30) >> 31
        assert s["scaled"] == last(s["high"], -s["shift"])


@pytest.mark.parametrize("seed", range(4))
def test_neural_art_stages_are_what_they_say(seed):
    graph = network(profile="neural-art")
    graph = settle(graph, parameters(graph, np.random.default_rng(seed)))
    for _, e, code in explained(graph, seed):
        s = steps_of(e)
        assert list(s) == ["acc", "s0", "s1", "A_c", "s2", "A2", "BC_c", "r0", "r1", "code"]
        assert (e.rule, e.accumulator, e.others) == ("neural_art", None, {})
        assert e.code == code
        assert abs(s["r1"] * 2 ** s["s1"] - s["r0"] * s["A_c"]) <= 2 ** s["s1"] / 2 or (
            s["r1"] in (-(2**15), 2**15 - 1)
        )


def test_wide_sum_is_wrapped_before_the_multiplier():
    """A sum of 64 bits that no int32 holds; and one that float32 has to round."""
    y = activation((), 2.0)
    graph = pointwise(1.0, [[1]], y, [1.0], bias=[2**31 - 1])
    graph = replace(graph, accumulator=Accumulator(64))
    x = {"conv2d/0": np.full((1, 1, 1, 1), 5, np.int8)}
    steps = {s.name: s for s in explain(graph, x, "conv2d_0", (0, 0, 0, 0)).steps}
    assert steps["acc"].value == 2**31 + 4
    assert steps["shifted"][1:] == ("acc << 0, wrapped to 32 bits", -(2**31) + 4)
    floating = replace(graph, nodes=(replace(graph.nodes[0], rule="float32_even"),))
    e = explain(floating, x, "conv2d_0", (0, 0, 0, 0))
    assert steps_of(e)["acc32"] == 2.0**31
    assert e.steps[-3].how == "acc32 * M, in float32"


def test_rule_of_an_element_is_that_of_its_place():
    graph, inputs = network(profile="litert-x86"), None
    inputs = codes(graph)
    rules = [explain(graph, inputs, "depthwise_conv2d_0", (0, 1, 1, c)).rule for c in range(20)]
    assert rules == ["double_rounding_up"] * 16 + ["double_rounding"] * 4


def test_given_multiplier_is_named():
    graph = network()
    given = {"multiplier": np.full(6, 2**30, np.int32), "shift": np.full(6, -9, np.int32)}
    nodes = (replace(graph.nodes[0], given=given), *graph.nodes[1:])
    e = explain(replace(graph, nodes=nodes), codes(graph), "conv2d_0", (0, 0, 0, 0))
    (m,) = [step for step in e.steps if step.name == "M"]
    assert m == ("M", "of the given multiplier and shift", 2.0**-10)


def test_real_numbers_are_quantised_as_a_run_does():
    graph = models.digits_cnn()
    x = np.random.default_rng(0).uniform(0, 1, (2, 8, 8, 1)).astype(np.float32)
    expected = Session(graph, threads=1).run(x)[1, 4]
    assert explain(graph, {"image": x}, "fully_connected_0", (1, 4)).code == expected


def sums_and_shares(**settings):
    """Adds of two maps and of a map and a vector (rows of blocks with a rest); softmaxes."""
    draft = Draft(seed=5)
    x, y = draft.input((1, 3, 3, 20)), draft.input((1, 3, 3, 20))
    ramp = np.arange(-60, 60, 6).reshape(1, 1, 1, 20).astype(np.int8)
    vector = draft.constant("ramp", ramp, 0.02)
    outputs = [
        draft.node("add", [x, y], activation="none", affine={"scale": 0.07}),
        draft.node("add", [vector, x], activation="relu6", affine={"scale": 0.03}),
        *(draft.node("softmax", [x], beta=beta, affine={"scale": 1 / 256, "zero_point": -128})
          for beta in (1.0, 9.0)),
    ]  # fmt: skip
    return draft.graph(*outputs, **settings)


def explained_all(graph, seed=0):
    """(node, explanation, the session's code) of random elements of every node."""
    inputs, rng = codes(graph, IMAGES, seed), np.random.default_rng(seed)
    values = dict(Session(graph, threads=1).trace(inputs))
    for node in graph.nodes:
        y = values[graph.tensors[node.outputs[0]].name]
        for _ in range(ELEMENTS):
            element = tuple(int(rng.integers(n)) for n in y.shape)
            yield node, explain(graph, inputs, node.name, element), int(y[element])


@pytest.mark.parametrize("profile", [name for name in PROFILES if name != "onnx"])
def test_last_step_of_add_and_softmax_is_the_code(profile, isa):
    found = list(explained_all(sums_and_shares(profile=profile)))
    assert len(found) == 4 * ELEMENTS
    assert [e.code for _, e, _ in found] == [code for *_, code in found]
    assert len({code for *_, code in found}) > ELEMENTS


@pytest.mark.parametrize("op", ["add", "softmax"])
def test_other_codes_of_add_and_softmax_are_those_of_a_run(op):
    graph = sums_and_shares()
    found = [e for n, e, _ in explained_all(graph) if n.op == op]
    rules = {"add": {"double_rounding_up", "single_rounding", "add_xnnpack", "add_x86"},
             "softmax": {"softmax_x86"}}[op]  # fmt: skip
    assert {frozenset(e.others) for e in found} == {frozenset(rules)}
    for rule in rules:
        nodes = tuple(replace(n, rule=rule) if n.op == op else n for n in graph.nodes)
        session = Session(replace(graph, nodes=nodes), threads=1)
        other = dict(session.trace(codes(graph, IMAGES)))
        assert [int(other[e.tensor][e.element]) for e in found] == [e.others[rule] for e in found]


@pytest.mark.parametrize("rule", ["double_rounding", "double_rounding_up", "single_rounding"])
def test_steps_of_add_follow_from_each_other(rule):
    graph = sums_and_shares()
    adds = [replace(n, rule=rule) if n.op == "add" else n for n in graph.nodes]
    found = [e for n, e, _ in explained_all(replace(graph, nodes=tuple(adds))) if n.op == "add"]
    by = getattr(rounding, f"requantize_{rule}")
    for e in found:
        s = steps_of(e)
        for name in ("a", "b"):
            scaled = by(s[f"acc_{name}"], s[f"multiplier_{name}"], s[f"shift_{name}"])
            assert s[f"scaled_{name}"] == scaled
        assert s["acc"] == s["scaled_a"] + s["scaled_b"]
        assert s["scaled"] == by(s["acc"], s["multiplier"], s["shift"])


def test_steps_of_add_on_neural_art_follow_from_each_other():
    graph = settle(sums_and_shares(profile="neural-art"), {"*": {"operand_rounding": "even"}})
    found = [e for n, e, _ in explained_all(graph) if n.op == "add"]
    assert {e.rule for e in found} == {"neural_art"}
    for e in found:
        s = steps_of(e)
        for name in ("a", "b"):
            part = s[name] * s[name.upper()], 2 ** s[f"{name}_shift"]
            assert abs(s[f"product_{name}"] * part[1] - part[0]) <= part[1] / 2
        assert s["acc"] == s["product_a"] + s["product_b"] + s["C"] * 2 ** s["c_shift"]


def test_steps_of_softmax_approximate_what_they_say():
    for node, e, _ in explained_all(sums_and_shares()):
        s = steps_of(e)
        if node.op == "softmax" and "exp" in s:
            assert s["exp"] / 2**31 == pytest.approx(np.exp(s["scaled"] / 2**26), abs=1e-6)
            shifted = s["sum"] * 2.0 ** (s["headroom"] - 31)
            assert s["reciprocal"] / 2**31 == pytest.approx(1 / shifted, abs=1e-6)
    far = [e for n, e, _ in explained_all(sums_and_shares()) if steps_of(e).get("diff_min", 0)]
    assert {e.code for e in far if "exp" not in steps_of(e)} == {-128}


@pytest.mark.parametrize(
    ("node", "element", "message"),
    [
        ("conv2d_0", (0, 8, 1, 1), "conv2d_0/conv2d: element must lie in (2, 8, 8, 24), "
                                   "got (0, 8, 1, 1)"),
        ("conv2d_0", (0, 1), "conv2d_0/conv2d: element must lie in (2, 8, 8, 24), got (0, 1)"),
        ("mean_0", (0, 3), "mean_0: must be conv2d, depthwise_conv2d, fully_connected, add or "
                           "softmax to be explained, got mean"),
    ],
)  # fmt: skip
def test_what_cannot_be_explained_is_refused(node, element, message):
    graph = models.digits_cnn()
    with pytest.raises(ValueError) as caught:
        explain(graph, codes(graph, 2), node, element)
    assert str(caught.value) == message


@pytest.fixture
def command(tmp_path, capsys):
    """Runs the command on the digit reader: (exit code, standard output, standard error)."""
    npusim.save(models.digits_cnn(), tmp_path / "digits.h5")

    def run(*arguments):
        given = [str(argument) for argument in arguments]
        code = main(["explain", str(tmp_path / "digits.h5"), *given])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


PAGE = """\
conv2d_0/conv2d: element (0, 1, 3, 0) of stem/relu
profile tflm, rule double_rounding, accumulator 32 bits, wrap

"""


def test_command_prints_steps(command):
    code, out, _ = command("--random", 1, "--element", "conv2d_0", 0, 1, 3, 0)
    assert code == 0
    assert out.startswith(PAGE)
    steps, others = out.removeprefix(PAGE).split("\n\n")
    last = steps.splitlines()[-1].split()
    assert last == ["code", "-79", "scaled", "-", "128,", "within", "-128..127"]
    assert others == (
        "other codes of this sum: single_rounding -80, float32_even -80,\n"
        "  float64_away -80, double_rounding_down -80\n"
    )


@pytest.mark.parametrize("width", [40, 80, 120])
def test_command_keeps_to_the_terminal(command, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    _, out, _ = command("--random", 1, "--element", "conv2d_0", 0, 1, 3, 0)
    widest = max(map(len, out.splitlines()))
    assert width - 15 < widest <= max(width, 60)


def test_command_says_that_a_rule_is_the_nodes_own(command):
    _, out, _ = command("--random", 1, "--element", "conv2d_0", 0, 1, 3, 0,
                        "--node-rule", "conv2d_0=single_rounding")  # fmt: skip
    second = "profile tflm, rule single_rounding of its own, accumulator 32 bits, wrap"
    assert out.splitlines()[1] == second
    steps = out.split("\n\n")[1]
    assert steps.splitlines()[-1].split()[:2] == ["code", "-80"]


def test_command_says_when_no_rule_makes_a_difference(command):
    _, out, _ = command("--random", 1, "--element", "conv2d_0", 0, 3, 4, 7)
    assert out.splitlines()[-1] == "every other rule makes the same code of this sum"


def test_command_prints_json(command):
    code, out, _ = command("--random", 1, "--element", "conv2d_0", 0, 1, 3, 0, "--json",
                           "--profile", "xnnpack")  # fmt: skip
    facts = json.loads(out)
    assert code == 0
    assert (facts["rule"], facts["code"], facts["element"]) == ("float32_even", -80, [0, 1, 3, 0])
    assert facts["accumulator"] == {"bits": 32, "overflow": "wrap"}
    assert facts["steps"][-1]["value"] == facts["code"]
    assert facts["others"]["double_rounding"] == -79


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--element", "conv2d_0", 0, 1, 3, 0),
         "inputs: must be named by --input or --random, one of them"),
        (("--random", 1, "--element", "conv2d_0", "a"),
         "--element: must be a node and whole numbers, got conv2d_0 a"),
        (("--random", 1, "--element", "conv2d_9", 0),
         "graph digits_cnn: no node is called 'conv2d_9'; "
         "closest of 6: conv2d_2, conv2d_1, conv2d_0"),
    ],
)  # fmt: skip
def test_command_refuses(command, arguments, message):
    assert command(*arguments) == (2, "", f"npusim: {message}\n")
