"""Float graphs as ONNX models, so that onnxruntime can say what they compute.

Images are turned to NCHW and back at the model's ends, weights OHWI to OIHW.
"""

from functools import partial

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from npusim.shapes import window_2d

OPSET, IR = 17, 8


def onnx_outputs(graph, x, names):
    """What onnxruntime computes for the tensors `names`, NHWC."""
    model = to_onnx(graph, names)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    outputs = session.run(None, {graph.tensors[graph.inputs[0]].name: to_nchw(x)})
    return [y.transpose(0, 2, 3, 1) if y.ndim == 4 else y for y in outputs]


def to_nchw(x):
    return np.ascontiguousarray(x.transpose(0, 3, 1, 2)) if x.ndim == 4 else x


def to_onnx(graph, names):
    """The model; each node becomes its ONNX operator and one for its activation."""
    nodes, constants = [], []
    for node in graph.nodes:
        inputs = [graph.tensors[i] for i in node.inputs if i >= 0]
        y = graph.tensors[node.outputs[0]].name
        activation = node.attributes.get("activation", "none")
        raw = y if activation == "none" else f"{y}:raw"
        op, attributes = _OPERATORS[node.op](node.attributes, inputs)
        nodes.append(helper.make_node(op, [t.name for t in inputs], [raw], **attributes))
        nodes += _activation(activation, raw, y, constants)
        constants += [
            numpy_helper.from_array(_transposed(node.op, t.data), t.name)
            for t in inputs
            if t.data is not None
        ]
    x, outputs = graph.tensors[graph.inputs[0]], [_port(graph.tensor(n)) for n in names]
    proto = helper.make_graph(nodes, graph.name, [_port(x)], outputs, constants)
    model = helper.make_model(proto, opset_imports=[helper.make_opsetid("", OPSET)])
    model.ir_version = IR
    onnx.checker.check_model(model)
    return model


def _port(tensor):
    return helper.make_tensor_value_info(tensor.name, TensorProto.FLOAT, [None] * len(tensor.shape))


def _transposed(op, data):
    orders = {"conv2d": (0, 3, 1, 2), "depthwise_conv2d": (3, 0, 1, 2)}
    return np.ascontiguousarray(data.transpose(orders[op])) if data.ndim == 4 else data


def _activation(activation, raw, y, constants):
    if activation == "none":
        return []
    if activation == "relu":
        return [helper.make_node("Relu", [raw], [y])]
    low, high = {"relu6": (0, 6), "relu_n1_to_1": (-1, 1)}[activation]
    ends = [numpy_helper.from_array(np.float32(v), f"{y}:{v}") for v in (low, high)]
    constants += ends
    return [helper.make_node("Clip", [raw, *(end.name for end in ends)], [y])]


def _pads(attributes, x, kernel):
    """ONNX's (top, left, bottom, right)."""
    (oh, top), (ow, left) = window_2d(attributes, x.shape[1], x.shape[2], kernel)
    (sh, sw), (dh, dw) = attributes["stride"], attributes.get("dilation", (1, 1))
    bottom = (oh - 1) * sh + (kernel[0] - 1) * dh + 1 - x.shape[1] - top
    right = (ow - 1) * sw + (kernel[1] - 1) * dw + 1 - x.shape[2] - left
    return [top, left, max(bottom, 0), max(right, 0)]


def _conv(attributes, inputs, depthwise=False):
    x, w = inputs[0], inputs[1]
    return "Conv", {
        "strides": attributes["stride"],
        "dilations": attributes["dilation"],
        "pads": _pads(attributes, x, w.shape[1:3]),
        "group": x.shape[3] if depthwise else x.shape[3] // w.shape[3],
    }


def _pool(op, **more):
    def convert(attributes, inputs):
        kernel = attributes["kernel"]
        pads = _pads(attributes, inputs[0], kernel)
        return op, {"kernel_shape": kernel, "strides": attributes["stride"], "pads": pads, **more}

    return convert


def _mean(attributes, inputs):
    axes = {1: 2, 2: 3, 3: 1}  # NHWC -> NCHW
    return "ReduceMean", {
        "axes": [axes[a] for a in attributes["axes"]],
        "keepdims": int(attributes["keep_dims"]),
    }


_OPERATORS = {
    "conv2d": _conv,
    "depthwise_conv2d": partial(_conv, depthwise=True),
    "fully_connected": lambda attributes, inputs: ("Gemm", {"transB": 1}),
    "add": lambda attributes, inputs: ("Add", {}),
    "batch_norm": lambda attributes, inputs: (
        "BatchNormalization",
        {"epsilon": attributes["epsilon"]},
    ),
    "max_pool2d": _pool("MaxPool"),
    "average_pool2d": _pool("AveragePool", count_include_pad=0),
    "mean": _mean,
    "relu": lambda attributes, inputs: ("Relu", {}),
    "softmax": lambda attributes, inputs: ("Softmax", {"axis": -1}),
}
