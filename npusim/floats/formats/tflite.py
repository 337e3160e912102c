"""Float .tflite models: the reader of int8 files, with every constant made real.

Weights that a converter stored as int8 codes ("dynamic range") are scale * (code - zero point).
"""

from dataclasses import replace

import numpy as np

from ...formats.tflite import image_layout, parse_unchecked
from ...graph import Graph, ModelError, Tensor
from ..derive import with_input_size
from ..fuse import fuse
from ..legal import check_floats


def parse(data: bytes, file_name: str, input_size: tuple[int, int] | None) -> Graph:
    """The float graph of a file's bytes; see `npusim.floats.load`."""
    graph = parse_unchecked(data, file_name)
    try:
        if image_layout(graph) == "NCHW":
            raise ModelError("layout: must be NHWC in a float .tflite, got NCHW")
        graph = replace(graph, tensors=tuple(map(_real, graph.tensors)))
        check_floats(graph)
        graph = fuse(graph)
        return graph if input_size is None else with_input_size(graph, input_size)
    except ModelError as error:
        raise ModelError(f"{file_name}: {error}") from error


def _real(tensor: Tensor) -> Tensor:
    """A quantised constant as float32; activations as they are."""
    q = tensor.quantization
    if tensor.data is None or tensor.dtype == "float32" or q is None:
        return tensor
    shape = [-1 if axis == q.axis else 1 for axis in range(len(tensor.shape))]
    scale, zero = (v.astype(np.float64).reshape(shape) for v in (q.scale, q.zero_point))
    values = (tensor.data.astype(np.float64) - zero) * scale
    return replace(tensor, dtype="float32", quantization=None, data=values.astype(np.float32))
