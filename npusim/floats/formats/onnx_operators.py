"""ONNX operators as nodes of a float graph.

Values of rank 4 are NHWC here and NCHW in the file: axes, pads and weights are turned when a node
is read. Flattened images have another order of elements, which the next weights are turned to.
Source: onnx/docs/Operators.md; opsets 7 to 26.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import onnx

from ...graph import ModelError
from ..draft import Draft

TO_NHWC = {0: 0, 1: 3, 2: 1, 3: 2}
_NAMES_BY_KIND = {
    onnx.AttributeProto.INT: "group ceil_mode count_include_pad keepdims transA transB axis",
    onnx.AttributeProto.INTS: "pads strides dilations kernel_shape axes",
    onnx.AttributeProto.FLOAT: "epsilon min max alpha beta value",
    onnx.AttributeProto.STRING: "auto_pad mode",
    onnx.AttributeProto.TENSOR: "value",
}
KINDS = {
    name: tuple(k for k, names in _NAMES_BY_KIND.items() if name in names.split())
    for names in _NAMES_BY_KIND.values()
    for name in names.split()
}
"""Types of the attributes that are read, by name."""


class Step(NamedTuple):
    """A node of the file, and its name here."""

    node: onnx.NodeProto
    name: str

    @property
    def options(self) -> dict[str, Any]:
        """The attributes that are read here, each of its type."""
        found = {}
        for attribute in self.node.attribute:
            kinds = KINDS.get(attribute.name, ())
            if kinds and attribute.type not in kinds:
                raise refused(self, f"{attribute.name} must be of type {kinds[0]}", attribute.type)
            if kinds:
                found[attribute.name] = onnx.helper.get_attribute_value(attribute)
        return found


@dataclass
class Values:
    """What the file's names stand for.

    made        tensors of the draft
    constants   arrays as the file has them
    flattened   (H, W, C) of tensors that hold a flattened image, by index
    """

    draft: Draft
    made: dict[str, int]
    constants: dict[str, np.ndarray]
    flattened: dict[int, tuple[int, int, int]] = field(default_factory=dict)

    def shape(self, index: int) -> tuple[int, ...]:
        return self.draft.tensors[index].shape

    def input(self, step: Step, position: int = 0, flat: bool = False) -> int:
        """The tensor that a node reads; only some operators take a flattened image."""
        name = "".join(step.node.input[position : position + 1])
        if name not in self.made:
            what = "a constant" if name in self.constants else repr(name)
            raise refused(step, f"input {position} must be made by a node before it", what)
        index = self.made[name]
        if index in self.flattened and not flat:
            raise refused(step, "a flattened image must be read by Gemm or MatMul", name)
        return index

    def constant(self, step: Step, position: int, default: Any = None) -> Any:
        """The array that a node reads; the default where it reads none."""
        name = "".join(step.node.input[position : position + 1])
        if not name and default is not None:
            return default
        if name not in self.constants:
            raise refused(step, f"input {position} must be a constant", repr(name))
        return self.constants[name]

    def add(self, step: Step, op: str, inputs: tuple[int, ...], attributes: Mapping[str, Any],
            constants: Mapping[str, np.ndarray] | None = None) -> int:  # fmt: skip
        y = self.draft.add(op, step.name, inputs, constants or {}, attributes)
        self.made[step.node.output[0]] = y
        return y

    def output(self, name: str) -> int:
        """A tensor that the file gives out."""
        if name not in self.made or self.made[name] in self.flattened:
            raise ModelError(f"output {name}: must be made by a node, not a flattened image")
        return self.made[name]


def refused(step: Step, rule: str, got: object) -> ModelError:
    return ModelError(f"{step.name}/{step.node.op_type}: {rule}, got {got}")


def _conv(values: Values, step: Step) -> None:
    x, w = values.input(step), values.constant(step, 1)
    if w.ndim != 4:
        raise refused(step, "weights must be (O, I, KH, KW)", w.shape)
    groups = step.options.get("group", 1)
    if groups * w.shape[1] != values.shape(x)[-1]:
        raise refused(step, f"groups times weights' inputs must be {values.shape(x)[-1]} channels",
                      f"{groups} times {w.shape[1]}")  # fmt: skip
    depthwise = groups > 1 and w.shape[1] == 1
    constants = {"weight": w.transpose((1, 2, 3, 0) if depthwise else (0, 2, 3, 1))}
    if len(step.node.input) > 2:
        constants["bias"] = values.constant(step, 2)
    windows = {**_window(step, w.shape[2:]), "dilation": _pair(step, "dilations")}
    values.add(step, "depthwise_conv2d" if depthwise else "conv2d", (x,),
               {**windows, "activation": "none"}, constants)  # fmt: skip


def _window(step: Step, kernel: tuple[int, ...]) -> dict[str, Any]:
    """Stride and padding."""
    automatic = step.options.get("auto_pad", b"NOTSET")
    named = {b"VALID": "valid", b"SAME_UPPER": "same"}
    if automatic in named:
        return {"stride": _pair(step, "strides"), "padding": named[automatic]}
    if automatic != b"NOTSET":
        raise refused(step, "auto_pad must be NOTSET, VALID or SAME_UPPER", repr(automatic)[2:-1])
    pads = step.options.get("pads", [0] * 4)
    if len(pads) != 4:
        raise refused(step, "pads must be of rows and columns", pads)
    top, left, bottom, right = pads
    return {"stride": _pair(step, "strides"), "padding": (top, bottom, left, right)}


def _pair(step: Step, name: str) -> tuple[int, int]:
    values = tuple(step.options.get(name, (1, 1)))
    if len(values) != 2:
        raise refused(step, f"{name} must be of rows and columns", values)
    return values


def _batch_norm(values: Values, step: Step) -> None:
    names = ("gamma", "beta", "mean", "variance")
    constants = {name: values.constant(step, 1 + i) for i, name in enumerate(names)}
    epsilon = float(step.options.get("epsilon", 1e-5))
    values.add(step, "batch_norm", (values.input(step),),
               {"epsilon": epsilon, "activation": "none"}, constants)  # fmt: skip


def _clip(values: Values, step: Step) -> None:
    infinite = float(np.finfo(np.float32).max)
    low, high = (
        _number(step, step.options.get(key, values.constant(step, i, default)))
        for i, (key, default) in enumerate({"min": -infinite, "max": infinite}.items(), 1)
    )
    ops = {(0.0, 6.0): "relu6", (0.0, infinite): "relu", (0.0, float("inf")): "relu"}
    if (low, high) not in ops:
        raise refused(step, "range must be 0 to 6 or from 0", f"{low:g} to {high:g}")
    values.add(step, ops[low, high], (values.input(step),), {})


def _number(step: Step, value: Any) -> float:
    """One number, of an option or a constant."""
    if np.size(value) != 1 or np.asarray(value).dtype.kind not in "fi":
        raise refused(step, "must have one number", np.shape(value))
    return float(np.reshape(value, ()))


def _relu(values: Values, step: Step) -> None:
    values.add(step, "relu", (values.input(step),), {})


def _add(values: Values, step: Step) -> None:
    constant = [i for i in (0, 1) if step.node.input[i] in values.constants]
    if not constant:
        pair = (values.input(step), values.input(step, 1))
        values.add(step, "add", pair, {"activation": "none"})
        return
    _bias(values, step, values.input(step, 1 - constant[0]), values.constant(step, constant[0]))


def _bias(values: Values, step: Step, x: int, bias: np.ndarray) -> None:
    """A constant behind a matrix product becomes its bias."""
    before = values.draft.nodes[-1] if values.draft.nodes else None
    weighted = before is not None and before.op in ("fully_connected", "conv2d")
    if not weighted or before.outputs != (x,) or len(before.inputs) != 2:  # type: ignore[union-attr]
        raise refused(step, "a constant must be added to a product without bias right before it",
                      values.draft.tensors[x].name)  # fmt: skip
    if bias.size != values.shape(x)[-1]:
        raise refused(step, f"the constant must have {values.shape(x)[-1]} values", bias.shape)
    values.made[step.node.output[0]] = values.draft.with_bias(bias.reshape(-1))


def _pool(op: str) -> Callable[[Values, Step], None]:
    def read(values: Values, step: Step) -> None:
        kernel = _pair(step, "kernel_shape")
        window = _window(step, kernel)
        if step.options.get("ceil_mode", 0) or _pair(step, "dilations") != (1, 1):
            raise refused(step, "must have neither ceil_mode nor dilations", "one of them")
        padded = window["padding"] not in ("valid", (0, 0, 0, 0))
        if op == "average_pool2d" and padded and step.options.get("count_include_pad", 0):
            raise refused(step, "the mean must be of valid cells", "count_include_pad 1")
        values.add(step, op, (values.input(step),),
                   {"kernel": kernel, **window, "activation": "none"})  # fmt: skip

    return read


def _global_average(values: Values, step: Step) -> None:
    values.add(step, "mean", (values.input(step),), {"axes": (1, 2), "keep_dims": True})


def _reduce_mean(values: Values, step: Step) -> None:
    x = values.input(step)
    rank = len(values.shape(x))
    axes = step.options.get("axes", values.constant(step, 1, np.zeros(0, int)))
    places = sorted(_turned(int(a) % rank, rank) for a in axes)
    keep = bool(step.options.get("keepdims", 1))
    if rank == 4 and not keep and places != [1, 2]:
        raise refused(step, "axes without keepdims must be those of rows and columns", list(axes))
    values.add(step, "mean", (x,), {"axes": tuple(places), "keep_dims": keep})


def _turned(axis: int, rank: int) -> int:
    return TO_NHWC[axis] if rank == 4 else axis


def _gemm(values: Values, step: Step) -> None:
    options = {"alpha": 1.0, "beta": 1.0, "transA": 0, "transB": 0} | step.options
    if (options["alpha"], options["beta"], options["transA"]) != (1.0, 1.0, 0):
        raise refused(step, "alpha, beta and transA must be 1, 1 and 0",
                      (options["alpha"], options["beta"], options["transA"]))  # fmt: skip
    weights = values.constant(step, 1)
    _product(values, step, weights if options["transB"] else weights.T)


def _matmul(values: Values, step: Step) -> None:
    _product(values, step, values.constant(step, 1).T)


def _product(values: Values, step: Step, weights: np.ndarray) -> None:
    """weights (O, I); I is turned to the order of a flattened image."""
    x = values.input(step, flat=True)
    if weights.ndim != 2 or len(values.shape(x)) != 2:
        raise refused(step, "must be a matrix times a constant matrix", weights.shape)
    if x in values.flattened:
        h, w, c = values.flattened[x]
        if weights.shape[1] != h * w * c:
            raise refused(step, f"weights must have {h * w * c} inputs", weights.shape)
        turned = weights.reshape(-1, c, h, w).transpose(0, 2, 3, 1)
        weights = turned.reshape(len(weights), -1)
    constants = {"weight": weights}
    if len(step.node.input) > 2:
        constants["bias"] = np.atleast_1d(values.constant(step, 2)).reshape(-1)
    values.add(step, "fully_connected", (x,), {"activation": "none", "keep_dims": False},
               constants)  # fmt: skip


def _flatten(values: Values, step: Step) -> None:
    if step.options.get("axis", 1) != 1:
        raise refused(step, "axis must be 1", step.options["axis"])
    _flat(values, step)


def _flat(values: Values, step: Step) -> None:
    x = values.input(step)
    shape = values.shape(x)
    y = values.add(step, "reshape", (x,), {"shape": (1, int(np.prod(shape[1:])))})
    if len(shape) == 4 and shape[1] * shape[2] > 1:
        values.flattened[y] = (shape[1], shape[2], shape[3])


def _reshape(values: Values, step: Step) -> None:
    target = [int(v) for v in values.constant(step, 1)]
    total = int(np.prod(values.shape(values.input(step))[1:]))
    if len(target) != 2 or target[0] not in (-1, 0, 1) or target[1] not in (-1, total):
        raise refused(step, f"must flatten to (N, {total})", tuple(target))
    _flat(values, step)


def _squeeze(values: Values, step: Step) -> None:
    x = values.input(step)
    axes = step.options.get("axes", values.constant(step, 1, np.array([2, 3])))
    shape = values.shape(x)
    if sorted(int(a) % 4 for a in axes) != [2, 3] or len(shape) != 4 or shape[1:3] != (1, 1):
        raise refused(step, "must take rows and columns away from one cell",
                      f"axes {list(axes)} of {shape} (NHWC)")  # fmt: skip
    _flat(values, step)


def _pad(values: Values, step: Step) -> None:
    x = values.input(step)
    rank = len(values.shape(x))
    mode = step.options.get("mode", b"constant")
    pads = [int(p) for p in step.options.get("pads", ())] or values.constant(step, 1).tolist()
    value = _number(step, step.options.get("value", values.constant(step, 2, np.float32(0))))
    if mode != b"constant" or value or len(pads) != 2 * rank or min(pads) < 0:
        raise refused(step, "must add zeros around", f"{repr(mode)[2:-1]}, {value:g}, {pads}")
    padding = [(0, 0)] * rank
    for axis in range(rank):
        padding[_turned(axis, rank)] = (pads[axis], pads[rank + axis])
    values.add(step, "pad", (x,), {"padding": tuple(padding)})


def _softmax(values: Values, step: Step) -> None:
    x = values.input(step)
    if len(values.shape(x)) != 2 or step.options.get("axis", -1) not in (-1, 1):
        raise refused(step, "must be over the last axis of (N, C)", values.shape(x))
    values.add(step, "softmax", (x,), {"beta": 1.0})


def _same(values: Values, step: Step) -> None:
    x = values.input(step, flat=True)
    values.made[step.node.output[0]] = x


def _constant(values: Values, step: Step) -> None:
    tensor = step.options.get("value")
    if not isinstance(tensor, onnx.TensorProto):
        raise refused(step, "must hold a tensor", list(step.options))
    values.constants[step.node.output[0]] = array(tensor)


def array(tensor: onnx.TensorProto) -> np.ndarray:
    """The values of a tensor that lies in the file."""
    if tensor.data_location == onnx.TensorProto.EXTERNAL or tensor.external_data:
        raise ModelError(f"tensor {tensor.name}: data must lie in the file, got external data")
    try:
        return onnx.numpy_helper.to_array(tensor)
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise ModelError(f"tensor {tensor.name}: must be whole, got {error}") from error


OPERATORS: Mapping[str, Callable[[Values, Step], None]] = {
    "Add": _add,
    "AveragePool": _pool("average_pool2d"),
    "BatchNormalization": _batch_norm,
    "Clip": _clip,
    "Constant": _constant,
    "Conv": _conv,
    "Dropout": _same,
    "Flatten": _flatten,
    "Gemm": _gemm,
    "GlobalAveragePool": _global_average,
    "Identity": _same,
    "MatMul": _matmul,
    "MaxPool": _pool("max_pool2d"),
    "Pad": _pad,
    "ReduceMean": _reduce_mean,
    "Relu": _relu,
    "Reshape": _reshape,
    "Softmax": _softmax,
    "Squeeze": _squeeze,
}
