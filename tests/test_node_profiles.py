"""Profiles of single nodes: computed whole, stored, recorded, shown; refused by name."""

import json
from dataclasses import replace

import numpy as np
import pytest
from graphs import Draft, codes
from naive import operators as naive
from test_rules import operators, small, sums

import npusim
from npusim import Accumulator, ModelError, Quantization, Session, cli, golden
from npusim.affine import quantization, scale, zero_point
from npusim.describe import describe
from npusim.diff import Dump, Side, diff, of_golden
from npusim.diff.replay import leading_to
from npusim.explain import explain
from npusim.export import export_c
from npusim.golden.record import as_recorded, graph_hash
from npusim.headroom import accumulator_of
from npusim.neural_art.settle import settle
from npusim.neural_art.stored import family
from npusim.parameters import bind
from npusim.profiles import PROFILES
from npusim.rules import arithmetic, profile_of, stated, with_rules
from npusim.tensor_files import random_inputs

NODES = {"conv2d_0": "litert-x86", "pad_0": "tflm", "fully_connected_0": "neural-art"}


def everywhere(graph, profile):
    """The graph whose nodes all have one profile of their own."""
    return with_rules(graph, {node.name: profile for node in graph.nodes})


def equal(a, b):
    """Whether two structs are the same, with the structs and arrays in them."""
    if isinstance(a, tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(equal, a, b))
    return np.array_equal(a, b)


@pytest.mark.parametrize("profile", sorted(PROFILES))
@pytest.mark.parametrize("around", sorted(PROFILES))
def test_a_nodes_profile_is_the_graphs_profile_for_it(around, profile):
    """Rule, blocks, scale, bounds and accumulator, whoever the node is left to."""
    plain = sums() if "onnx" in (around, profile) else operators()
    whole = settle(replace(plain, profile=profile))
    mixed = settle(everywhere(replace(plain, profile=around), profile))
    for node, other in zip(mixed.nodes, whole.nodes, strict=True):
        assert profile_of(mixed, node) == profile_of(whole, other)
        assert arithmetic(mixed, node) == arithmetic(whole, other)
        assert family(mixed, node) == family(whole, other)
        assert accumulator_of(mixed, node) == accumulator_of(whole, other)
        assert equal(bind(mixed, node), bind(whole, other)), node.name


@pytest.mark.parametrize("around", ["tflm", "neural-art", "xnnpack"])
@pytest.mark.parametrize("profile", ["tflm", "neural-art", "litert-x86", "xnnpack"])
def test_every_operator_runs_so_in_both_executors(around, profile, monkeypatch):
    plain = operators()
    x = codes(plain, 3)
    results = []
    for isa, graph in (
        ("numpy", replace(plain, profile=profile)),
        ("numpy", everywhere(replace(plain, profile=around), profile)),
        ("portable", everywhere(replace(plain, profile=around), profile)),
    ):
        monkeypatch.setenv("NPUSIM_ISA", isa)
        results.append(dict(Session(graph, threads=1).trace(x)))
    for name, expected in results[0].items():
        assert all(np.array_equal(r[name], expected) for r in results[1:]), name


def overflowing():
    """A layer whose biases lie at the ends of int32, so that its sums leave 32 bits."""
    draft = Draft(8)
    graph = draft.graph(draft.fully_connected(draft.input((1, 6)), 8))
    bias = np.random.default_rng(2).choice([-(2**31) + 9, 2**31 - 9], 8).astype(np.int32)
    tensors = list(graph.tensors)
    index = graph.nodes[0].inputs[2]
    tensors[index] = replace(tensors[index], data=bias)
    y = graph.nodes[0].outputs[0]
    tensors[y] = replace(tensors[y], quantization=Quantization(3e5, 4))
    return replace(graph, tensors=tuple(tensors))


@pytest.mark.parametrize("around", ["tflm", "neural-art", "litert-ref"])
def test_a_node_of_tflm_wraps_at_32_bits_as_the_naive_twin_does(around, isa):
    """On Neural-ART, too, where the graph's sums are exact."""
    plain = overflowing()
    x, w, b, y = (plain.tensors[i] for i in (*plain.nodes[0].inputs, *plain.nodes[0].outputs))
    affine = (scale(x), zero_point(x)), quantization(w).scale.tolist(), (scale(y), zero_point(y))
    given = codes(plain, 5)
    inputs = given[x.name]
    expected = naive.fully_connected(inputs, w.data, b.data, affine, False, "none")
    exact = naive.fully_connected_accumulators(inputs, w.data, b.data, zero_point(x))
    assert max(abs(int(v)) for v in exact.flat) >= 2**31
    mixed = with_rules(replace(plain, profile=around), {"fully_connected_0": "tflm"})
    assert accumulator_of(mixed, mixed.nodes[0]) == Accumulator(32, "wrap")
    assert np.array_equal(Session(mixed).run(given), expected)


