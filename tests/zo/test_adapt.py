"""Channel statistics and their matching: against the naive twin, and on the digit reader."""

from dataclasses import replace

import numpy as np
import pytest
from naive import adapt as naive

import npusim
from npusim import models
from zo.adapt import Scales, adapt, match_channels
from zo.moments import (
    DEVIATION,
    MAX_CELLS,
    MEAN,
    Moments,
    add_sums,
    channel_moments,
    matched_nodes,
    measure_statistics,
    square_root,
    store_statistics,
    stored_statistics,
)

SEED = 20261130


@pytest.fixture(scope="module")
def data():
    return models.digits()


@pytest.fixture(scope="module")
def source(data):
    session = npusim.Session(models.digits_cnn(), threads=1)
    return measure_statistics(session, models.to_int8(data.train.images))


@pytest.fixture
def session():
    return npusim.Session(models.digits_cnn(), threads=1)


def right_answers(session, images, labels):
    return int((session.run(models.to_int8(images)).argmax(1) == labels).sum())


def scales_of(session, name):
    r = session.requantization[name]
    return Scales(session.biases[name], r.multiplier, r.shift)


def all_scales(session):
    return {name: [v.tolist() for v in scales_of(session, name)] for name in session.biases}


def columns(y, zero_point):
    """Differences to the zero point as lists of Python ints, one list per channel."""
    return (y.reshape(-1, y.shape[-1]).astype(int) - zero_point).T.tolist()


def naive_adapt(session, images, source):
    """What `adapt` does, channel by channel in Python integers."""
    for name, moments in source.items():
        tensor = session.graph.tensors[session.graph.node(name).outputs[0]].name
        y = dict(session.trace(images))[tensor]
        layer = scales_of(session, name)
        for c, differences in enumerate(columns(y, session.requantization[name].zero_point)):
            expected = (int(moments.mean[c]), int(moments.deviation[c]))
            before = tuple(int(v[c]) for v in layer)
            after = naive.match(before, expected, naive.moments(differences))
            for values, value in zip(layer, after, strict=True):
                values[c] = value


def test_square_root_matches_naive():
    random = np.random.default_rng(SEED)
    roots = random.integers(0, 2**31, 500)
    squares = np.concatenate([roots**2, np.maximum(roots**2 - 1, 0), roots**2 + 2 * roots])
    values = np.concatenate([squares, [0, 1, 2, 3, 4, 2**62 - 1]])
    assert square_root(values).tolist() == [naive.math.isqrt(int(v)) for v in values]


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize(("dtype", "zero_point"), [("int8", -128), ("int8", 127), ("uint8", 3)])
def test_add_sums_matches_naive(dtype, zero_point):
    limits = np.iinfo(dtype)
    values = np.random.default_rng(SEED).integers(limits.min, limits.max + 1, (300, 7), dtype)
    values[:, 0], values[:, 1] = limits.min, limits.max
    sums = np.arange(14).reshape(2, 7)
    columns_of_d = columns(values, zero_point)
    expected = [[c + sum(d) for c, d in enumerate(columns_of_d)],
                [7 + c + sum(v * v for v in d) for c, d in enumerate(columns_of_d)]]  # fmt: skip
    add_sums(values, zero_point, sums)
    assert sums.tolist() == expected


def test_channel_moments_matches_naive():
    random = np.random.default_rng(SEED)
    for count in (1, 2, 3, 16, 100, 4800):
        spread = random.integers(0, 256, 40)
        d = random.integers(-spread, spread + 1, (count, 40))
        d[:, 0], d[:, 1], d[:, 2] = 255, -255, np.arange(count) % 2 * 255
        moments = channel_moments(count, d.sum(0), (d * d).sum(0))
        actual = list(zip(*(v.tolist() for v in moments), strict=True))
        assert actual == [naive.moments(column) for column in d.T.tolist()]


