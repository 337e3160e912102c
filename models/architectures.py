"""MobileNetV2 and ResNet18 as float graphs, with weights under torchvision's names.

Channels are those of the weights; what the code states is the order of layers, strides and
additions. A file may end early: a network without classifier ends at its features, a ResNet18
without layer4 at the mean over layer3.
Sources: Sandler et al., arXiv 1801.04381, table 2; He et al., arXiv 1512.03385, table 1.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from npusim import Graph, ModelError
from npusim.floats.draft import Draft

from .torchvision import NORMALIZATION, classifier, layer, read, refuse_rest

STAGES = ((1, 1), (2, 2), (3, 2), (4, 2), (3, 1), (3, 2), (1, 1))
"""MobileNetV2's inverted residuals: blocks of a stage, stride of its first."""
LAYERS = ((1, 1), (2, 2), (3, 2), (4, 2))
"""ResNet18's layers of two blocks: number, stride of the first block."""

Source = Mapping[str, np.ndarray] | str | Path


def mobilenet_v2(
    weights: Source, input_size: tuple[int, int] = (224, 224), classes: int | None = None
) -> Graph:
    """MobileNetV2, of any width.

    weights      arrays by torchvision's names, new or old, or the path of a .npz, .safetensors or
                 .h5 with them
    input_size   (height, width) of the images
    classes      of an empty head where the file has none of so many; None: as the file
    returns      a float graph (1, H, W, 3) -> logits (1, classes), or the features without a head;
                 nodes are called by torchvision's names of layers
    raises       ModelError `file: array: rule, got value`
    """
    return _built("mobilenet_v2", _mobilenet_v2, weights, input_size, classes)


def resnet18(
    weights: Source, input_size: tuple[int, int] = (224, 224), classes: int | None = None
) -> Graph:
    """ResNet18, whole or up to layer1, layer2 or layer3; arguments as for `mobilenet_v2`."""
    return _built("resnet18", _resnet18, weights, input_size, classes)


def from_weights(
    weights: Source, input_size: tuple[int, int] = (224, 224), classes: int | None = None
) -> Graph:
    """The architecture that the arrays' names belong to; arguments as for `mobilenet_v2`."""
    arrays, source = read(weights)
    for first, build in {"features.0.0": mobilenet_v2, "layer1.0.conv1": resnet18}.items():
        if f"{first}.weight" in arrays:
            return build(weights, input_size, classes)
    raise ModelError(
        f"{source}: must hold torchvision's arrays of mobilenet_v2 or resnet18, got "
        f"{', '.join(list(arrays)[:3]) or 'none'}"
    )


def _built(name, build, weights, input_size, classes):
    arrays, source = read(weights)
    draft = Draft(name, (1, *input_size, 3))
    try:
        y = build(draft, arrays, classes)
        refuse_rest(arrays, name)
        graph = draft.graph(y)
    except ModelError as error:
        raise ModelError(f"{source}: {error}") from error
    return replace(graph, provenance={"normalization": json.dumps(NORMALIZATION)})


def _mobilenet_v2(draft, weights, classes):
    y = layer(draft, draft.input, weights, ("features.0.0", "features.0.1"),
              stride=2, activation="relu6")  # fmt: skip
    number = 1
    for blocks, stride in STAGES:
        for block in range(blocks):
            y = _inverted_residual(draft, y, weights, f"features.{number}.conv",
                                   1 if block else stride)  # fmt: skip
            number += 1
    y = layer(draft, y, weights, (f"features.{number}.0", f"features.{number}.1"),
              activation="relu6")  # fmt: skip
    y = draft.add("mean", "features", (y,), {}, {"axes": (1, 2), "keep_dims": False})
    return classifier(draft, y, weights, "classifier.1", classes)


def _inverted_residual(draft, x, weights, name, stride):
    """1x1 expansion where there is one, depthwise 3x3, 1x1 projection; added to x if it fits."""
    y, number = x, 0
    if f"{name}.2.weight" in weights and weights[f"{name}.2.weight"].ndim == 4:
        y = layer(draft, y, weights, (f"{name}.0.0", f"{name}.0.1"), activation="relu6")
        number = 1
    y = layer(draft, y, weights, (f"{name}.{number}.0", f"{name}.{number}.1"),
              stride=stride, activation="relu6")  # fmt: skip
    y = layer(draft, y, weights, (f"{name}.{number + 1}", f"{name}.{number + 2}"))
    if stride == 1 and draft.tensors[x].shape == draft.tensors[y].shape:
        y = draft.add("add", name.removesuffix(".conv"), (x, y), {}, {"activation": "none"})
    return y


def _resnet18(draft, weights, classes):
    y = layer(draft, draft.input, weights, ("conv1", "bn1"), stride=2, activation="relu")
    pool = {"kernel": (3, 3), "stride": (2, 2), "padding": (1, 1, 1, 1), "activation": "none"}
    y = draft.add("max_pool2d", "maxpool", (y,), {}, pool)
    for number, stride in LAYERS:
        if f"layer{number}.0.conv1.weight" not in weights:
            break
        y = _basic_block(draft, y, weights, f"layer{number}.0", stride)
        y = _basic_block(draft, y, weights, f"layer{number}.1", 1)
    y = draft.add("mean", "avgpool", (y,), {}, {"axes": (1, 2), "keep_dims": False})
    return classifier(draft, y, weights, "fc", classes)


def _basic_block(draft, x, weights, name, stride):
    """Two 3x3 convolutions, added to x or to a 1x1 convolution of it."""
    y = layer(draft, x, weights, (f"{name}.conv1", f"{name}.bn1"),
              stride=stride, activation="relu")  # fmt: skip
    y = layer(draft, y, weights, (f"{name}.conv2", f"{name}.bn2"))
    if f"{name}.downsample.0.weight" in weights:
        names = (f"{name}.downsample.0", f"{name}.downsample.1")
        x = layer(draft, x, weights, names, stride=stride)
    return draft.add("add", name, (x, y), {}, {"activation": "relu"})
