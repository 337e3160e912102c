"""Other image sizes and batches: shapes as LiteRT derives them, refusals by name, equal bits."""

from __future__ import annotations

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from graphs import Draft, codes
from oracles import tflite_builder as tfl

from npusim import reference
from npusim.formats import tflite
from npusim.graph import Graph, ModelError
from npusim.parameters import bind
from npusim.resize import batch_separable, resize, with_batch

MODELS = (
    "coral/tf2_mobilenet_v2_1.0_224_ptq.tflite",
    "mlperf_tiny/pretrainedResnet_quant.tflite",
    "st/miniresnet_1stacks_64x50_tl_int8.tflite",
    "st/yamnet_256_64x96_tl_int8.tflite",
    "tflm/mobilenet_v2_quantized_1x3x224x224.tflite",
)  # LiteRT refuses person_detect for the quantised dimension of its biases
SIZES = ((96, 96), (64, 128), (33, 47), (100, 50), (7, 7), (3, 500))


def convolutional(target: tuple[int, ...], features: tuple[int, ...]) -> bytes:
    """A model of windows and padding whose pooled map is reshaped to `target`."""
    rng = np.random.default_rng(1)

    def weights(name: str, *shape: int) -> tfl.Tensor:
        return tfl.constant(name, rng.integers(-127, 128, shape).astype(np.int8), 0.01)

    def bias(name: str, length: int) -> tfl.Tensor:
        return tfl.constant(name, np.arange(length, dtype=np.int32), 0.0002)

    def codes(name: str, *shape: int) -> tfl.Tensor:
        return tfl.Tensor(name, shape, np.int8, 0.02, 1)

    tensors = [
        codes("image", 1, 11, 9, 3),
        weights("w1", 5, 3, 3, 3),
        bias("b1", 5),
        codes("conv", 1, 6, 5, 5),
        tfl.constant("paddings", np.array([[0, 0], [1, 2], [0, 1], [0, 0]], np.int32)),
        codes("padded", 1, 9, 6, 5),
        weights("w2", 1, 3, 2, 5),
        bias("b2", 5),
        codes("depthwise", 1, 5, 4, 5),
        weights("w3", 6, 1, 1, 5),
        bias("b3", 6),
        codes("pointwise", 1, 5, 4, 6),
        codes("pool", 1, 2, 2, 6),
        tfl.constant("target", np.array(target, np.int32)),
        codes("features", *features),
    ]
    twice = tfl.Window((2, 2), padding="SAME")
    dilated = tfl.Window(dilation=(2, 2))
    operations = [
        tfl.conv_2d((0, 1, 2), 3, twice),
        tfl.pad((3, 4), 5),
        tfl.depthwise_conv_2d((5, 6, 7), 8, dilated, 1),
        tfl.conv_2d((8, 9, 10), 11, tfl.Window()),
        tfl.max_pool_2d(11, 12, (2, 2), tfl.Window((2, 2))),
        tfl.reshape((12, 13), 14, target),
    ]
    return tfl.model(tensors, operations)


def litert_shapes(model: bytes, size: tuple[int, int], layout: str) -> dict[int, tuple[int, ...]]:
    """Tensor index -> shape after LiteRT's resize_tensor_input."""
    interpreter = Interpreter(
        model_content=model, experimental_op_resolver_type=OpResolverType.BUILTIN_REF
    )
    image = interpreter.get_input_details()[0]
    first, second, _, last = image["shape"]
    shape = (first, *size, last) if layout == "NHWC" else (first, second, *size)
    interpreter.resize_tensor_input(image["index"], shape)
    interpreter.allocate_tensors()
    return {t["index"]: tuple(map(int, t["shape"])) for t in interpreter.get_tensor_details()}


def assert_as_litert(model: bytes, size: tuple[int, int]) -> None:
    """Both derive the same shapes; npusim refuses more.

    It refuses where LiteRT does, where LiteRT makes maps without cells, and where LiteRT makes
    several rows of results of one image.
    """
    graph = tflite.parse(model, "m.tflite")
    y = graph.tensors[graph.outputs[0]]
    try:
        expected = litert_shapes(model, size, graph.layout)
    except RuntimeError:
        expected = {}
    if not expected or 0 in expected[y.stream] or expected[y.stream][0] != y.shape[0]:
        with pytest.raises(ModelError, match=rf"^input_size {size[0]}x{size[1]}: \w+_\d/"):
            resize(graph, size)
        return
    actual = {t.stream: t.shape for t in resize(graph, size).tensors}
    assert actual == {stream: expected[stream] for stream in actual}


