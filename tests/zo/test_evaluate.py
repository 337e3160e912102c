"""Evaluation: sums over all images, whatever their number."""

import numpy as np
import pytest
from naive import training as naive
from training_tasks import LOGIT_SCALE, head_task

import zo
from npusim import Session
from zo.batch import Source
from zo.classifier import find_classifier
from zo.evaluate import evaluate
from zo.loss import cross_entropy_loss

pytestmark = pytest.mark.usefixtures("isa")


def test_evaluation_sums_over_all_images():
    task, calls = head_task(seed=6, rail=127, images=300), []
    session = Session(task.graph, threads=1)
    source = Source(session, task.train, find_classifier(task.graph), zo.Reuse())
    found = evaluate(source, cross_entropy_loss(LOGIT_SCALE, 5), lambda *done: calls.append(done))
    logits, labels = session.run(task.train.images()).tolist(), task.train.labels.tolist()
    right = [row.index(max(row)) == label for row, label in zip(logits, labels, strict=True)]
    assert (found.correct, found.total) == (sum(right), 300)
    assert found.loss == naive.cross_entropy(logits, labels, LOGIT_SCALE)
    codes = [code for row in logits for code in row]
    assert (found.at_rail, found.entries) == (codes.count(-128) + codes.count(127), 1500)
    assert 0 < codes.count(-128) < found.at_rail
    assert found.accuracy == np.mean(right)
    assert calls == [(256, 300), (300, 300)]
