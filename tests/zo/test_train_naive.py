"""Training runs of a head, equal bit for bit to the same runs in Python integers."""

from fractions import Fraction

import numpy as np
import pytest
from naive import training as naive
from naive.rounding import quantize_multiplier
from training_tasks import (
    CLASSES,
    FEATURE_SCALE,
    FEATURE_ZERO_POINT,
    FEATURES,
    HEAD_STREAM,
    LOGIT_SCALE,
    WEIGHT_SCALES,
    head_task,
    run_to_end,
)

import zo

FC = "fully_connected_0"


class NaiveRun:
    """The same run with Python integers; the head's weights are all that is trained."""

    def __init__(self, task, seed, q, method):
        self.x = task.train.images().reshape(-1, FEATURES).tolist()
        self.labels = task.train.labels.tolist()
        self.q = q
        self.settings = naive.Settings(seed, method.k, 4, method.estimator, method.rule)
        codes = task.graph.tensor("head").data.reshape(-1).tolist()
        self.tensor = naive.Tensor(codes, CLASSES, FEATURES, HEAD_STREAM)
        scales = [float(np.float32(s)) for s in WEIGHT_SCALES]
        x_scale, self.scale = float(np.float32(FEATURE_SCALE)), float(np.float32(LOGIT_SCALE))
        pairs = [quantize_multiplier(x_scale * s / self.scale) for s in scales]
        bias = task.graph.tensor("head/bias").data.tolist()
        self.head = naive.Head(bias, [m for m, _ in pairs], [s for _, s in pairs],
                               FEATURE_ZERO_POINT)  # fmt: skip
        self.rates = [naive.pair(Fraction(method.lr) / (Fraction(s) ** 2 * 256)) for s in scales]

    def train(self, epochs, recalibrate):
        """Every whole batch of four of every epoch."""
        per_epoch = len(self.x) // 4
        for t in range(epochs * per_epoch):
            epoch, i = divmod(t, per_epoch)
            rows = naive.shuffle(self.settings.seed, epoch, len(self.x))[4 * i : 4 * i + 4]
            self.step(rows, t, epochs * per_epoch)
            if recalibrate and i == per_epoch - 1 and epoch + 1 < epochs:
                naive.recalibrate(self.tensor, self.head.bias, self.head.shift,
                                  self.settings.k, True)  # fmt: skip

    def step(self, rows, t, steps):
        x, labels = [self.x[row] for row in rows], [self.labels[row] for row in rows]

        def evaluate():
            return naive.cross_entropy(self.head.logits(x, self.tensor.codes), labels, self.scale)

        rates = [naive.decayed(rate, t, steps) for rate in self.rates]
        naive.training_step([self.tensor], evaluate, self.settings, t, self.q, [rates])


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize(
    ("estimator", "rule", "q", "k", "recalibrate"),
    [
        ("one_sided", "error_feedback", 3, 2, False),
        ("one_sided", "error_feedback", 2, 1, True),
        ("centred", "stochastic", 4, 1, False),
        ("central", "nearest", 2, 3, False),
        ("one_sided", "sign", 1, 1, False),
        ("sign", "threshold", 3, 1, False),
        ("hadamard", "error_feedback", 5, 1, True),
    ],
)
def test_training_matches_naive_at_the_rails(estimator, rule, q, k, recalibrate, tmp_path):
    task = head_task(seed=q, rail=127 - k, images=20)
    assert np.mean(np.abs(task.graph.tensor("head").data) == 127 - k) > 0.7
    method = zo.Method(estimator=estimator, rule=rule, k=k, lr=0.002, recalibrate=recalibrate)
    expected = NaiveRun(task, 2**33 + 5, q, method)
    expected.train(4, recalibrate)
    _, session = run_to_end(task, zo.Constant(q), method=method, seed=2**33 + 5, batch=4, epochs=4,
                            checkpoint=tmp_path / "run.npz")  # fmt: skip
    assert session.weights["head"].reshape(-1).tolist() == expected.tensor.codes
    assert session.biases[FC].tolist() == expected.head.bias
    assert session.requantization[FC].shift.tolist() == expected.head.shift
    assert any(expected.tensor.doublings) == recalibrate
    with np.load(tmp_path / "run.npz") as state:
        assert state["head:momentum"].tolist() == expected.tensor.momentum
        assert state["head:doublings"].tolist() == expected.tensor.doublings
        if rule == "error_feedback":
            assert state["head:residual"].tolist() == expected.tensor.residual


@pytest.mark.usefixtures("isa")
def test_exact_head_matches_naive():
    task = head_task(seed=9, rail=126, images=20)
    method = zo.Method(exact_head=True, lr=0.01, recalibrate=False)
    naive_run = NaiveRun(task, 7, 0, method)
    tensor, head = naive_run.tensor, naive_run.head
    step = Fraction(float(np.float32(FEATURE_SCALE))) * 256 / 4
    factors = [naive.pair(step * Fraction(float(np.float32(s)))) for s in WEIGHT_SCALES]
    for t in range(20):
        rows = naive.shuffle(7, t // 5, 20)[t % 5 * 4 : t % 5 * 4 + 4]
        x, labels = [naive_run.x[r] for r in rows], [naive_run.labels[r] for r in rows]
        error = naive.head_error(head.logits(x, tensor.codes), labels, naive_run.scale)
        gradient = naive.head_gradient(error, x, FEATURE_ZERO_POINT)
        factor = [factors[tensor.channel(n)] for n in range(len(gradient))]
        scaled = [naive.rs(g * m, s) for g, (m, s) in zip(gradient, factor, strict=True)]
        rates = [naive.decayed(rate, t, 20) for rate in naive_run.rates]
        naive.update(tensor, scaled, rates, naive_run.settings, t)
    _, session = run_to_end(task, zo.Constant(4), method=method, seed=7, batch=4, epochs=4)
    assert session.weights["head"].reshape(-1).tolist() == tensor.codes
