"""Trained tensors back in the .tflite file they came from, as LiteRT and TFLite Micro run it."""

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from formats import models as edits
from oracles import litert, tflite_builder, tflm
from oracles.tflite_builder import Tensor, Window, constant

import zo
from npusim import ModelError, Session, load, models, save
from npusim.head import until_logits
from zo.data import in_memory

CHANNELS, CLASSES = 12, 10


class Layer(NamedTuple):
    """Weights by their scales, one or one per output."""

    weights: np.ndarray
    scales: np.ndarray
    bias: np.ndarray | None


def layer(rng, shape, outputs, scales=None, biased=True):
    codes = rng.integers(-100, 101, shape).astype(np.int8)
    scales = rng.uniform(0.005, 0.02, outputs if scales is None else scales)
    bias = rng.integers(-200, 200, outputs).astype(np.int32) if biased else None
    return Layer(codes, scales.astype(np.float32), bias)


def weighted(name, parts, axis, s_x):
    """Constants of a layer."""
    found = [Tensor(f"{name}/w", parts.weights.shape, np.int8, parts.scales, 0 * parts.scales,
                    axis, parts.weights)]  # fmt: skip
    if parts.bias is not None:
        scales = parts.scales * np.float32(s_x)
        found.append(Tensor(f"{name}/b", parts.bias.shape, np.int32, scales, 0 * scales, 0,
                            parts.bias))  # fmt: skip
    return found


def network(seed=0, head_scales=CLASSES, head_bias=True):
    """Digits 8x8 -> conv2d, depthwise, mean, fully connected, reshape, softmax, as a file."""
    rng = np.random.default_rng(seed)
    conv = layer(rng, (CHANNELS, 3, 3, 1), CHANNELS)
    depthwise = layer(rng, (1, 3, 3, CHANNELS), CHANNELS)
    head = layer(rng, (CLASSES, CHANNELS), CLASSES, head_scales, head_bias)
    inner = {"scale": 0.08, "zero_point": -128}
    tensors = [
        Tensor("image", (1, 8, 8, 1), np.int8, 1 / 16, -128),
        *weighted("conv", conv, 0, 1 / 16),
        Tensor("conv", (1, 8, 8, CHANNELS), np.int8, **inner),
        *weighted("depthwise", depthwise, 3, 0.08),
        Tensor("depthwise", (1, 4, 4, CHANNELS), np.int8, 0.15, -128),
        constant("axes", np.array([1, 2], np.int32)),
        Tensor("mean", (1, CHANNELS), np.int8, 0.06, -128),
        *weighted("head", head, 0, 0.06),
        Tensor("logits", (1, CLASSES), np.int8, 0.12, 7),
        Tensor("flat", (CLASSES,), np.int8, 0.12, 7),
        Tensor("probabilities", (1, CLASSES), np.int8, 1 / 256, -128),
    ]  # fmt: skip
    at = {tensor.name: i for i, tensor in enumerate(tensors)}
    same = Window(padding="SAME")
    operands = [at[n] for n in ("mean", "head/w", "head/b") if n in at]
    operations = [
        tflite_builder.conv_2d((0, 1, 2), 3, same, "relu"),
        tflite_builder.depthwise_conv_2d((3, 4, 5), 6, same._replace(stride=(2, 2)), 1, "relu"),
        tflite_builder.mean((6, 7), 8, keep_dims=False),
        tflite_builder.fully_connected(tuple(operands), at["logits"]),
        tflite_builder.reshape((at["logits"],), at["flat"], (1, CLASSES)),
        tflite_builder.softmax(at["flat"], at["probabilities"], 1.0),
    ]
    tensors[at["flat"]] = tensors[at["flat"]]._replace(shape=(1, CLASSES))
    return tflite_builder.model(tensors, operations)


@pytest.fixture(scope="module")
def digits():
    """(training, validation) codes and labels."""
    parts = models.digits()
    return [(models.to_int8(p.images[:256]), p.labels[:256]) for p in (parts.train, parts.test)]


@pytest.fixture
def begin(tmp_path):
    """Writes a file and loads its graph: (graph until the logits, bytes)."""

    def load_it(data):
        (tmp_path / "m.tflite").write_bytes(data)
        return until_logits(load(tmp_path / "m.tflite")), data

    return load_it


def trained(graph, digits, trainable=("head/w",), **method):
    session = Session(graph, trainable=trainable)
    train, validation = digits
    method = zo.Method(**method)
    return zo.train(session, train, validation, epochs=2, batch=32, seed=3,
                    scheduler=zo.Constant(4), method=method).graph  # fmt: skip


def differing(a, b):
    return np.flatnonzero(np.frombuffer(a, np.uint8) != np.frombuffer(b, np.uint8))