@pytest.mark.parametrize("size", [*SIZES, (12, 12), (23, 200), (224, 224)])
@pytest.mark.parametrize(
    ("target", "features"),
    [((1, 24), (1, 24)), ((1, -1), (1, 24)), ((-1, 24), (1, 24)), ((1, -1, 6), (1, 4, 6))],
    ids=str,
)
def test_resize_matches_litert(size, target, features):
    assert_as_litert(convolutional(target, features), size)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", MODELS)
def test_resize_of_real_models_matches_litert(shared, name, size):
    assert_as_litert(shared(f"models/{name}").read_bytes(), size)


def test_resize_keeps_all_but_shapes():
    graph = tflite.parse(convolutional((1, -1), (1, 24)), "m.tflite")
    assert resize(resize(graph, (20, 31)), (11, 9)) == graph


def test_resize_follows_the_layout():
    draft = Draft()
    turned = draft.node("transpose", (draft.input((1, 3, 8, 6)),), permutation=(0, 2, 3, 1))
    graph = draft.graph(draft.conv2d(turned, 2), layout="NCHW")
    actual = resize(graph, (5, 7))
    assert [t.shape for t in actual.tensors if t.data is None] == [
        (1, 3, 5, 7),
        (1, 5, 7, 3),
        (1, 5, 7, 2),
    ]


def fixed_width(draft: Draft) -> int:
    """A fully connected layer that reads a whole map of 6x6 cells."""
    x = draft.input((1, 6, 6, 2))
    weights = draft.constant("w", np.ones((3, 72), np.int8), 0.01)
    return draft.node("fully_connected", (x, weights), activation="none", keep_dims=False)


def constant_operand(draft: Draft) -> int:
    x = draft.input((1, 6, 6, 2))
    mask = draft.constant("mask", np.ones((1, 6, 6, 2), np.int8), 0.01)
    return draft.node("mul", (x, mask), activation="none")


def two_images(draft: Draft) -> int:
    a, b = draft.input((1, 6, 6, 2)), draft.input((1, 6, 6, 2))
    return draft.node("add", (a, b), activation="none")