def test_channel_moments_matches_naive_at_limits():
    n = MAX_CELLS
    halves = [0, 1, n // 2, n - 1, n]  # so many values are 255, the others 0 or -255
    for low in (0, -255):
        total = np.array([255 * h + low * (n - h) for h in halves])
        squares = np.array([255**2 * h + low**2 * (n - h) for h in halves])
        moments = channel_moments(n, total, squares)
        pairs = zip(total.tolist(), squares.tolist(), strict=True)
        expected = [naive.deviation(n, t, s) for t, s in pairs]
        assert moments.deviation.tolist() == expected
        assert moments.mean.tolist() == [naive.nearest(t * 2**16, n) for t in total.tolist()]


def test_channel_moments_rejects_counts():
    zero = np.zeros(1, np.int64)
    with pytest.raises(ValueError, match=r"must show 1\.\.8388607 values, got 0; give some"):
        channel_moments(0, zero, zero)
    with pytest.raises(ValueError, match=r"conv2d_0: .* got 8388608; give fewer images"):
        channel_moments(MAX_CELLS + 1, zero, zero, where="conv2d_0")


def test_match_channels_matches_naive():
    """Random layers, with multipliers, shifts, biases and moments up to every limit."""
    random = np.random.default_rng(SEED)
    count = 4000
    bias = random.integers(-(2**31), 2**31, count) >> random.integers(0, 31, count)
    multiplier = random.integers(0, 2**31, count) >> random.choice([0, 0, 0, 10, 30, 31], count)
    multiplier[:8] = [0, 1, 2**30, 2**31 - 1, 2**31 - 1, 2**30, 2**29, 1]
    shift = random.integers(-31, 32, count)
    deviations = random.integers(0, 2**23, (2, count)) >> random.integers(0, 12, (2, count))
    deviations[:, 8:12] = [[2**15, 2**15 - 1, 2**15, 2**23], [2**15, 2**15, 2**15 - 1, 2**15]]
    means = random.integers(-255 * 2**16, 255 * 2**16 + 1, (2, count))
    layer = Scales(*(v.astype(np.int32) for v in (bias, multiplier, shift)))
    source, target = (
        Moments(m.astype(np.int32), d.astype(np.int32))
        for m, d in zip(means, deviations, strict=True)
    )
    before = list(zip(*(v.tolist() for v in layer), strict=True))
    moments = [list(zip(*(v.tolist() for v in m), strict=True)) for m in (source, target)]
    expected = [naive.match(*one) for one in zip(before, *moments, strict=True)]
    changed = match_channels(layer, source, target)
    assert list(zip(*(v.tolist() for v in layer), strict=True)) == expected
    # a channel may be matched to what it was already, so `changed` counts at least the different
    different = sum(b != e for b, e in zip(before, expected, strict=True))
    assert count // 8 < different <= changed < count


def test_match_channels_carries_into_the_shift():
    """1.5 * 1431655765 is 2^31 - 1/2, which rounds to a multiplier that needs one more bit."""
    layer = Scales(*(np.array([v], np.int32) for v in (100, 1431655765, -9)))
    zero = np.zeros(1, np.int32)
    source, target = (Moments(zero, np.array([d], np.int32)) for d in (3 << 15, 1 << 16))
    assert match_channels(layer, source, target) == 1
    assert [int(v[0]) for v in layer] == [100, 2**30, -8]
    assert naive.match((100, 1431655765, -9), (0, 3 << 15), (0, 1 << 16)) == (100, 2**30, -8)


def test_match_channels_stops_at_the_shifts_limits():
    """Twice, one and half the deviation, from the least and the greatest shift there are."""
    shift = np.array([-31, -31, -31, 31, 31, 31, -30, 30], np.int32)
    layer = Scales(np.zeros(8, np.int32), np.full(8, 2**30, np.int32), shift)
    zeros, one = np.zeros(8, np.int32), np.full(8, 1 << 16, np.int32)
    source = Moments(zeros, np.array([2, 4, 1, 2, 4, 1, 1, 4], np.int32) << 15)
    assert match_channels(layer, source, Moments(zeros, one)) == 6
    assert shift.tolist() == [-31, -30, -31, 31, 31, 30, -31, 31]


def test_match_channels_leaves_equal_moments_alone():
    layer = Scales(*(np.array(v, np.int32) for v in ([-7, 9], [2**30, 2**31 - 1], [-9, -3])))
    moments = Moments(np.array([70000, -5], np.int32), np.array([2**15, 2**20], np.int32))
    before = [v.tolist() for v in layer]
    match_channels(layer, moments, moments)
    assert [v.tolist() for v in layer] == before


def test_adapt_matches_naive(session, source, data):
    images = models.to_int8(models.low_contrast(data.validation.images[:40]))
    twin = npusim.Session(models.digits_cnn(), threads=1)
    untouched = all_scales(twin)
    naive_adapt(twin, images, source)
    adapt(session, images, source)
    assert all_scales(session) == all_scales(twin)
    assert all_scales(session) != untouched


def test_adapt_brings_back_low_contrast(session, source, data):
    """No label is used, and the images adapted to are not those tested."""
    images = models.low_contrast(data.test.images)
    before = right_answers(session, images, data.test.labels)
    result = adapt(session, models.to_int8(models.low_contrast(data.validation.images)), source)
    after = right_answers(session, images, data.test.labels)
    assert (before, after) == (193, 435)
    assert result.forwards == 4 * 270
    assert result.channels == {
        "conv2d_0": 24, "conv2d_1": 48, "depthwise_conv2d_0": 48, "conv2d_2": 64
    }  # fmt: skip


def test_adapt_is_reproducible(source, data, monkeypatch):
    images = models.to_int8(models.moved(data.validation.images))
    results = []
    for isa, threads in (("numpy", 1), ("portable", 1), ("portable", 2)):
        monkeypatch.setenv("NPUSIM_ISA", isa)
        session = npusim.Session(models.digits_cnn(), threads=threads)
        adapt(session, images, source)
        results.append(all_scales(session))
    assert results[0] == results[1] == results[2]


def test_adapt_runs_each_layer_twice(session, source, data, monkeypatch):
    images, run, prefix = models.to_int8(data.validation.images[:100]), [], session.prefix

    def counted(x, until):
        behind = prefix(x, until)
        run.append(len(behind) * (behind.nodes - getattr(x, "nodes", 0)))
        return behind

    monkeypatch.setattr(session, "prefix", counted)
    adapt(session, images, source)
    assert sum(run) == 2 * 100 * len(source)


def test_adapt_leaves_the_classifier_alone(session, source, data):
    before = [v.tolist() for v in scales_of(session, "fully_connected_0")]
    adapt(session, models.to_int8(models.low_contrast(data.validation.images)), source)
    assert [v.tolist() for v in scales_of(session, "fully_connected_0")] == before


def test_adapt_rejects_missing_statistics(session, data):
    with pytest.raises(ValueError, match="adapt: graph digits_cnn must hold statistics"):
        adapt(session, models.to_int8(data.validation.images))


def test_adapt_rejects_statistics_of_another_graph(session, source, data):
    images = models.to_int8(data.validation.images[:4])
    with pytest.raises(ValueError, match="must be of nodes of graph digits_cnn, got 'conv2d_9'"):
        adapt(session, images, {**source, "conv2d_9": source["conv2d_0"]})


def test_adapt_rejects_no_images(session, source):
    with pytest.raises(ValueError, match="conv2d_0: a channel must show"):
        adapt(session, np.zeros((0, 8, 8, 1), np.int8), source)


def test_statistics_round_trip_through_a_file(source, data, tmp_path):
    npusim.save(store_statistics(models.digits_cnn(), source), tmp_path / "m.h5")
    graph = npusim.load(tmp_path / "m.h5")
    stored = stored_statistics(graph)
    assert list(stored) == list(source)
    for name in source:
        np.testing.assert_array_equal(np.stack(stored[name]), np.stack(source[name]))
    images = models.to_int8(models.low_contrast(data.validation.images))
    sessions = [npusim.Session(graph, threads=1), npusim.Session(models.digits_cnn(), threads=1)]
    adapt(sessions[0], images)
    adapt(sessions[1], images, source)
    assert all_scales(sessions[0]) == all_scales(sessions[1])


def test_store_statistics_rejects_other_graphs(source):
    with pytest.raises(ValueError, match="statistics: 'conv2d_9' must be a node of"):
        store_statistics(models.digits_cnn(), {"conv2d_9": source["conv2d_0"]})


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({MEAN: np.zeros(24, np.int32)}, "given parameters must be .* or statistics"),
        (dict.fromkeys((MEAN, DEVIATION), np.zeros(23, np.int32)), r"must be int32 \(24,\)"),
        (dict.fromkeys((MEAN, DEVIATION), np.full(24, -1, np.int32)), "must be in 0..16711680"),
    ],
)
def test_graph_rejects_statistics(given, rule):
    graph = models.digits_cnn()
    nodes = (replace(graph.nodes[0], given=given), *graph.nodes[1:])
    with pytest.raises(npusim.ModelError, match=f"conv2d_0/conv2d: .*{rule}"):
        npusim.Session(replace(graph, nodes=nodes))


def test_matched_nodes_end_before_the_classifier():
    expected = ("conv2d_0", "conv2d_1", "depthwise_conv2d_0", "conv2d_2")
    assert matched_nodes(models.digits_cnn()) == expected
