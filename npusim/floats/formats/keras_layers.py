"""Keras layers as nodes of a float graph.

Kernels are HWIO, depthwise kernels (KH, KW, C, M), dense kernels (I, O); images are NHWC.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...graph import ModelError
from ..draft import Draft

ACTIVATIONS = ("linear", "relu", "relu6", "softmax")


class Plain:
    """A layer's configuration; what is asked for must be there and of its type."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._config = config

    def get(self, name: str, default: Any = None) -> Any:
        return self._config.get(name, default)

    def pair(self, name: str, default: Any = (1, 1)) -> tuple[int, int]:
        """One number for rows and columns, or one each."""
        value = self._config.get(name)
        value = default if value is None else value
        pair = [value, value] if type(value) is int else value
        if not isinstance(pair, list | tuple) or [type(v) for v in pair] != [int, int]:
            raise ModelError(f"{name} must be two integers, got {value!r}")
        return pair[0], pair[1]

    def must(self, name: str, *wanted: Any) -> None:
        """Refuse any other value; the first one is the default."""
        value = self._config.get(name, wanted[0])
        if value not in wanted:
            known = " or ".join(map(repr, wanted))
            raise ModelError(f"{name} must be {known}, got {value!r}")

    def activation(self, name: str = "activation") -> str:
        """Keras 3 may write a function's name in an object."""
        value = self._config.get(name, "linear")
        if isinstance(value, dict):
            value = value.get("config", value.get("class_name"))
        if value not in ACTIVATIONS:
            raise ModelError(f"{name} must be one of {', '.join(ACTIVATIONS)}, got {value!r}")
        return str(value)


class Layer(NamedTuple):
    """A layer of the file."""

    kind: str
    name: str
    config: Plain
    arrays: Mapping[str, np.ndarray]

    def array(self, name: str, rank: int) -> np.ndarray:
        if name not in self.arrays:
            known = ", ".join(self.arrays) or "none"
            raise ModelError(f"array {name} must be in the file, got {known}")
        if self.arrays[name].ndim != rank:
            raise ModelError(f"array {name} must have rank {rank}, got {self.arrays[name].shape}")
        return self.arrays[name]

    def bias(self) -> dict[str, np.ndarray]:
        self.config.must("use_bias", True, False)
        return {"bias": self.array("bias", 1)} if self.config.get("use_bias", True) else {}


Build = Callable[[Draft, Layer, Sequence[int]], int]


def read_layer(draft: Draft, layer: Layer, inputs: Sequence[int]) -> int:
    """Append a layer's nodes; returns the tensor that it makes.

    raises   ModelError for what the layer's configuration asks that no node does
    """
    layer.config.must("data_format", "channels_last", None)
    many = layer.kind == "Add"
    if many != (len(inputs) > 1) or not inputs:
        rule = "two or more" if many else "one"
        raise ModelError(f"inputs must be {rule}, got {len(inputs)}")
    return LAYERS[layer.kind](draft, layer, inputs)


def _activated(draft: Draft, layer: Layer, y: int, name: str | None = None) -> int:
    """What the layer's activation makes of y: a node of its own, for `fuse`."""
    kind = layer.config.activation()
    if kind == "linear":
        return y
    attributes = {"beta": 1.0} if kind == "softmax" else {}
    return draft.add(kind, name or f"{layer.name}/{kind}", (y,), {}, attributes)


def _window(layer: Layer, stride: tuple[int, int] | None = None) -> dict[str, Any]:
    layer.config.must("padding", "valid", "same")
    return {"stride": stride or layer.config.pair("strides"),
            "padding": layer.config.get("padding", "valid"), "activation": "none"}  # fmt: skip


def _conv2d(draft: Draft, layer: Layer, inputs: Sequence[int]) -> int:
    constants = {"weight": layer.array("kernel", 4).transpose(3, 0, 1, 2), **layer.bias()}
    attributes = {**_window(layer), "dilation": layer.config.pair("dilation_rate")}
    y = draft.add("conv2d", layer.name, inputs, constants, attributes)
    return _activated(draft, layer, y)


def _depthwise(draft: Draft, layer: Layer, inputs: Sequence[int]) -> int:
    kernel = "kernel" if "kernel" in layer.arrays else "depthwise_kernel"  # Keras 3, Keras 2
    constants = {"weight": _joined(layer.array(kernel, 4)), **layer.bias()}
    attributes = {**_window(layer), "dilation": layer.config.pair("dilation_rate")}
    y = draft.add("depthwise_conv2d", layer.name, inputs, constants, attributes)
    return _activated(draft, layer, y)


def _joined(kernel: np.ndarray) -> np.ndarray:
    """(KH, KW, C, M) -> (1, KH, KW, C*M)."""
    return kernel.reshape(1, *kernel.shape[:2], -1)


def _separable(draft: Draft, layer: Layer, inputs: Sequence[int]) -> int:
    attributes = {**_window(layer), "dilation": layer.config.pair("dilation_rate")}
    constants = {"weight": _joined(layer.array("depthwise_kernel", 4))}
    y = draft.add("depthwise_conv2d", f"{layer.name}/depthwise", inputs, constants, attributes)
    constants = {"weight": layer.array("pointwise_kernel", 4).transpose(3, 0, 1, 2), **layer.bias()}
    point = {"stride": (1, 1), "dilation": (1, 1), "padding": "valid", "activation": "none"}
    y = draft.add("conv2d", layer.name, (y,), constants, point)
    return _activated(draft, layer, y)