def test_a_graphs_own_accumulator_holds_for_nodes_of_other_profiles(isa):
    graph = with_rules(small(), {"conv2d_0": "litert-x86", "fully_connected_0": "neural-art"})
    narrow = replace(settle(graph), accumulator=Accumulator(16, "saturate"))
    held = {n.name: accumulator_of(narrow, n).bits for n in narrow.nodes}
    assert (held["conv2d_0"], held["fully_connected_0"]) == (16, 64)  # exact on Neural-ART
    whole = replace(small(), profile="litert-x86", accumulator=narrow.accumulator)
    y = graph.tensors[graph.node("conv2d_0").outputs[0]].name
    x = codes(graph, 3)
    assert np.array_equal(dict(Session(narrow).trace(x))[y], dict(Session(whole).trace(x))[y])


def test_parameters_reach_a_node_of_neural_art(isa):
    graph = settle(with_rules(small(), NODES), {"fully_connected_0": {"s0": 3}})
    whole = settle(replace(small(), profile="neural-art"), {"fully_connected_0": {"s0": 3}})
    assert equal(bind(graph, graph.nodes[3]), bind(whole, whole.nodes[3]))
    with pytest.raises(ValueError, match="conv2d under litert-x86 of its own rounds by "
                       "double_rounding_up and takes none"):  # fmt: skip
        settle(graph, {"conv2d_0": {"s0": 3}})


def test_a_profile_speaks_where_the_graphs_is_silent(isa):
    graph = replace(small(), profile="onnx")
    with pytest.raises(ModelError, match="profile onnx must have a rule for average_pool2d"):
        Session(graph)
    Session(with_rules(graph, {"average_pool2d_0": "tflm"})).run(codes(graph, 2))


def test_profiles_are_stored_with_the_graph(tmp_path):
    mixed = settle(with_rules(small(), NODES))
    npusim.save(mixed, tmp_path / "m.h5")
    again = npusim.load(tmp_path / "m.h5")
    assert again == mixed
    assert {n.name: n.rule for n in again.nodes if n.rule} == NODES
    other = npusim.load(tmp_path / "m.h5", profile="xnnpack", rules={"conv2d_0": "tflm"})
    assert profile_of(other, other.node("conv2d_0")).name == "tflm"
    assert family(other, other.node("fully_connected_0")) == "weighted"


@pytest.mark.parametrize(
    ("node", "rule", "message"),
    [
        ("average_pool2d_0", "onnx", "profile onnx must have a rule for average_pool2d, got none; "
         "choose another profile"),
        ("pad_0", "litert_x86", "pad under tflm only moves codes and must have no rule of its own, "
         "got litert_x86"),
    ],
)  # fmt: skip
def test_what_a_profile_cannot_compute_is_refused(node, rule, message, tmp_path, capsys):
    with pytest.raises(ValueError) as refused:
        with_rules(small(), {node: rule})
    assert str(refused.value) == f"rules: {node}: {message}"
    nodes = tuple(replace(n, rule=rule) if n.name == node else n for n in small().nodes)
    with pytest.raises(ModelError) as refused:
        Session(replace(small(), nodes=nodes))
    assert str(refused.value) == f"{node}/{small().node(node).op}: {message}"
    npusim.save(small(), tmp_path / "m.h5")
    arguments = ["run", str(tmp_path / "m.h5"), "--random", "1", "--node-rule", f"{node}={rule}"]
    assert cli.main(arguments) == 2
    assert capsys.readouterr().err == f"npusim: --node-rule: {node}: {message}\n"


def test_what_xnnpack_refuses_is_refused_of_a_node_of_it():
    graph = small()
    tensors = list(graph.tensors)
    y = graph.nodes[0].outputs[0]
    tensors[y] = replace(tensors[y], quantization=Quantization(1e-9, 4))
    graph = replace(graph, tensors=tuple(tensors))
    with pytest.raises(ModelError, match="conv2d under xnnpack of its own rounds by float32_even: "
                       "s_x \\* s_w / s_y must be below 256"):  # fmt: skip
        Session(with_rules(graph, {"conv2d_0": "xnnpack"}))


def test_messages_say_that_a_profile_is_the_nodes_own():
    graph = with_rules(small(), NODES)
    assert stated(graph, graph.node("conv2d_0")) == (
        "conv2d under litert-x86 of its own rounds by double_rounding_up"
    )