def logits_of(graph, data, x, run):
    """What the oracle computes for the tensor of the logits, image by image."""
    index = graph.tensor("logits").stream
    return np.concatenate([run(data, [image[None]])[index] for image in x])


@pytest.mark.parametrize("set_", ["head", "all", "new head"])
def test_what_was_trained_runs_in_the_old_file_as_in_npusim(begin, digits, set_, tmp_path):
    graph, data = begin(network())
    if set_ == "new head":
        learned = in_memory("digits", *digits[0])
        graph, _ = zo.attach_head(graph, learned, in_memory("digits", *digits[1]))
        result = trained(graph, digits, ("head",))
    else:
        names = ("head/w",) if set_ == "head" else ("head/w", "head/b", "conv/w", "depthwise/w")
        result = trained(graph, digits, names)
    written = zo.write_back(result, data, "m.tflite")
    assert written.requantized == ()
    assert written.bytes_changed == len(differing(written.data, data)) > 0
    (tmp_path / "tuned.tflite").write_bytes(written.data)
    tuned = load(tmp_path / "tuned.tflite")
    x = digits[1][0][:24]
    expected = Session(result).run(x)
    assert np.array_equal(Session(until_logits(tuned)).run(x), expected)
    assert len(np.unique(expected)) > 10
    assert np.array_equal(logits_of(tuned, written.data, x, tflm.trace), expected)
    for mode, profile in (("ref", "litert-ref"), ("x86", "litert-x86"), ("xnnpack", "xnnpack")):
        under = until_logits(load(tmp_path / "tuned.tflite", profile=profile))
        found = logits_of(tuned, written.data, x, lambda m, x, mode=mode: litert.trace(m, x, mode))
        assert np.array_equal(found, Session(under).run(x)), mode


def test_only_bytes_of_trained_tensors_change(begin, digits):
    graph, data = begin(network())
    result = trained(graph, digits, recalibrate=False)
    written = zo.write_back(result, data, "m.tflite")
    codes = np.frombuffer(graph.tensor("head/w").data.tobytes(), np.uint8)
    at = data.index(codes.tobytes())
    changed = differing(written.data, data)
    assert at <= changed.min()
    assert changed.max() < at + codes.size
    assert [(t.name, t.rescaled) for t in written.tensors] == [("head/w", False)]
    assert written.tensors[0].codes == np.count_nonzero(
        graph.tensor("head/w").data != result.tensor("head/w").data
    )


def test_what_nobody_trained_changes_nothing(begin):
    graph, data = begin(network())
    assert zo.write_back(graph, data, "m.tflite") == zo.WriteBack(data, (), (), 0)


def test_doubled_scales_go_back_exactly(begin, digits):
    """Scales of weights, and those of the logits with what holds their codes in another shape."""
    graph, data = begin(network())
    session = Session(graph, trainable=["head/w"])
    shift = session.requantization["fully_connected_0"].shift
    shift[3:5] += 1
    doubled = session.snapshot()
    written = zo.write_back(doubled, data, "m.tflite")
    assert [(t.name, t.codes, t.rescaled) for t in written.tensors] == [
        ("head/w", 0, True), ("head/b", 0, True)
    ]  # fmt: skip
    x = digits[1][0][:8]
    assert np.array_equal(logits_of(graph, written.data, x, tflm.trace), Session(doubled).run(x))


def test_a_scale_for_each_output_does_not_fit_where_there_is_one(begin, digits):
    graph, data = begin(network(head_scales=1))
    learned, held_out = (in_memory("digits", *part) for part in digits)
    result, _ = zo.attach_head(graph, learned, held_out)
    with pytest.raises(ModelError) as error:
        zo.write_back(result, data, "m.tflite")
    assert str(error.value) == (
        "m.tflite: tensor head/w: must say the scales of fully_connected_0 as trained, got room "
        "for 1 float32 scale, which cannot; train without recalibration, or round to them with "
        "requantize (--requantize) and measure the accuracy"
    )
    written = zo.write_back(result, data, "m.tflite", requantize=True)
    assert written.requantized == ("fully_connected_0",)
    x = digits[1][0][:64]
    found = logits_of(graph, written.data, x, tflm.trace).astype(int)
    apart = np.abs(found - Session(result).run(x))
    assert 0 < apart.max() <= 3  # of 256 codes: weights are rounded to half a step


