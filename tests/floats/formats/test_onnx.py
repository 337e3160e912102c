"""Float .onnx files against onnxruntime on the same file."""

import numpy as np
import onnx
import pytest
from floats.formats.onnx_files import Builder, onnxruntime_outputs
from floats.onnx_twin import to_nchw

from npusim import ModelError, floats
from npusim.floats.formats.onnx import parse

UNIT = 2.0**-24


def real(*shape, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)


def agree(path, x):
    """Within 2^-17 of the largest output: a dozen layers of sums of at most 200 products."""
    expected = onnxruntime_outputs(path, to_nchw(x))
    expected = expected.transpose(0, 2, 3, 1) if expected.ndim == 4 else expected
    actual = floats.run(floats.load(path), x)
    assert actual.shape == expected.shape
    limit = 128 * UNIT * np.abs(expected).max()
    assert np.abs(actual - expected).max() <= limit
    assert np.ptp(expected) > 1000 * limit


def every_operator():
    """A network with each operator that is read; the flattened image has 2 x 3 cells."""
    b = Builder((3, 13, 21))
    b.add("Pad", np.array([0, 0, 1, 0, 0, 0, 0, 1]))
    b.add("Conv", real(8, 3, 3, 3), strides=(2, 2), pads=(1, 0, 0, 1))
    norm = [np.abs(real(8, seed=i)) + 0.5 for i in range(4)]
    b.add("BatchNormalization", *norm, epsilon=1e-3)
    a = b.add("Clip", np.float32(0), np.float32(6))
    b.add("Conv", real(16, 1, 3, 3), real(16), group=8, auto_pad="SAME_UPPER")
    b.add("Relu")
    c = b.add("Conv", real(8, 8, 1, 1), group=2)
    b.add("Dropout", inputs=[b.add("Add", inputs=[a, c])])
    b.add("MaxPool", kernel_shape=(3, 3), strides=(2, 2), pads=(1, 1, 1, 1))
    b.add("AveragePool", kernel_shape=(2, 2), strides=(2, 2))
    b.add("Conv", real(4, 4, 1, 1), group=2)
    b.add("Flatten")
    b.add("Gemm", real(9, 24), real(9), transB=1)
    b.add("Relu")
    b.add("MatMul", real(9, 6))
    b.add("Add", real(6))
    b.add("Softmax", axis=-1)
    return b


def test_every_operator_matches_onnxruntime(tmp_path):
    path = every_operator().save(tmp_path / "all.onnx")
    agree(path, np.random.default_rng(1).random((3, 13, 21, 3), np.float32))


ENDS = {
    "GlobalAveragePool, Flatten": lambda b: (b.add("GlobalAveragePool"), b.add("Flatten")),
    "GlobalAveragePool, Reshape": lambda b: (
        b.add("GlobalAveragePool"), b.add("Reshape", np.array([0, -1]))),
    "GlobalAveragePool, Squeeze": lambda b: (
        b.add("GlobalAveragePool"), b.add("Squeeze", np.array([-1, -2]))),
    "ReduceMean": lambda b: b.add("ReduceMean", axes=[2, 3], keepdims=0),
    "ReduceMean, keepdims": lambda b: b.add("ReduceMean", axes=[-1, 1], keepdims=1),
    "Reshape": lambda b: (b.add("Reshape", np.array([-1, 105])), b.add("Gemm", real(105, 4))),
}  # fmt: skip


@pytest.mark.parametrize("end", ENDS)
def test_ends_match_onnxruntime(tmp_path, end):
    b = Builder((3, 5, 7))
    b.add("Relu")
    ENDS[end](b)
    agree(b.save(tmp_path / "end.onnx"), np.random.default_rng(2).random((2, 5, 7, 3), np.float32))


@pytest.mark.parametrize("opset", [10, 13, 18])
def test_options_and_inputs_of_all_opsets_are_read(tmp_path, opset):
    """Clip's ends, Pad's sizes and ReduceMean's axes were options before they were inputs."""
    b = Builder((3, 6, 6), opset)
    pads = [0, 0, 1, 1, 0, 0, 1, 1]
    b.add("Pad", pads=pads) if opset < 11 else b.add("Pad", np.array(pads))
    b.add("Conv", real(4, 3, 3, 3))
    b.add("Clip", min=0.0, max=6.0) if opset < 11 else b.add("Clip", np.float32(0))
    b.add("ReduceMean", axes=[2, 3]) if opset < 18 else b.add("ReduceMean", np.array([2, 3]))
    agree(b.save(tmp_path / "o.onnx"), np.random.default_rng(3).random((2, 6, 6, 3), np.float32))


def test_real_network_matches_onnxruntime(shared):
    """MobileNetV2 0.35 as tf2onnx wrote it: norms half folded, pads of their own."""
    path = shared("models/st/mobilenet_v2_0.35_128_tfs_channel_first.onnx")
    x = np.random.default_rng(4).standard_normal((3, 128, 128, 3)).astype(np.float32)
    agree(path, x)
    graph = floats.load(path)
    assert {n.op for n in graph.nodes} == {
        "conv2d", "depthwise_conv2d", "batch_norm", "add", "mean", "reshape", "fully_connected",
        "softmax"}  # fmt: skip
    assert floats.load(path, (96, 64)).tensors[0].shape == (1, 96, 64, 3)


