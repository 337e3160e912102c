"""Integer losses: the logarithm's error, tables, equality with naive, bounds and refusals."""

import math
import re

import numba
import numpy as np
import pytest
from naive import training as naive

from zo import loss
from zo.kernels import loss as kernels

pytestmark = pytest.mark.usefixtures("isa")


def random_batch(classes, batch, seed=0, spread=128):
    random = np.random.default_rng(seed)
    logits = random.integers(-spread, spread, (batch, classes)).astype(np.int8)
    return logits, random.integers(0, classes, batch)


@numba.njit
def compiled_logarithms(v, table, out):
    for i in range(v.size):
        out[i] = kernels.ln_q16(v[i], table)


def logarithms(v, isa):
    """ln_q16 of every v, by either version."""
    if isa == "numpy":
        return loss.ln_q16(v)
    out = np.empty_like(v)
    compiled_logarithms(v, loss.log_table(), out)
    return out


def test_ln_q16_error_is_bounded_for_every_sum_of_ten_classes(isa):
    # Every v in 2^20 .. 10*2^20 against the host's long double: error in units of 2^-16.
    if np.finfo(np.longdouble).nmant < 63:
        pytest.skip("the reference needs a long double of at least 64 bits")
    lowest, highest = 0.0, 0.0
    for start in range(1 << 20, 10 << 20, 1 << 20):
        v = np.arange(start, start + (1 << 20) + 1)
        exact = np.log(v.astype(np.longdouble) / (1 << 20)) * 65536
        error = logarithms(v, isa) - exact
        lowest, highest = min(lowest, float(error.min())), max(highest, float(error.max()))

    assert f"{lowest:.3f} {highest:+.3f}" == "-0.622 +0.504"


def test_ln_q16_matches_naive_up_to_the_largest_sum(isa):
    random = np.random.default_rng(1)
    exponents = random.uniform(20, 31, 2000)
    values = np.concatenate([(2.0**exponents).astype(np.int64), 2 ** np.arange(20, 31),
                             2 ** np.arange(21, 32) - 1])  # fmt: skip

    actual = logarithms(values, isa)

    assert actual.tolist() == [naive.ln_q16(v) for v in values.tolist()]


def test_log_table_has_no_entry_near_a_tie():
    # So any library's logarithm builds the same table.
    exact = np.log1p(np.arange(257) / 256) * 2**24
    assert (np.abs(exact - np.floor(exact) - 0.5) > 1e-4).all()
    assert loss.log_table().tolist() == np.floor(exact + 0.5).astype(int).tolist()
    assert math.floor(2**24 * math.log(2) + 0.5) == loss.LN2_Q24


@pytest.mark.parametrize("scale", [2.0**-17, 0.0039, 0.081, 0.5, 1.9999])
def test_tables_match_naive(scale):
    scale = float(np.float32(scale))
    tables = loss.cross_entropy_loss(scale, 10).tables

    for e in range(loss.EXPONENTS):
        steps = [scale * 2**e * d for d in range(256)]
        assert tables.exp[e].tolist() == [naive.exp_q20(x) for x in steps]
        assert tables.loss[e].tolist() == [math.floor(65536 * x + 0.5) for x in steps]


@pytest.mark.parametrize(("scale", "classes"), [(0.05, 2), (0.081, 10), (0.3, 33), (1.5, 100)])
def test_cross_entropy_matches_naive(scale, classes):
    logits, labels = random_batch(classes, 24, classes)
    measure = loss.cross_entropy_loss(scale, classes)

    actual = measure(logits, labels)

    assert type(actual) is int
    assert actual == naive.cross_entropy(logits.tolist(), labels.tolist(), scale)


def test_cross_entropy_matches_naive_after_each_doubling():
    logits, labels = random_batch(10, 8)
    measure = loss.cross_entropy_loss(0.02, 10)
    for exponent in range(7):
        assert measure.exponent == exponent
        expected = naive.cross_entropy(logits.tolist(), labels.tolist(), 0.02 * 2**exponent)
        assert measure(logits, labels) == expected
        measure = measure.doubled() if exponent < 6 else measure
    with pytest.raises(ValueError, match="loss: the logit scale must double 6 times at most"):
        measure.doubled()


def test_cross_entropy_is_near_the_real_one():
    logits, labels = random_batch(10, 64)
    real = logits * 0.081
    shifted = real - real.max(axis=1, keepdims=True)
    exact = np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(64), labels]

    actual = loss.cross_entropy_loss(0.081, 10)(logits, labels)

    # Per image: 0.5 from T, 0.63 from ln_q16, 10/2 * 2^-4 from E, in units of 2^-16.
    assert abs(actual - exact.sum() * 65536) < 64 * (0.5 + 0.63 + 0.32)


def test_many_samples_equal_one_by_one():
    measure = loss.cross_entropy_loss(0.1, 7)
    outputs = np.stack([random_batch(7, 12, seed)[0] for seed in range(5)])
    labels = random_batch(7, 12)[1]

    together = loss.each(measure, outputs, labels)

    assert together.tolist() == [measure(sample, labels) for sample in outputs]


@pytest.mark.parametrize("scale", [0.004, 0.08, 1.99])
def test_every_pair_of_logits_lies_within_the_bound(scale):
    codes = np.arange(-128, 128)
    pairs = np.stack(np.meshgrid(codes, codes), axis=-1).reshape(-1, 1, 2).astype(np.int8)
    measure = loss.cross_entropy_loss(scale, 2)

    values = measure.each(pairs, np.zeros(1, np.int64))

    assert values.min() >= 0
    assert values.max() <= measure.bound(1) <= values.max() + 45500  # ln 2 in 2^-16 is 45426
    assert measure.bound(64) == 64 * measure.bound(1)


