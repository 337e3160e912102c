"""MobileNetV2 and ResNet18 in float: shapes, names old and new, folded or not, and onnxruntime."""

import numpy as np
import pytest
from floats.onnx_twin import onnx_outputs
from floats.torchvision_files import folded_file, narrow_mobilenet, old_name

from npusim import ModelError, floats, models

MOBILENET = "models/mobilenet_v2_imagenet_features.npz"
RESNET = "models/resnet18_imagenet_to_layer3.npz"
NETWORK_BOUND = 1e-4
"""Largest difference to onnxruntime, as a part of the tensor's largest magnitude: float32 sums
added in another order, through up to 63 layers."""


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(9).standard_normal((2, 32, 32, 3)).astype(np.float32)


def relative(actual, expected):
    return np.abs(actual - expected).max() / np.abs(expected).max()


def test_old_names_are_those_of_older_files(shared):
    """The expected names are the real file's."""
    old = {n for n in np.load(shared(MOBILENET)).files if n.startswith("features.")}
    new = {n for n in narrow_mobilenet() if n.startswith("features.")}
    assert {old_name(name) for name in new} == old


def test_mobilenet_v2_is_the_same_by_old_and_new_names(images):
    weights = narrow_mobilenet()
    new = models.mobilenet_v2(weights, (32, 32))
    old = models.mobilenet_v2({old_name(k): v for k, v in weights.items()}, (32, 32))
    assert new == old
    assert floats.run(new, images).shape == (2, 5)


@pytest.mark.parametrize("rename", [str, old_name], ids=["new", "old"])
def test_mobilenet_v2_reads_folded_files(images, rename):
    weights = narrow_mobilenet()
    folded = {rename(k): v for k, v in folded_file(weights).items()}
    graph = models.mobilenet_v2(folded, (32, 32))
    assert not [n for n in graph.nodes if n.op == "batch_norm"]
    expected = floats.run(models.mobilenet_v2(weights, (32, 32)), images)
    assert relative(floats.run(graph, images), expected) < 1e-4


def test_mobilenet_v2_adds_where_shapes_agree():
    graph = models.mobilenet_v2(narrow_mobilenet(), (64, 64))
    sums = [n.name for n in graph.nodes if n.op == "add"]
    strided = {2, 4, 7, 14}
    assert sums == [f"features.{n}" for n in range(1, 18) if n not in strided]


@pytest.mark.parametrize(
    ("build", "name"), [(models.mobilenet_v2, MOBILENET), (models.resnet18, RESNET)]
)
def test_network_matches_onnxruntime(build, name, shared, images):
    """Every activation of the real network, batch norms folded and not."""
    graph = build(shared(name), (32, 32))
    for version in (graph, floats.fold_batch_norms(graph)):
        values = dict(floats.trace(version, images))
        names = [t.name for t in version.tensors if t.kind == "activation"]
        expected = onnx_outputs(version, images, names)
        worst = max(relative(values[n], y) for n, y in zip(names, expected, strict=True))
        assert worst < NETWORK_BOUND


def test_resnet18_ends_where_its_file_ends(shared):
    graph = models.resnet18(shared(RESNET), (64, 64))
    assert graph.tensors[graph.outputs[0]].shape == (1, 256)
    assert sum(n.op == "add" for n in graph.nodes) == 6
    pool = graph.node("maxpool")
    assert graph.tensors[pool.outputs[0]].shape == (1, 16, 16, 64)


def test_classes_give_an_empty_head(shared):
    graph = models.mobilenet_v2(shared(MOBILENET), (64, 64), classes=10)
    head = graph.tensor("classifier.1.weight")
    assert head.shape == (10, 1280)
    assert not head.data.any()
    own = narrow_mobilenet(classes=5)
    kept = models.mobilenet_v2(own, (32, 32), classes=5).tensor("classifier.1.weight")
    np.testing.assert_array_equal(kept.data, own["classifier.1.weight"])


def test_architecture_is_known_by_its_names(shared):
    for name in (MOBILENET, RESNET):
        assert models.from_weights(shared(name), (64, 64)).name in name


def test_networks_remember_their_pixels():
    graph = models.mobilenet_v2(narrow_mobilenet(), (32, 32))
    assert graph.provenance["normalization"] == (
        '{"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}'
    )


def changed(change):
    weights = narrow_mobilenet()
    change(weights)
    return weights


REFUSED = {
    "weights: features.3.conv.1.0.weight: must be in the file, got others; closest of 226: "
    "features.13.conv.1.0.weight, features.9.conv.1.0.weight, features.8.conv.1.0.weight": changed(
        lambda w: w.pop("features.3.conv.1.0.weight")
    ),
    "weights: mobilenet_v2: every array must have a place in the network, got 1 without one such "
    "as features.19.0.weight": changed(
        lambda w: w.update({"features.19.0.weight": np.ones((4, 4, 1, 1), np.float32)})
    ),
    "weights: features.0.1.bias: must hold finite real numbers, got int64 (8,)": changed(
        lambda w: w.update({"features.0.1.bias": np.arange(8)})
    ),
    "weights: features.5.conv.1.0/conv2d: weights must be (O, KH, KW, I), I a divisor of 48, got "
    "(48, 3, 3, 5)": changed(
        lambda w: w.update({"features.5.conv.1.0.weight": np.ones((48, 5, 3, 3), np.float32)})
    ),
}


@pytest.mark.parametrize("message", REFUSED, ids=range(len(REFUSED)))
def test_mobilenet_v2_refuses(message):
    with pytest.raises(ModelError) as caught:
        models.mobilenet_v2(REFUSED[message], (32, 32))
    assert str(caught.value) == message


def test_unknown_networks_are_refused():
    with pytest.raises(ModelError) as caught:
        models.from_weights({"encoder.weight": np.ones(3, np.float32)})
    assert str(caught.value) == (
        "weights: must hold torchvision's arrays of mobilenet_v2 or resnet18, got encoder.weight"
    )


def test_files_that_are_no_arrays_are_refused(tmp_path):
    path = tmp_path / "weights.npz"
    path.write_bytes(b"PK\x03\x04 not a zip")
    with pytest.raises(ModelError, match=r"^weights.npz: must be a .npz of arrays, got .*zip"):
        models.mobilenet_v2(path)
