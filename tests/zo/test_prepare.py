"""Before the first step: what is refused, and codes that leave no room for perturbations."""

from dataclasses import replace

import numpy as np
import pytest
from graphs import Draft
from training_tasks import CLASSES, digits_task, head_task, run_to_end

import zo
from npusim import ModelError, Session
from zo.data import in_memory


def test_saturating_perturbation_clips_no_code_at_the_start():
    task = head_task(seed=3, rail=127)
    tiny = zo.Method(perturbation="saturate", k=5, lr=1e-12, recalibrate=False)
    result, session = run_to_end(task, zo.Constant(2), epochs=1, batch=8, method=tiny)
    assert np.array_equal(session.weights["head"], task.graph.tensor("head").data)
    assert result.moved == {}


def test_codes_outside_the_rails_are_clipped_and_counted():
    task = head_task(seed=3, rail=127)
    outside = int(np.count_nonzero(np.abs(task.graph.tensor("head").data.astype(int)) > 125))
    result, session = run_to_end(task, zo.Constant(2), epochs=1, batch=8,
                                 method=zo.Method(k=2, lr=1e-12, recalibrate=False))  # fmt: skip
    assert result.moved == {"head": outside}
    assert outside > 0
    assert np.abs(session.weights["head"]).max() == 125


def test_train_rejects_what_cannot_work():
    task = head_task(seed=1)
    few = task.train.take(np.arange(5))
    with pytest.raises(ValueError, match="session must have trainable tensors, got none"):
        run_to_end(task, None, trainable=(), batch=8)
    with pytest.raises(ValueError, match="must have a batch of 64 images at least, got 5"):
        run_to_end(task._replace(train=few), None)
    with pytest.raises(ValueError, match="exact_head needs the head's weights or bias among"):
        run_to_end(digits_task(), None, trainable=("stem",), method=zo.Method(exact_head=True))
    with pytest.raises(ValueError, match=r"needs the head's input .*with_features\(graph\)"):
        run_to_end(digits_task(), None, trainable=("stem", "head"),
                   method=zo.Method(exact_head=True))  # fmt: skip
    with pytest.raises(ValueError, match=r"sum of \|c\| must stay below 2\^46"):
        run_to_end(task, zo.Constant(2**20), batch=16)
    with pytest.raises(ValueError, match=r"lr must name trained tensors \(head\), got 'stem'"):
        run_to_end(task, None, batch=8, method=zo.Method(lr={"stem": 0.1}))
    with pytest.raises(TypeError, match="epoch"):
        run_to_end(task, None, epoch=5)


def test_train_rejects_tensors_with_two_readers():
    draft = Draft(1)
    x = draft.input((1, 24))
    first = draft.fully_connected(x, 24)
    graph = draft.graph(draft.fully_connected(first, 24))
    nodes = (graph.nodes[0], replace(graph.nodes[1], inputs=(first, *graph.nodes[0].inputs[1:])))
    session = Session(replace(graph, nodes=nodes), trainable=["fully_connected_0"], threads=1)
    data = in_memory("x", np.zeros((8, 24, 1, 1), np.int8), np.zeros(8, np.int64))
    with pytest.raises(ValueError, match="must be read by one node, got fully_connected_0, fully"):
        zo.train(session, data, data, batch=8)


def test_refused_runs_change_no_code():
    task = head_task(seed=3, rail=127)
    session = Session(task.graph, trainable=["head"], threads=1)
    with pytest.raises(ValueError, match="must stay below"):
        zo.train(session, task.train, task.validation, scheduler=zo.Constant(2**20), batch=16)
    assert np.array_equal(session.weights["head"], task.graph.tensor("head").data)


def test_train_rejects_labels_the_head_does_not_know():
    task = head_task(seed=1)
    images = task.train.images()
    wrong = in_memory("wrong", images, np.arange(len(images)) % 7)
    with pytest.raises(ValueError, match=r"wrong: labels must be 0\.\.4 for this head, got 6"):
        run_to_end(task._replace(train=wrong), None, batch=8)


def test_train_rejects_graphs_that_do_not_end_at_logits():
    task = head_task(seed=1)
    tensors = tuple(replace(t, dtype="int8") for t in task.graph.tensors)
    softmax = replace(tensors[3], name="p", shape=(1, CLASSES),
                      quantization=probabilities(tensors[3]))  # fmt: skip
    node = type(task.graph.nodes[0])("softmax", "softmax_0", (3,), (4,), {"beta": 1.0})
    graph = replace(task.graph, tensors=(*task.graph.tensors, softmax),
                    nodes=(*task.graph.nodes, node), outputs=(4,))  # fmt: skip
    with pytest.raises(ModelError, match=r"must end at the int8 logits of fully_conn.*, got p"):
        run_to_end(task._replace(graph=graph), None, batch=8)


def probabilities(tensor):
    return replace(tensor.quantization, scale=np.array([1 / 256]), zero_point=np.array([-128]))
