"""Constants that change in place: the output moves, nothing is cached, snapshots hold them."""

from dataclasses import replace

import numpy as np
import pytest
from graphs import Draft, codes

import npusim
from npusim import Accumulator, Session
from npusim.check import check
from npusim.constants import with_biases
from npusim.profiles import PROFILES

pytestmark = pytest.mark.usefixtures("isa")
LAYERS = ["conv2d_0", "depthwise_conv2d_0", "fully_connected_0"]


def network():
    """One layer of each weighted operator, the first one without a bias."""
    draft = Draft(11)
    x = draft.conv2d(draft.input((1, 4, 4, 2)), 4, bias=False)
    x = draft.node("reshape", [draft.depthwise_conv2d(x)], shape=(1, 64))
    return draft.graph(draft.fully_connected(x, 5))


def layer_names(graph):
    """Names of the layers' outputs, by node."""
    return {node.name: graph.tensors[node.outputs[0]].name for node in graph.nodes}


def snapshot_runs_as(session, x):
    """Whether a fresh session of the snapshot gives what the session gives."""
    graph = session.snapshot()
    check(graph)
    return np.array_equal(Session(graph).run(x), session.run(x))


@pytest.mark.parametrize("name", LAYERS)
def test_one_weight_moves_its_layer(name):
    """Each of forty weights is seen by the next run when it moves, and when it moves back."""
    session = Session(network(), trainable=[name], threads=1)
    x = codes(session.graph, 20)
    y = layer_names(session.graph)[name]
    before = dict(session.trace(x))[y]
    weights = session.weights[name].reshape(-1)
    assert np.shares_memory(weights, session.weights[name])
    for k in range(0, weights.size, max(1, weights.size // 40)):
        kept = weights[k]
        weights[k] = kept - 100 if kept > 0 else kept + 100
        assert not np.array_equal(dict(session.trace(x))[y], before), k
        weights[k] = kept
        assert np.array_equal(dict(session.trace(x))[y], before), k


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("trainable", [(), tuple(LAYERS)])
def test_bias_moves_its_channel(name, trainable):
    """Also one that the model does not have, and with nothing trainable."""
    session = Session(network(), trainable=trainable)
    x = codes(session.graph, 3)
    y = layer_names(session.graph)[name]
    before = dict(session.trace(x))[y]
    session.biases[name][1] += 1 << 22
    after = dict(session.trace(x))[y]
    assert (after[..., 1] == 127).all()
    assert np.array_equal(np.delete(after, 1, -1), np.delete(before, 1, -1))


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("trainable", [(), tuple(LAYERS)])
def test_requantization_moves_its_channel(name, trainable):
    session = Session(network(), trainable=trainable)
    x = codes(session.graph, 3)
    y = layer_names(session.graph)[name]
    before = dict(session.trace(x))[y]
    session.requantization[name].multiplier[2] = 0
    silent = dict(session.trace(x))[y]
    assert (silent[..., 2] == 4).all()
    session.requantization[name].multiplier[2] = 2**30
    session.requantization[name].shift[2] = 0
    loud = dict(session.trace(x))[y]
    assert np.isin(loud[..., 2], (-128, 127, 4)).mean() > 0.9
    for after in (silent, loud):
        assert np.array_equal(np.delete(after, 2, -1), np.delete(before, 2, -1))


@pytest.mark.parametrize("threads", [1, 3])
def test_changes_reach_every_thread_and_can_be_undone(threads):
    session = Session(network(), trainable=LAYERS, threads=threads)
    x = codes(session.graph, 6)
    before = session.run(x)
    for name in LAYERS:
        session.weights[name][...] ^= 64
    changed = session.run(x)
    assert not np.array_equal(changed, before)
    for name in LAYERS:
        session.weights[name][...] ^= 64
    assert np.array_equal(session.run(x), before)


def test_run_from_uses_the_present_weights():
    session = Session(network(), trainable=LAYERS[1:])
    x = codes(session.graph, 3)
    prefix = session.prefix(x)
    for name in LAYERS[1:]:
        session.weights[name][...] ^= 32
        session.biases[name][:] -= 500
        session.requantization[name].shift[:] -= 1
        assert np.array_equal(session.run_from(prefix), session.run(x))


def test_weights_have_their_tensors_name_and_the_name_that_was_asked_for():
    session = Session(network(), trainable=["conv2d_0", "fully_connected_0/bias"])
    assert session.trainable == ("weights_1", "bias_8")
    assert list(session.weights) == ["weights_1", "bias_8"]
    assert len(session.weights) == 2
    assert session.weights["conv2d_0"] is session.weights["weights_1"]
    assert "fully_connected_0/bias" in session.weights
    assert np.shares_memory(session.weights["bias_8"], session.biases["fully_connected_0"])
    assert [session.weights[n].dtype for n in session.trainable] == [np.int8, np.int32]


def test_weights_hold_only_what_is_trainable():
    session = Session(network(), trainable=["conv2d_0"])
    with pytest.raises(KeyError):
        session.weights["fully_connected_0"]
    assert not Session(network()).weights
    with pytest.raises(TypeError):
        session.weights["conv2d_0"] = np.zeros(3)


def test_a_constant_named_twice_is_trainable_once():
    session = Session(network(), trainable=["conv2d_0", "weights_1", "conv2d_0"])
    assert session.trainable == ("weights_1",)
    assert session.weights["conv2d_0"] is session.weights["weights_1"]


def test_unknown_trainable_names_the_closest():
    with pytest.raises(KeyError) as caught:
        Session(network(), trainable=["zzz"])
    message = caught.value.args[0]
    assert message == (
        "graph draft: no weights or bias are called 'zzz'; "
        "first of 13: conv2d_0, conv2d_0/bias, depthwise_conv2d_0"
    )


def test_trainable_rejects_a_single_string():
    message = "trainable: must be a sequence of names, got the string 'conv2d_0'"
    with pytest.raises(TypeError, match=message):
        Session(network(), trainable="conv2d_0")


def test_a_bias_the_model_does_not_have_is_trainable():
    session = Session(network(), trainable=["conv2d_0/bias"])
    x = codes(session.graph, 2)
    before = session.run(x)
    assert not session.weights["conv2d_0/bias"].any()
    session.weights["conv2d_0/bias"][:] = 1 << 20
    assert not np.array_equal(session.run(x), before)


def test_snapshot_of_an_untouched_session_is_its_graph():
    graph = network()
    assert Session(graph, trainable=LAYERS).snapshot() == with_biases(graph)


def test_snapshot_keeps_the_declared_batch():
    draft = Draft()
    graph = draft.graph(draft.fully_connected(draft.input((4, 6)), 3))
    session = Session(graph)
    assert session.graph.tensors[0].shape == (1, 6)
    assert session.snapshot() == graph


@pytest.mark.parametrize("name", LAYERS)
def test_snapshot_holds_changed_weights_and_biases(name):
    session = Session(network(), trainable=[name])
    x = codes(session.graph, 3)
    session.weights[name][...] ^= 21
    session.biases[name][:] += 77
    assert snapshot_runs_as(session, x)
    node = session.snapshot().node(name)
    data = [session.snapshot().tensors[i].data for i in node.inputs[1:]]
    assert np.array_equal(data[0], session.weights[name])
    assert np.array_equal(data[1], session.biases[name])


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("field", ["multiplier", "shift"])
def test_snapshot_holds_changed_requantization(name, field):
    session = Session(network())
    x = codes(session.graph, 3)
    getattr(session.requantization[name], field)[::2] -= 1
    assert snapshot_runs_as(session, x)
    assert bool(session.snapshot().node(name).given) == (field == "multiplier")


def test_snapshot_does_not_follow_later_changes():
    session = Session(network(), trainable=LAYERS)
    taken = session.snapshot()
    kept = session.snapshot()
    for name in LAYERS:
        session.weights[name][...] = 0
        session.biases[name][:] = 9
        session.requantization[name].shift[:] = -3
    assert taken == kept
    assert session.snapshot() != kept


def test_snapshot_survives_a_file(tmp_path):
    """Changed weights, biases, scales, and a multiplier that no scale gives."""
    session = Session(network(), trainable=LAYERS)
    x = codes(session.graph, 3)
    session.weights["conv2d_0"][...] ^= 5
    session.biases["depthwise_conv2d_0"][:] -= 300
    session.requantization["conv2d_0"].shift[1] += 1
    session.requantization["fully_connected_0"].multiplier[2] += 12345
    npusim.save(session.snapshot(), tmp_path / "m.h5")
    loaded = npusim.load(tmp_path / "m.h5")
    assert loaded == session.snapshot()
    assert np.array_equal(Session(loaded).run(x), session.run(x))


def test_snapshot_of_shared_weights_keeps_each_nodes_requantization():
    draft = Draft(3)
    first = draft.conv2d(draft.input((1, 4, 4, 2)), 2)
    node = draft.nodes[0]
    affine = {"scale": 0.1, "zero_point": 0}
    second = draft.node("conv2d", (first, *node.inputs[1:]), affine=affine, **node.attributes)
    session = Session(draft.graph(second), trainable=["conv2d_0"])
    x = codes(session.graph, 3)
    session.requantization["conv2d_1"].shift[0] -= 1
    session.weights["conv2d_0"][0] += 3
    assert snapshot_runs_as(session, x)


@pytest.mark.parametrize("accumulator", [Accumulator(14, "saturate"), Accumulator(13, "wrap")])
@pytest.mark.parametrize("name", LAYERS)
def test_changed_weights_reach_ordered_accumulators(name, accumulator):
    session = Session(network(), trainable=[name], accumulator=accumulator)
    x = codes(session.graph, 3)
    before = session.run(x)
    session.weights[name][...] ^= 64
    assert not np.array_equal(session.run(x), before)
    assert snapshot_runs_as(session, x)


@pytest.mark.parametrize("profile", sorted(PROFILES.keys() - {"neural-art"}))
@pytest.mark.parametrize("name", LAYERS)
def test_shifts_and_multipliers_act_under_every_profile(profile, name):
    """Rules that compute with a real multiplier follow; a snapshot holds what they follow to."""
    session = Session(replace(network(), profile=profile), threads=1)
    x = codes(session.graph, 20)
    y = layer_names(session.graph)[name]
    before = dict(session.trace(x))[y]
    r = session.requantization[name]
    r.shift[:] -= 1
    halved = dict(session.trace(x))[y]
    assert not np.array_equal(halved, before)
    assert snapshot_runs_as(session, x)
    r.multiplier[:] = r.multiplier // 5 * 4
    r.shift[:] += 1
    assert not np.array_equal(dict(session.trace(x))[y], halved)
    assert snapshot_runs_as(session, x)


@pytest.mark.parametrize("what", ["biases", "requantization"])
def test_what_a_layer_does_not_have_is_refused_with_the_profile(what):
    graph = replace(network(), profile="neural-art")
    for wrong, known in ((graph, "none"), (network(), ", ".join(LAYERS))):
        session = Session(wrong)
        name = "reshape_0" if known != "none" else "conv2d_0"
        with pytest.raises(KeyError) as caught:
            getattr(session, what)[name]
        assert caught.value.args == (
            f"{what}: '{name}' must be a layer with multiplier and shift under profile "
            f"{wrong.profile}, got {known}",
        )
        assert name not in getattr(session, what)