def test_multipliers_of_no_scale_do_not_fit(begin, digits):
    """What channel statistics change is no power of two."""
    graph, data = begin(network())
    source = zo.measure_statistics(Session(graph), digits[0][0])
    session = Session(graph)
    zo.adapt(session, digits[0][0] // 2, source)
    adapted = session.snapshot()
    with pytest.raises(ModelError, match="tensor conv/w: must say the scales of conv2d_0 as"):
        zo.write_back(adapted, data, "m.tflite")
    written = zo.write_back(adapted, data, "m.tflite", requantize=True)
    x = digits[1][0][:64] // 2
    found = logits_of(graph, written.data, x, tflm.trace)
    share = np.mean(found == Session(adapted).run(x))
    assert share > 0.95  # multipliers of 24 bits instead of 31


def test_a_bias_that_the_file_has_no_room_for_is_refused(begin, digits):
    graph, data = begin(network(head_bias=False))
    result = trained(graph, digits)  # has a bias of zeros, which says nothing
    assert zo.write_back(result, data, "m.tflite").tensors[0].name == "head/w"
    learned, held_out = (in_memory("digits", *part) for part in digits)
    headed, _ = zo.attach_head(graph, learned, held_out)
    with pytest.raises(ModelError, match="fully_connected_0: must have a bias to take the trained"):
        zo.write_back(headed, data, "m.tflite")


def test_another_file_and_other_classes_are_refused(begin, digits):
    graph, data = begin(network())
    with pytest.raises(
        ModelError, match=r"must be the file that the training began from, m\.tflite"
    ):
        zo.write_back(graph, network(seed=1), "other.tflite")
    made = replace(graph, provenance={})
    with pytest.raises(ModelError, match="got a run that began from none; only what came from a"):
        zo.write_back(made, data, "m.tflite")
    few = [(x[y < 4], y[y < 4]) for x, y in digits]
    headed, _ = zo.attach_head(graph, *(in_memory("digits", *part) for part in few))
    with pytest.raises(
        ModelError, match=r"must have room for int8 \(4, 12\), as trained, got int8"
    ):
        zo.write_back(headed, data, "m.tflite")


def test_shared_bytes_are_not_changed_for_both(begin):
    def share(model):
        tensors = model.subgraphs[0].tensors
        names = {t.name: t for t in tensors}
        names[b"conv/b"].buffer = names[b"depthwise/b"].buffer

    graph, data = begin(edits.edited(network(), share))
    session = Session(graph)
    session.biases["conv2d_0"][:] += 1
    result = session.snapshot()
    with pytest.raises(ModelError, match="tensor conv/b: its data must be its own to change, got"):
        zo.write_back(result, data, "m.tflite")


def test_the_command_writes_a_file(begin, digits, tmp_path, zo_command):
    graph, data = begin(network())
    save(trained(graph, digits, recalibrate=False), tmp_path / "model.h5")
    target = tmp_path / "tuned.tflite"
    code, out, err = zo_command("write-back", tmp_path, tmp_path / "m.tflite", "--output", target)
    changed = len(differing(target.read_bytes(), data))
    assert (code, err) == (0, "")
    assert out.splitlines()[0].startswith("head/w: ")
    assert out.splitlines()[-1] == (f"{changed} of {len(data):,} bytes changed; written {target}")
    code, out, err = zo_command("write-back", tmp_path, tmp_path / "m.tflite", "--output", "a.h5")
    assert code == 2
    assert "must end in .tflite, the format it writes, got 'a.h5'" in err


def test_the_command_replaces_no_file_unasked(begin, digits, tmp_path, zo_command, monkeypatch):
    graph, data = begin(network())
    save(trained(graph, digits, recalibrate=False), tmp_path / "model.h5")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link.tflite").symlink_to("m.tflite")
    for other in ("m.tflite", "./m.tflite", "link.tflite", tmp_path / "m.tflite"):
        given = ["write-back", ".", "m.tflite", "--output", other, "--overwrite"]
        assert zo_command(*given) == (
            2, "", f"zo: --output: must be another file than m.tflite, got {Path(other)}\n"
        )  # fmt: skip
    assert (tmp_path / "m.tflite").read_bytes() == data
    target = tmp_path / "old.tflite"
    target.write_bytes(b"mine")
    given = ["write-back", ".", "m.tflite", "--output", "old.tflite"]
    assert zo_command(*given) == (
        2, "", "zo: old.tflite: must not exist yet, got a file; replace it with --overwrite\n"
    )  # fmt: skip
    assert target.read_bytes() == b"mine"
    assert zo_command(*given, "--overwrite")[0] == 0
    assert len(target.read_bytes()) == len(data)


def test_the_command_names_the_output_that_cannot_be_written(begin, digits, tmp_path, zo_command):
    graph, _ = begin(network())
    save(trained(graph, digits, recalibrate=False), tmp_path / "model.h5")
    target = tmp_path / "nowhere" / "tuned.tflite"
    assert zo_command("write-back", tmp_path, tmp_path / "m.tflite", "--output", target) == (
        2, "", f"zo: {target}: no such file or directory\n"
    )  # fmt: skip