def test_inspect_shows_every_profile_of_its_own(tmp_path, capsys):
    npusim.save(with_rules(small(), NODES | {"average_pool2d_0": "litert-ref"}), tmp_path / "m.h5")
    assert cli.main(["inspect", str(tmp_path / "m.h5")]) == 0
    shown = [line for line in capsys.readouterr().out.splitlines() if "of its own" in line]
    assert shown == [
        "conv2d_0: conv2d under profile litert-x86 of its own rounds by double_rounding_up instead "
        "of double_rounding",
        "average_pool2d_0: average_pool2d under profile litert-ref of its own rounds by half_away",
        "pad_0: pad under profile tflm of its own",
        "fully_connected_0: fully_connected under profile neural-art of its own rounds by "
        "neural_art instead of double_rounding",
    ]
    assert cli.main(["inspect", str(tmp_path / "m.h5"), "--json"]) == 0
    layers = json.loads(capsys.readouterr().out)["layers"]
    assert [layer["profile"] for layer in layers] == ["litert-x86", "litert-ref", "tflm",
                                                      "neural-art"]  # fmt: skip
    assert [layer["accumulator"] for layer in layers] == [
        {"bits": 32, "overflow": "wrap"}, None, None, None
    ]  # fmt: skip


def test_a_host_node_of_neural_art_may_overflow_its_own_accumulator():
    mixed = with_rules(replace(overflowing(), profile="neural-art"), {"fully_connected_0": "tflm"})
    assert [layer.node for layer in describe(mixed).unproven] == ["fully_connected_0"]
    found = npusim.check_headroom(mixed, codes(mixed, 5))
    assert {f.kind for f in found.findings} >= {"overflow", "unproven"}
    assert found.nodes[0].accumulator == Accumulator(32, "wrap")


def test_explain_ends_at_the_code_and_names_the_profile(isa):
    graph = with_rules(small(), NODES)
    x = codes(graph, 2)
    values = dict(Session(graph).trace(x))
    for name, profile in (("conv2d_0", "litert-x86"), ("fully_connected_0", "neural-art")):
        made = values[graph.tensors[graph.node(name).outputs[0]].name]
        element = tuple(n - 1 for n in made.shape)
        e = explain(graph, x, name, element)
        assert (e.profile, e.own, e.code) == (profile, "profile", int(made[element]))


def test_golden_file_keeps_profiles_and_gives_them_back(tmp_path):
    graph = settle(with_rules(small(), NODES))
    golden.save(golden.record(graph, codes(graph, 2), threads=1), tmp_path / "g.h5")
    run = golden.load(tmp_path / "g.h5")
    assert {n.name: n.rule for n in run.nodes if n.rule} == NODES
    assert graph_hash(as_recorded(small(), run)) == run.graph_sha256


@pytest.mark.parametrize("profile", ["tflm", "neural-art"])
def test_diff_judges_by_the_rules_and_profiles_that_were_recorded(profile, tmp_path, capsys):
    npusim.save(replace(small(), profile=profile), tmp_path / "m.h5")
    model, recorded = str(tmp_path / "m.h5"), str(tmp_path / "g.h5")
    own = ["--node-rule", "conv2d_0=litert-x86", "--node-rule", "fully_connected_0=float64_away"]
    assert cli.main(["golden", model, "--random", "1", "--output", recorded, *own]) == 0
    assert cli.main(["run", model, "--random", "1", "--trace", str(tmp_path / "t"), *own]) == 0
    arguments = ["diff", recorded, str(tmp_path / "t"), "--model", model]
    assert cli.main(arguments) == 0
    assert cli.main(["diff", recorded, str(tmp_path / "t"), "--model", model,
                     "--node-rule", "conv2d_0=tflm"]) == 2  # fmt: skip
    assert "must be judged by the arithmetic it was recorded in" in capsys.readouterr().err


def test_diff_tells_that_two_runs_have_other_profiles(tmp_path, capsys):
    paths = []
    for k, rules in enumerate(({}, {"conv2d_0": "single-rounding"})):
        graph = with_rules(small(), rules)
        paths.append(str(tmp_path / f"{k}.h5"))
        golden.save(golden.record(graph, codes(graph, 40), threads=1), paths[-1])
    assert cli.main(["diff", *paths]) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert "the node's own rule or profile is none in A, single-rounding in B" in text


def test_diff_finds_a_narrow_accumulator_of_a_host_node(isa):
    plain = replace(small(), profile="neural-art")
    graph = settle(with_rules(plain, {"fully_connected_0": "tflm"}))
    x = codes(graph, 40)
    run = golden.record(graph, x, threads=1)
    device = {t.name: t.values for t in run.sequence()}
    features, logits = list(device)[-2:]
    part = leading_to(graph, logits, [features]).under_its_profile()
    device[logits] = part.run({features: device[features]}, Accumulator(12, "saturate"))
    dumps = tuple(Dump(name, "", values) for name, values in device.items())
    report = diff(of_golden("A", run, graph), Side("B", "folder", dumps))
    assert [(t.name, t.cause.kind) for t in report.departures] == [(logits, "accumulator")]


def test_exported_c_names_them(tmp_path):
    graph = with_rules(small(), NODES)
    files = export_c(graph, "net", random_inputs(graph, 1)).files
    said = ("Nodes with a rule or profile of their own: conv2d_0 (litert-x86), pad_0 (tflm), "
            "fully_connected_0 (neural-art).")  # fmt: skip
    for name in ("net.h", "README.md"):
        assert said in " ".join(files[name].replace("\n * ", " ").split())