REFUSED = {
    "fully connected width": (
        fixed_width,
        (12, 6),
        "input_size 12x6: fully_connected_0/fully_connected: output must keep axis 0 of the input "
        "(1, 12, 6, 2), got (2, 3); a constant of the model fixes the width",
    ),
    "no divisor of the width": (
        fixed_width,
        (7, 7),
        "input_size 7x7: fully_connected_0/fully_connected: weights must be (O, I), "
        "I a divisor of 98, got (3, 72)",
    ),
    "constant operand": (
        constant_operand,
        (7, 6),
        "input_size 7x6: mul_0/mul: shapes must broadcast, got (1, 7, 6, 2) and (1, 6, 6, 2)",
    ),
    "target of a reshape": (
        lambda d: d.node("reshape", (d.input((1, 6, 6, 2)),), shape=(1, 72)),
        (7, 6),
        "input_size 7x6: reshape_0/reshape: shape must hold 84 elements, got (1, 72)",
    ),
    "open batch of a reshape": (
        lambda d: d.node("reshape", (d.input((1, 6, 6, 2)),), shape=(-1, 72)),
        (12, 12),
        "input_size 12x12: reshape_0/reshape: output must keep axis 0 of the input "
        "(1, 12, 12, 2), got (4, 72); a constant of the model fixes the width",
    ),
    "two images": (
        two_images,
        (7, 7),
        "input_size: graph must have one image input of rank 4, got [(1, 6, 6, 2), (1, 6, 6, 2)]",
    ),
    "no image": (
        lambda d: d.fully_connected(d.input((1, 6)), 2),
        (7, 7),
        "input_size: graph must have one image input of rank 4, got [(1, 6)]",
    ),
    "memory": (
        lambda d: d.conv2d(d.input((1, 6, 6, 2)), 2),
        (2**15, 2**15),
        "input_size 32768x32768: tensor x_0: activations must fit in 1073741824 bytes together, "
        "got 2147483648 with its (1, 32768, 32768, 2)",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_resize_refuses_by_name(case):
    build, size, expected = REFUSED[case]
    draft = Draft()
    graph = draft.graph(build(draft))
    with pytest.raises(ModelError) as caught:
        resize(graph, size)
    assert str(caught.value) == expected


@pytest.mark.parametrize("size", [(0, 5), (5, -1), (5,), (5, 5, 3), 96, "96", (5.0, 5)])
def test_resize_rejects_size(size):
    draft = Draft()
    graph = draft.graph(draft.conv2d(draft.input((1, 6, 6, 2)), 2))
    with pytest.raises(ValueError, match=r"^input_size: must be \(height, width\) from 1, got "):
        resize(graph, size)


def test_resize_takes_numbers_of_numpy():
    draft = Draft()
    graph = draft.graph(draft.conv2d(draft.input((1, 6, 6, 2)), 2))
    assert resize(graph, [7, 9]) == resize(graph, (7, 9))
    assert resize(graph, tuple(np.array([7, 9]))) == resize(graph, (7, 9))


def everything(batch: int) -> Graph:
    """Every operator, image by image."""
    draft = Draft(seed=3)
    x = draft.input((batch, 6, 5, 3), dtype="uint8", zero_point=3)
    other = draft.input((batch, 6, 5, 4))
    q = draft.node("quantize", (x,), affine={"scale": 0.04, "zero_point": 5})
    a = draft.depthwise_conv2d(draft.conv2d(q, 4), activation="relu6")
    row = draft.constant("row", np.arange(4, dtype=np.int8), 0.03)
    b = draft.node("mul", (draft.node("add", (a, other), activation="relu"), row),
                   activation="none")  # fmt: skip
    p = draft.node("pad", (b,), padding=((0, 0), (1, 0), (0, 2), (0, 0)))
    t = draft.node("transpose", (p,), permutation=(0, 2, 1, 3))
    pool = {"kernel": (2, 3), "stride": (2, 2), "padding": "same", "activation": "none"}
    m = draft.node("average_pool2d", (draft.node("max_pool2d", (t,), **pool),), **pool)
    r = draft.node("reshape", (m,), shape=(batch, -1, 2))
    means = draft.node("mean", (r,), axes=(1,), keep_dims=False)
    f = draft.fully_connected(draft.node("relu", (means,)), 4)
    s = draft.node("softmax", (f,), affine={"scale": 1 / 256, "zero_point": -128}, beta=1.0)
    return draft.graph(r, draft.node("dequantize", (s,), dtype="float32"))


def run(graph: Graph, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The graph's outputs by the NumPy reference, for exactly the declared batch."""
    values = {i: t.data for i, t in enumerate(graph.tensors) if t.data is not None}
    values |= {i: inputs[graph.tensors[i].name] for i in graph.inputs}
    bound = [bind(graph, node) for node in graph.nodes]
    reference.execute(graph, range(len(graph.nodes)), bound, values)
    return [values[i] for i in graph.outputs]


@pytest.mark.parametrize("declared", [1, 2, 5])
def test_separable_graph_computes_image_by_image(declared):
    graph = everything(declared)
    assert batch_separable(graph)
    single, many = with_batch(graph, 1), with_batch(graph, 5)
    inputs = codes(many)
    expected = run(many, inputs)
    rows = [run(single, {k: v[i : i + 1] for k, v in inputs.items()}) for i in range(5)]
    for output, parts in zip(expected, zip(*rows, strict=True), strict=True):
        assert np.array_equal(output, np.concatenate(parts))


@pytest.mark.parametrize("batch", [1, 2, 5])
def test_with_batch_is_the_graph_declared_so(batch):
    assert with_batch(everything(3), batch) == everything(batch)


def test_with_batch_leaves_an_open_batch_open():
    draft = Draft()
    graph = draft.graph(draft.node("reshape", (draft.input((2, 6, 2)),), shape=(-1, 12)))
    actual = with_batch(graph, 3)
    assert actual.nodes[0].attributes["shape"] == (-1, 12)
    assert actual.tensors[1].shape == (3, 12)


def crossing_add(draft: Draft, constant: tuple[int, ...]) -> int:
    operand = draft.constant("c", np.ones(constant, np.int8), 0.01)
    return draft.node("add", (draft.input((2, 4)), operand), activation="none")


def matrix(draft: Draft, x: tuple[int, ...], width: int, keep_dims: bool) -> int:
    weights = draft.constant("w", np.ones((2, width), np.int8), 0.01)
    return draft.node("fully_connected", (draft.input(x), weights), activation="none",
                      keep_dims=keep_dims)  # fmt: skip


CROSSING = {
    "mean over images": (
        lambda d: d.node("mean", (d.input((2, 4)),), axes=(0,), keep_dims=True),
        "mean_0/mean: must treat axis 0 as 2 independent images",
    ),
    "mean over one image": (
        lambda d: d.node("mean", (d.input((1, 4)),), axes=(0, 1), keep_dims=True),
        "mean_0/mean: must treat axis 0 as 1 independent images",
    ),
    "padding of images": (
        lambda d: d.node("pad", (d.input((2, 4)),), padding=((0, 1), (0, 0))),
        "pad_0/pad: must treat axis 0 as 2 independent images",
    ),
    "images turned": (
        lambda d: d.node("transpose", (d.input((2, 2)),), permutation=(1, 0)),
        "transpose_0/transpose: must treat axis 0 as 2 independent images",
    ),
    "softmax of a vector": (
        lambda d: d.node(
            "softmax", (d.input((4,)),), affine={"scale": 1 / 256, "zero_point": -128}, beta=1.0
        ),
        "softmax_0/softmax: must treat axis 0 as 4 independent images",
    ),
    "images reshaped": (
        lambda d: d.node("reshape", (d.input((2, 6)),), shape=(4, 3)),
        "reshape_0/reshape: must treat axis 0 as 2 independent images",
    ),
    "images flattened": (
        lambda d: d.node("reshape", (d.input((2, 6)),), shape=(12,)),
        "reshape_0/reshape: must treat axis 0 as 2 independent images",
    ),
    "one row per image": (
        lambda d: crossing_add(d, (2, 1)),
        "add_0/add: must treat axis 0 as 2 independent images",
    ),
    "constant of higher rank": (
        lambda d: crossing_add(d, (2, 1, 1)),
        "add_0/add: must treat axis 0 as 2 independent images",
    ),
    "operand of lower rank": (
        lambda d: d.node("add", (d.input((2, 3, 2)), d.input((2,))), activation="none"),
        "add_0/add: must treat axis 0 as 2 independent images",
    ),
    "several rows per image": (
        lambda d: matrix(d, (2, 6), 3, False),
        "fully_connected_0/fully_connected: must treat axis 0 as 2 independent images",
    ),
    "vector times matrix": (
        lambda d: matrix(d, (2,), 2, True),
        "fully_connected_0/fully_connected: must treat axis 0 as 2 independent images",
    ),
    "batches that differ": (
        lambda d: d.node("add", (d.input((2, 4)), d.input((1, 4))), activation="none"),
        "graph inputs: must have one common axis 0, got [(1,), (2,)]",
    ),
    "scalar": (
        lambda d: d.node("relu", (d.input(()),)),
        "graph inputs: must have one common axis 0, got [()]",
    ),
}


@pytest.mark.parametrize("case", CROSSING)
def test_images_that_meet_are_not_separable(case):
    build, expected = CROSSING[case]
    draft = Draft()
    graph = draft.graph(build(draft))
    assert not batch_separable(graph)
    with pytest.raises(ModelError) as caught:
        with_batch(graph, 3)
    assert str(caught.value) == expected


@pytest.mark.parametrize("constant", [(4,), (1, 4), (1,), ()])
def test_constants_that_serve_every_image_are_separable(constant):
    draft = Draft()
    assert batch_separable(draft.graph(crossing_add(draft, constant)))


def test_with_batch_rejects_no_images():
    with pytest.raises(ValueError, match=r"^batch: must be 1 or more, got 0$"):
        with_batch(everything(1), 0)


def test_blocks_that_reach_into_the_next_image_are_named_with_their_rule():
    """LiteRT's ADD on x86 rounds elements by sixteens: two images of 4 codes share a block."""
    draft = Draft()
    a, b = draft.input((2, 4)), draft.input((2, 4))
    graph = draft.graph(draft.node("add", (a, b), activation="none"), profile="litert-x86")
    with pytest.raises(ModelError) as caught:
        with_batch(graph, 1)
    assert str(caught.value) == (
        "add_0/add: must treat axis 0 as 2 independent images, got blocks across them: add under "
        "litert-x86 rounds by add_x86"
    )
