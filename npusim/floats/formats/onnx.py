"""Float .onnx models: the protobuf message as a float graph, images turned from NCHW to NHWC.

The message is read by the `onnx` package; data outside the file is refused.
"""

import onnx
from google.protobuf.message import DecodeError

from ...graph import Graph, ModelError
from ..draft import Draft
from ..fuse import fuse
from .onnx_operators import OPERATORS, Step, Values, array, refused

OPSETS = range(7, 27)
DOMAINS = ("", "ai.onnx")


def parse(data: bytes, file_name: str, input_size: tuple[int, int] | None) -> Graph:
    """The float graph of a file's bytes; see `npusim.floats.load`."""
    try:
        return fuse(_graph(_model(data), file_name.removesuffix(".onnx"), input_size))
    except ModelError as error:
        raise ModelError(f"{file_name}: {error}") from error


def _model(data: bytes) -> onnx.ModelProto:
    try:
        model = onnx.load_model_from_string(data)
    except DecodeError as error:
        raise ModelError(f"model: must be an ONNX message, got {error}") from error
    versions = [o.version for o in model.opset_import if o.domain in DOMAINS]
    if not versions or versions[0] not in OPSETS:
        raise ModelError(
            f"model: opset must be {OPSETS.start}..{OPSETS.stop - 1}, got {versions or 'none'}"
        )
    return model


def _graph(model: onnx.ModelProto, name: str, input_size: tuple[int, int] | None) -> Graph:
    proto = model.graph
    _check_texts(proto)
    constants = {t.name: array(t) for t in proto.initializer}
    inputs = [i for i in proto.input if i.name not in constants]
    if len(inputs) != 1:
        raise ModelError(f"graph inputs: must be one in a float graph, got {len(inputs)}")
    draft = Draft(name, _input_shape(inputs[0], input_size))
    values = Values(draft, {inputs[0].name: draft.input}, constants)
    names: set[str] = set()
    for node in proto.node:
        step = Step(node, _unique(node, names))
        if node.domain not in DOMAINS or node.op_type not in OPERATORS:
            raise refused(step, f"operator must be one of {', '.join(sorted(OPERATORS))}",
                          node.op_type)  # fmt: skip
        try:
            OPERATORS[node.op_type](values, step)
        except ModelError as error:
            place = f"{step.name}/{node.op_type}"
            raise ModelError(
                str(error) if str(error).startswith(place) else f"{place}: {error}"
            ) from error
    return draft.graph(*(values.output(o.name) for o in proto.output))


def _unique(node: onnx.NodeProto, taken: set[str]) -> str:
    """The node's name, or that of its output, which no other has."""
    name = node.name if node.name and node.name not in taken else "".join(node.output[:1])
    taken.add(name)
    return name


def _check_texts(graph: onnx.GraphProto) -> None:
    """protobuf gives bytes for names that are no UTF-8."""
    texts = [t.name for part in (graph.initializer, graph.input, graph.output) for t in part]
    for node in graph.node:
        texts += [node.name, node.op_type, node.domain, *node.input, *node.output]
        texts += [a.name for a in node.attribute]
        if not node.output:
            raise ModelError(f"{node.name}/{node.op_type}: must have an output, got none")
    for text in texts:
        if not isinstance(text, str):
            raise ModelError(f"model: names must be UTF-8, got {text!r}")


def _input_shape(value: onnx.ValueInfoProto, input_size: tuple[int, int] | None) -> tuple[int, ...]:
    """NHWC, one image."""
    kind = value.type.tensor_type
    if kind.elem_type != onnx.TensorProto.FLOAT:
        raise ModelError(f"input {value.name}: must be float32, got type {kind.elem_type}")
    sizes = [d.dim_value for d in kind.shape.dim]
    if len(sizes) == 4:
        channels, *own = sizes[1:]
        sizes = [1, *(input_size or own), channels]
    elif input_size is not None:
        raise ModelError(f"input {value.name}: must be an image of rank 4 to have a size, got "
                         f"rank {len(sizes)}")  # fmt: skip
    if len(sizes) < 2 or min(sizes[1:]) < 1:
        raise ModelError(f"input {value.name}: sizes must be known, got {tuple(sizes[1:])}; "
                         "give an input size")  # fmt: skip
    return (1, *sizes[1:])
