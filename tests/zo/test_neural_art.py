"""Training under neural-art: what the compiled stream freezes is refused, weights train as ever."""

from dataclasses import replace

import numpy as np
import pytest
from training_tasks import digits_task, head_task

import npusim
import zo
from npusim.head import with_features
from npusim.neural_art.settle import settle
from npusim.neural_art.stored import labelled
from npusim.rules import with_rules
from zo.adapt import adapt
from zo.moments import measure_statistics

FIXED = zo.Method(recalibrate=False)


def on_board(task):
    """The task under neural-art."""
    return task._replace(graph=replace(task.graph, profile="neural-art"))


def trained(task, threads=1, trainable=("head",), **changes):
    """(Result, Session) of two epochs."""
    session = npusim.Session(task.graph, trainable=trainable, threads=threads)
    settings = {"method": FIXED, "epochs": 2, "batch": 8, **changes}
    schedule = zo.Constant(3)
    return zo.train(session, task.train, task.validation, scheduler=schedule, **settings), session


def test_recalibration_is_refused():
    task = on_board(head_task(seed=1))
    with pytest.raises(ValueError) as caught:
        trained(task, method=zo.Method())
    assert str(caught.value) == (
        "train: scales cannot double under profile neural-art, whose rule neural_art has the "
        "coefficients of weighted operators frozen in the compiled stream; set recalibrate=False "
        "(--no-recalibration) and leave head-room"
    )


def test_recalibration_is_refused_where_one_node_is_on_neural_art():
    task = head_task(seed=1)
    for name in ("neural_art", "neural-art"):
        node = replace(task.graph.nodes[0], rule=name)
        with pytest.raises(ValueError, match="scales cannot double under profile neural-art"):
            trained(task._replace(graph=replace(task.graph, nodes=(node,))), method=zo.Method())


def test_head_with_a_profile_of_its_own_trains_as_under_that_profile():
    """Recalibrated, too: what is frozen on the accelerator stands before it."""
    plain = head_task(seed=1)
    node = replace(plain.graph.nodes[0], rule="tflm")
    hosted = on_board(plain._replace(graph=replace(plain.graph, nodes=(node,))))
    (_, expected), (_, actual) = (trained(task, method=zo.Method()) for task in (plain, hosted))
    assert np.array_equal(actual.weights["head"], expected.weights["head"])

    task = on_board(digits_task(40, 20))
    graph = with_rules(task.graph, {"fully_connected_0": "tflm"})
    before = npusim.Session(graph).graph.tensor("head").data
    _, session = trained(task._replace(graph=graph), method=zo.Method())
    assert not np.array_equal(session.weights["head"], before)


def test_training_a_bias_is_refused():
    task = on_board(head_task(seed=1))
    with pytest.raises(ValueError, match="under neural-art rounds by neural_art: its bias cannot "):
        trained(task, trainable=("head", "head/bias"))


def test_adaptation_is_refused():
    task = on_board(digits_task(20, 20))
    session = npusim.Session(task.graph, threads=1)
    images = task.train.images(np.arange(20))
    source = measure_statistics(session, images)
    with pytest.raises(ValueError) as caught:
        adapt(session, images, source)
    name = next(iter(source))
    assert str(caught.value) == (
        f"adapt: {name}: {session.graph.node(name).op} under neural-art rounds by neural_art: bias "
        "and multipliers cannot change, being coefficients frozen in the compiled stream; adapt "
        "under another profile and compile what comes of it"
    )


def test_network_adapted_under_another_profile_is_compiled_with_its_multipliers():
    plain = digits_task(200, 200)
    session = npusim.Session(plain.graph, threads=1)
    source = measure_statistics(session, ~plain.train.images(np.arange(200)))
    adapt(session, plain.train.images(np.arange(200)), source)
    adapted = session.snapshot()
    assert any("multiplier" in node.given for node in adapted.nodes)
    x = plain.validation.images()
    boards = [
        npusim.Session(replace(graph, profile="neural-art")).run(x)
        for graph in (adapted, plain.graph)
    ]
    expected = session.run(x).argmax(1)
    agreeing = [int((y.argmax(1) == expected).sum()) for y in boards]
    assert agreeing[0] >= 190
    assert agreeing[1] < 150


@pytest.mark.parametrize("exact", [False, True])
def test_same_bits_in_both_backends_on_any_threads_with_and_without_reuse(exact, monkeypatch):
    task = on_board(digits_task(48, 24))
    task = task._replace(graph=with_features(task.graph))
    method = replace(FIXED, exact_head=exact)
    found = set()
    for isa, threads, reuse in (("numpy", 1, True), ("portable", 1, False), ("portable", 2, True)):
        monkeypatch.setenv("NPUSIM_ISA", isa)
        result, session = trained(task, threads, method=method,
                                  reuse=zo.Reuse(prefix=reuse, signs=reuse))  # fmt: skip
        found.add((session.weights["head"].tobytes(), result.history[-1].accuracy))
    assert len(found) == 1
    before = task.graph.tensor("head").data
    assert not np.array_equal(session.weights["head"], before)


def test_pieces_count_in_training():
    """A head in many slabs of rounded partials is not the head in one: signs do not add up."""
    task = on_board(head_task(seed=5, images=64))
    node = task.graph.nodes[0].name
    codes = []
    for slabs in ([1] * 24, [24]):
        given = task._replace(graph=settle(task.graph, {node: {"slabs": slabs, "s0": 8}}))
        result, session = trained(given, epochs=4)
        codes.append(session.weights["head"].copy())
        assert result.graph.node(node).given["slabs"].tolist() == slabs
    assert not np.array_equal(*codes)


def test_trained_graph_keeps_parameters_and_outputs(tmp_path):
    task = on_board(head_task(seed=2))
    result, session = trained(task)
    npusim.save(result.graph, tmp_path / "m.h5")
    loaded = npusim.load(tmp_path / "m.h5")
    assert loaded.profile == "neural-art"
    assert labelled(loaded, loaded.nodes[0]) == labelled(session.graph, session.graph.nodes[0])
    x = task.validation.images()
    assert np.array_equal(npusim.Session(loaded).run(x), session.run(x))


def test_resumed_run_gives_the_same_bits(tmp_path):
    task = on_board(head_task(seed=3))
    path = tmp_path / "c.npz"
    _, whole = trained(task, epochs=4)

    def stop(epoch):
        if epoch.epoch == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trained(task, epochs=4, checkpoint=path, hooks=zo.Hooks(on_epoch=stop))
    result, resumed = trained(task, epochs=4, checkpoint=path, resume=True)
    assert len(result.history) == 5
    assert np.array_equal(resumed.weights["head"], whole.weights["head"])