def test_cross_entropy_holds_the_most_classes_and_the_largest_scale():
    measure = loss.cross_entropy_loss(np.nextafter(2.0, 0), 2047)
    equal = np.zeros((3, 2047), np.int8)
    labels = np.array([0, 1000, 2046])

    assert measure(equal, labels) == 3 * naive.ln_q16(2047 << 20)
    assert int(measure.tables.loss[6][255]) == 65536 * 2 * 64 * 255
    assert 2047 << 20 < 2**31


@pytest.mark.parametrize(
    ("scale", "classes", "message"),
    [
        (0.1, 2048, "head/logits: cross-entropy takes 1..2047 classes, got 2048"),
        (0.1, 0, "head/logits: cross-entropy takes 1..2047 classes, got 0"),
        (2.0, 10, "head/logits: scale must be above 0 and below 2.0 for cross-entropy, got 2.0; "
                  "requantise the logits"),
        (0.0, 10, "got 0.0"),
        (float("nan"), 10, "got nan"),
    ],
)  # fmt: skip
def test_cross_entropy_rejects_graphs_by_name(scale, classes, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        loss.cross_entropy_loss(scale, classes, "head/logits")


def test_cross_entropy_rejects_labels_and_shapes():
    measure = loss.cross_entropy_loss(0.1, 10)
    logits, labels = random_batch(10, 4)
    for wrong in (10, -1):
        labels[2] = wrong
        with pytest.raises(ValueError, match=f"labels: must be 0..9, got {wrong}"):
            measure(logits, labels)
    with pytest.raises(TypeError, match=r"labels: must be int64 \(batch,\), got int32 \(4,\)"):
        measure(logits, labels.astype(np.int32))
    with pytest.raises(ValueError, match=r"logits must be int8 \(4, 10\), got int8 \(4, 9\)"):
        measure(logits[:, :9], np.zeros(4, np.int64))


@pytest.mark.parametrize(("scale", "outputs"), [(0.05, 1), (0.9, 3), (1.0, 1), (12.0, 4)])
def test_squared_error_matches_naive(scale, outputs):
    random = np.random.default_rng(3)
    y, codes = (random.integers(-128, 128, (n, outputs)).astype(np.int8) for n in (16, 5))
    labels = random.integers(0, 5, 16)
    measure = loss.squared_error_loss(scale, codes)
    rows = zip(y.tolist(), labels.tolist(), strict=True)
    total = sum((a - t) ** 2 for row, label in rows
                for a, t in zip(row, codes[label].tolist(), strict=True))  # fmt: skip

    actual = measure(y, labels)

    multiplier, shift = naive.pair(65536 * naive.Fraction(scale) ** 2 / outputs)
    assert actual == naive.rs(total * multiplier, shift)
    assert abs(actual / 65536 - total * scale**2 / outputs) < 1e-4 * total * scale**2 / outputs
    assert 0 <= actual <= measure.bound(16)


def test_squared_error_reaches_its_bound():
    measure = loss.squared_error_loss(0.3, np.full((1, 3), -128, np.int8))

    assert measure(np.full((4, 3), 127, np.int8), np.zeros(4, np.int64)) == measure.bound(4)


def test_squared_error_rejects_what_does_not_fit():
    measure = loss.squared_error_loss(0.1, np.zeros((2, 3), np.int8))
    with pytest.raises(ValueError, match=r"outputs must be int8 \(4, 3\), got int8 \(4, 2\)"):
        measure(np.zeros((4, 2), np.int8), np.zeros(4, np.int64))
    with pytest.raises(ValueError, match=r"labels: must be 0\.\.1, got 2"):
        measure(np.zeros((1, 3), np.int8), np.array([2]))
    with pytest.raises(TypeError, match=r"codes must be int8 \(rows, outputs\), got int64 \(2,\)"):
        loss.squared_error_loss(0.1, np.zeros(2, np.int64))


def test_error_count_takes_the_lowest_of_equal_logits():
    logits = np.array([[5, 5, 1], [5, 5, 1], [0, 1, 2], [3, 2, 3]], np.int8)
    labels = np.array([0, 1, 2, 0])
    measure = loss.ErrorCount(3)

    assert measure(logits, labels) == 65536
    assert measure.bound(4) == 4 * 65536


def test_user_loss_returns_what_was_declared():
    def misses(outputs, targets):
        return np.int64((outputs[:, 0] != targets).sum())

    measure = loss.UserLoss(misses, per_image=1)
    outputs = np.array([[1], [2], [3]], np.int8)

    assert loss.each(measure, outputs[None], np.array([1, 0, 0])).tolist() == [2]
    assert measure.bound(3) == 3


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (0.5, TypeError, "grade: must return an integer, got float"),
        (True, TypeError, "grade: must return an integer, got bool"),
        (7, ValueError, "grade: must lie in 0..6 as declared, got 7"),
        (-1, ValueError, "grade: must lie in 0..6 as declared, got -1"),
    ],
)
def test_user_loss_rejects_what_was_not_declared(value, error, message):
    def grade(outputs, targets):
        return value

    with pytest.raises(error, match=message):
        loss.UserLoss(grade, per_image=2)(np.zeros((3, 1), np.int8), None)
