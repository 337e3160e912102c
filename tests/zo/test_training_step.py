"""Whole training steps of an int8 head, put together from the pieces of zo, against naive."""

import numpy as np
import pytest
from naive import training as naive
from naive.rounding import quantize_multiplier

from zo import estimate, loss, perturb, prng, rate, recalibrate, update

pytestmark = pytest.mark.usefixtures("isa")

CLASSES, INPUTS, BATCH, IMAGES = 4, 40, 6, 30
SCALES = [0.002, 0.003, 0.0015, 0.004]
INPUT_SCALE, LOGIT_SCALE = 0.03, 0.04


class Run:
    """One random task, and a head most of whose codes lie at a rail."""

    def __init__(self, seed, q, k, estimator, rule):
        random = np.random.default_rng(seed)
        self.seed, self.q, self.k, self.estimator = 2**40 + seed, q, k, estimator
        self.rule = update.UpdateRule(rule, perturb.rails(k))
        lo, hi = self.rule.rails
        codes = np.where(random.random((CLASSES, INPUTS)) < 0.8,
                         random.choice([lo, hi], (CLASSES, INPUTS)),
                         random.integers(lo, hi + 1, (CLASSES, INPUTS)))  # fmt: skip
        self.codes = codes.astype(np.int8)
        self.x = random.integers(-128, 128, (IMAGES, INPUTS)).astype(np.int8)
        self.labels = random.integers(0, CLASSES, IMAGES)
        self.bias = random.integers(-3000, 3000, CLASSES).astype(np.int32)
        pairs = [quantize_multiplier(INPUT_SCALE * s / LOGIT_SCALE) for s in SCALES]
        self.multiplier = [m for m, _ in pairs]
        self.shift = np.array([s for _, s in pairs], np.int32)
        self.lr = float(random.choice([1e-3, 1e-2]))

    def logits(self, rows):
        """Logits of some images, by the naive head: the forward is not what is tested here."""
        head = naive.Head(self.bias.tolist(), self.multiplier, self.shift.tolist(), -128)
        return head.logits(self.x[rows].tolist(), self.codes.reshape(-1).tolist())


def train(run, steps):
    """The pieces of zo in the order of a training loop."""
    measure = loss.cross_entropy_loss(LOGIT_SCALE, CLASSES)
    estimate.check_range(run.estimator, run.q, measure.bound(BATCH))
    state = update.new_state(run.codes, CLASSES, INPUTS, run.rule)
    rates = rate.LearningRate(run.lr).rates(SCALES, (run.q,), 4, steps)
    order = prng.shuffle(run.seed, 0, IMAGES)
    for t in range(steps):
        rows = order[t % 5 * BATCH : t % 5 * BATCH + BATCH]
        labels = run.labels[rows]

        def value(rows=rows, labels=labels):
            return measure(np.array(run.logits(rows), np.int8), labels)

        found = perturbed_losses(run, prng.sign_stream(run.seed, t, 3), value)
        gradient = np.zeros(state.codes.size, np.int64)
        estimate.accumulate(gradient, found.c, prng.sign_stream(run.seed, t, 3))
        scale = update.gradient_scale(found.den, CLASSES)
        stream = prng.rounding_stream(run.seed, t, 3)
        update.update(state, gradient, scale, rates.at(run.q, t), run.rule, stream)
        if t % 2:
            recalibrate.recalibrate_weights(state, run.bias, run.shift, run.rule.rails)
    return state


def perturbed_losses(run, stream, value):
    """Losses around the present codes, which come back unchanged."""
    base, plus, minus = value(), [], []
    if run.estimator == "central":
        for sample in range(run.q):
            for k, values in ((run.k, plus), (-run.k, minus)):
                perturb.perturb(run.codes, k, stream, sample)
                values.append(value())
                perturb.restore(run.codes, k, stream, sample)
        return estimate.central(np.array(plus), np.array(minus), run.k, BATCH)
    perturb.perturb(run.codes, run.k, stream, 0)
    for sample in range(run.q):
        plus.append(value())
        if sample + 1 < run.q:
            perturb.advance(run.codes, run.k, stream, sample)
    perturb.restore(run.codes, run.k, stream, run.q - 1)
    return getattr(estimate, run.estimator)(base, np.array(plus), run.k, BATCH)


def train_naively(run, steps):
    """The same run by tests/naive/training.py alone."""
    tensor = naive.Tensor(run.codes.reshape(-1).tolist(), CLASSES, INPUTS, 3)
    settings = naive.Settings(run.seed, run.k, BATCH, run.estimator, run.rule.name)
    bias, shift = run.bias.tolist(), run.shift.tolist()
    real = [naive.Fraction(run.lr) * run.q / 4 / naive.Fraction(s) ** 2 / 256 for s in SCALES]
    pairs = [naive.pair(x) for x in real]
    order = naive.shuffle(run.seed, 0, IMAGES)
    for t in range(steps):
        rows = order[t % 5 * BATCH : t % 5 * BATCH + BATCH]
        x, labels = run.x[rows].tolist(), run.labels[rows].tolist()
        head = naive.Head(bias, run.multiplier, shift, -128)

        def value(head=head, x=x, labels=labels):
            return naive.cross_entropy(head.logits(x, tensor.codes), labels, LOGIT_SCALE)

        rates = [naive.decayed(pair, t, steps) for pair in pairs]
        naive.training_step([tensor], value, settings, t, run.q, [rates])
        if t % 2:
            keeps = run.rule.name == "error_feedback"
            naive.recalibrate(tensor, bias, shift, run.k, keeps)
    return tensor, bias, shift


@pytest.mark.parametrize("seed", range(12))
def test_training_matches_naive(seed):
    random = np.random.default_rng(100 + seed)
    estimator = estimate.ESTIMATORS[seed % 4]
    q, k = int(random.integers(2 if seed % 4 == 1 else 1, 10)), int(random.integers(1, 7))
    rule = update.RULES[seed % 5] if seed % 2 else "error_feedback"
    run, again = Run(seed, q, k, estimator, rule), Run(seed, q, k, estimator, rule)

    state = train(run, 4)
    tensor, bias, shift = train_naively(again, 4)

    assert state.codes.tolist() == tensor.codes
    assert state.momentum.tolist() == tensor.momentum
    assert not state.residual.size or state.residual.tolist() == tensor.residual
    assert state.doublings.tolist() == tensor.doublings
    assert (run.bias.tolist(), run.shift.tolist()) == (bias, shift)
    assert (state.codes != again.codes.reshape(-1)).any()
    assert state.doublings.any()