def _dense(draft: Draft, layer: Layer, inputs: Sequence[int]) -> int:
    constants = {"weight": layer.array("kernel", 2).T, **layer.bias()}
    keep = len(draft.tensors[inputs[0]].shape) > 2
    y = draft.add("fully_connected", layer.name, inputs, constants,
                  {"activation": "none", "keep_dims": keep})  # fmt: skip
    return _activated(draft, layer, y)


def _batch_norm(draft: Draft, layer: Layer, inputs: Sequence[int]) -> int:
    rank = len(draft.tensors[inputs[0]].shape)
    layer.config.must("axis", -1, rank - 1, [-1], [rank - 1])
    mean = layer.array("moving_mean", 1)
    for name in ("scale", "center"):
        layer.config.must(name, True, False)
    constants = {
        "gamma": layer.array("gamma", 1) if layer.config.get("scale", True) else mean * 0 + 1,
        "beta": layer.array("beta", 1) if layer.config.get("center", True) else mean * 0,
        "mean": mean,
        "variance": layer.array("moving_variance", 1),
    }
    epsilon = layer.config.get("epsilon", 1e-3)
    return draft.add("batch_norm", layer.name, inputs, constants,
                     {"epsilon": epsilon, "activation": "none"})  # fmt: skip


def _relu(draft: Draft, layer: Layer, inputs: Sequence[int]) -> int:
    for name in ("negative_slope", "threshold"):
        layer.config.must(name, 0, None)
    layer.config.must("max_value", None, 6)
    op = "relu" if layer.config.get("max_value") is None else "relu6"
    return draft.add(op, layer.name, inputs, {}, {})


def _activation(draft: Draft, layer: Layer, inputs: Sequence[int]) -> int:
    return _activated(draft, layer, inputs[0], layer.name)


def _softmax(draft: Draft, layer: Layer, inputs: Sequence[int]) -> int:
    rank = len(draft.tensors[inputs[0]].shape)
    layer.config.must("axis", -1, rank - 1, [-1], [rank - 1])
    return draft.add("softmax", layer.name, inputs, {}, {"beta": 1.0})


def _add(draft: Draft, layer: Layer, inputs: Sequence[int]) -> int:
    y = inputs[0]
    for number, x in enumerate(inputs[1:], 1):
        name = layer.name if number == len(inputs) - 1 else f"{layer.name}/{number}"
        y = draft.add("add", name, (y, x), {}, {"activation": "none"})
    return y


def _zero_padding(draft: Draft, layer: Layer, inputs: Sequence[int]) -> int:
    value = layer.config.get("padding", 1)
    rows = [value, value] if type(value) is int else value
    pairs = [(d, d) if type(d) is int else d for d in rows] if isinstance(rows, list) else []
    if len(pairs) != 2 or not all(_is_pair(p) for p in pairs):
        raise ModelError(
            f"padding must be two integers from 0, or two pairs of them, got {value!r}"
        )
    padding = ((0, 0), *map(tuple, pairs), (0, 0))
    return draft.add("pad", layer.name, inputs, {}, {"padding": padding})


def _is_pair(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and [type(v) for v in value] == [int, int]
        and min(value) >= 0
    )


def _pool(op: str) -> Build:
    def read(draft: Draft, layer: Layer, inputs: Sequence[int]) -> int:
        kernel = layer.config.pair("pool_size", (2, 2))
        attributes = {"kernel": kernel, **_window(layer, layer.config.pair("strides", kernel))}
        return draft.add(op, layer.name, inputs, {}, attributes)

    return read


def _global_average(draft: Draft, layer: Layer, inputs: Sequence[int]) -> int:
    keep = bool(layer.config.get("keepdims", False))
    return draft.add("mean", layer.name, inputs, {}, {"axes": (1, 2), "keep_dims": keep})


def _flatten(draft: Draft, layer: Layer, inputs: Sequence[int]) -> int:
    return _reshaped(draft, layer, inputs, (-1,))


def _reshape(draft: Draft, layer: Layer, inputs: Sequence[int]) -> int:
    target = layer.config.get("target_shape")
    if not isinstance(target, list) or any(type(d) is not int for d in target):
        raise ModelError(f"target_shape must be integers, got {target!r}")
    return _reshaped(draft, layer, inputs, tuple(target))


def _reshaped(draft: Draft, layer: Layer, inputs: Sequence[int], target: tuple[int, ...]) -> int:
    """A reshape of every image alone: (N, ..) -> (N, target)."""
    total = int(np.prod(draft.tensors[inputs[0]].shape[1:]))
    known = int(np.prod([d for d in target if d != -1]))
    sizes = tuple(total // known if d == -1 and known else d for d in target)
    return draft.add("reshape", layer.name, inputs, {}, {"shape": (1, *sizes)})


def _same(draft: Draft, layer: Layer, inputs: Sequence[int]) -> int:
    return inputs[0]


LAYERS: Mapping[str, Build] = {
    "Activation": _activation,
    "Add": _add,
    "AveragePooling2D": _pool("average_pool2d"),
    "BatchNormalization": _batch_norm,
    "Conv2D": _conv2d,
    "Dense": _dense,
    "DepthwiseConv2D": _depthwise,
    "Dropout": _same,
    "Flatten": _flatten,
    "GlobalAveragePooling2D": _global_average,
    "MaxPooling2D": _pool("max_pool2d"),
    "ReLU": _relu,
    "Reshape": _reshape,
    "SeparableConv2D": _separable,
    "Softmax": _softmax,
    "ZeroPadding2D": _zero_padding,
}
