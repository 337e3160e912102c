"""ONNX models written node by node, and what onnxruntime computes of them."""

import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

OPSET, IR = 17, 8


class Builder:
    """A model with one image input called x, NCHW; nodes are added in order."""

    def __init__(self, shape, opset=OPSET):
        self.shape, self.opset = shape, opset
        self.nodes, self.constants, self.last = [], [], "x"

    def add(self, op, *constants, inputs=None, **options):
        """A node that reads the last output, or `inputs`, and then the constants."""
        name = f"n{len(self.nodes)}"
        names = [f"{name}.{i}" for i in range(len(constants))]
        self.constants += map(numpy_helper.from_array, constants, names)
        sources = [self.last] if inputs is None else inputs
        self.nodes.append(helper.make_node(op, [*sources, *names], [name], name, **options))
        self.last = name
        return name

    def model(self):
        ports = [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", *self.shape]),
            helper.make_tensor_value_info(self.last, TensorProto.FLOAT, None),
        ]
        graph = helper.make_graph(self.nodes, "g", ports[:1], ports[1:], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])
        model.ir_version = IR
        return model

    def save(self, path):
        onnx.save(self.model(), path)
        return path


def onnxruntime_outputs(path, x):
    """Of a model with one input and one output, images NCHW."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: x})[0]