REFUSED = {
    "n0/LeakyRelu: operator must be one of Add, AveragePool, BatchNormalization, Clip, Constant, "
    "Conv, Dropout, Flatten, Gemm, GlobalAveragePool, Identity, MatMul, MaxPool, Pad, ReduceMean, "
    "Relu, Reshape, Softmax, Squeeze, got LeakyRelu": lambda b: b.add("LeakyRelu"),
    "n0/Clip: range must be 0 to 6 or from 0, got -1 to 1": lambda b: b.add(
        "Clip", np.float32(-1), np.float32(1)),
    "n0/Conv: auto_pad must be NOTSET, VALID or SAME_UPPER, got SAME_LOWER": lambda b: b.add(
        "Conv", real(2, 3, 3, 3), auto_pad="SAME_LOWER"),
    "n0/Conv: groups times weights' inputs must be 3 channels, got 2 times 2": lambda b: b.add(
        "Conv", real(2, 2, 3, 3), group=2),
    "n0/Conv: input 1 must be a constant, got 'x'": lambda b: b.add("Conv", inputs=["x", "x"]),
    "n0/AveragePool: the mean must be of valid cells, got count_include_pad 1": lambda b: b.add(
        "AveragePool", kernel_shape=(3, 3), pads=(1, 1, 1, 1), count_include_pad=1),
    "n0/MaxPool: must have neither ceil_mode nor dilations, got one of them": lambda b: b.add(
        "MaxPool", kernel_shape=(2, 2), ceil_mode=1),
    "n1/Relu: a flattened image must be read by Gemm or MatMul, got n0": lambda b: (
        b.add("Flatten"), b.add("Relu")),
    "n0/Pad: must add zeros around, got reflect, 0, [0, 0, 1, 1, 0, 0, 1, 1]": lambda b: b.add(
        "Pad", np.array([0, 0, 1, 1, 0, 0, 1, 1]), mode="reflect"),
    "n1/Add: a constant must be added to a product without bias right before it, got n0/relu": (
        lambda b: (b.add("Relu"), b.add("Add", real(3, 1, 1)))),
    "n0/Reshape: must flatten to (N, 48), got (-1, 16)": lambda b: b.add(
        "Reshape", np.array([-1, 16])),
    "n0/Relu: input 0 must be made by a node before it, got 'y'": lambda b: b.add(
        "Relu", inputs=["y"]),
    "output n0: must be made by a node, not a flattened image": lambda b: b.add("Flatten"),
}  # fmt: skip


@pytest.mark.parametrize("message", REFUSED)
def test_refuses_what_it_does_not_do(tmp_path, message):
    b = Builder((3, 4, 4))
    REFUSED[message](b)
    with pytest.raises(ModelError) as caught:
        floats.load(b.save(tmp_path / "m.onnx"))
    assert str(caught.value) == f"m.onnx: {message}"


def test_refuses_data_outside_the_file(tmp_path):
    b = Builder((3, 4, 4))
    b.add("Conv", real(2, 3, 1, 1))
    model = b.model()
    tensor = model.graph.initializer[0]
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="/etc/passwd")
    tensor.ClearField("raw_data")
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(ModelError) as caught:
        floats.load(tmp_path / "m.onnx")
    assert str(caught.value) == (
        "m.onnx: tensor n0.0: data must lie in the file, got external data"
    )


@pytest.mark.parametrize("cut", [0.2, 0.5, 0.9])
def test_damaged_files_are_refused(tmp_path, cut):
    b = Builder((3, 4, 4))
    b.add("Conv", real(8, 3, 1, 1))
    data = b.model().SerializeToString()
    (tmp_path / "m.onnx").write_bytes(data[: int(cut * len(data))])
    with pytest.raises(ModelError, match=r"^m\.onnx: "):
        floats.load(tmp_path / "m.onnx")


def test_sizes_that_are_not_known_are_asked_for(tmp_path):
    b = Builder((3, "H", "W"))
    b.add("GlobalAveragePool")
    path = b.save(tmp_path / "m.onnx")
    with pytest.raises(ModelError) as caught:
        floats.load(path)
    assert str(caught.value) == (
        "m.onnx: input x: sizes must be known, got (0, 0, 3); give an input size"
    )
    assert floats.load(path, (5, 6)).tensors[0].shape == (1, 5, 6, 3)


@pytest.mark.parametrize("seed", range(8))
def test_damaged_bytes_give_a_graph_or_one_error(seed):
    rng = np.random.default_rng(seed)
    data = np.frombuffer(every_operator().model().SerializeToString(), np.uint8)
    messages = []
    for _ in range(40):
        damaged = data.copy()
        damaged[rng.integers(0, len(data), 2)] = rng.choice([0, 1, 127, 255, rng.integers(256)], 2)
        try:
            floats.check_floats(parse(damaged.tobytes(), "m.onnx", None))
        except ModelError as error:
            messages.append(str(error))
    assert messages
    assert all(m.startswith("m.onnx: ") for m in messages)
