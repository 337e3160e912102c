"""Data sets as a network's input: pixels become codes as `npusim.images` says."""

import numpy as np

from npusim import Graph
from npusim.codes import input_codes
from npusim.images import Normalization, code_table, fit, image_shape

from .dataset import DataError, Dataset


def to_input(dataset: Dataset, graph: Graph, normalization: Normalization | None = None) -> Dataset:
    """The data set whose images are what `Session.run(graph)` takes: codes in the input's layout.

    uint8 images are pixels: made grey where the input has one channel, resized by Pillow's
    bilinear filter, mapped to codes. int8 images are codes already, float32 images are real values;
    both must have the input's shape.
    raises   ValueError when the images cannot be brought to the input's form
    """
    shape, name = image_shape(graph), dataset.name
    table = code_table(graph.tensors[graph.inputs[0]], shape[2], normalization, name, graph.profile)
    nchw = graph.layout == "NCHW"

    def change(frame: np.ndarray) -> np.ndarray:
        if frame.dtype == np.uint8:
            codes = table[np.arange(shape[2]), fit(frame, shape, name)]
        elif normalization is not None:
            raise DataError(
                f"{name}: mean and std must be of uint8 pixels, got {frame.dtype} images; leave "
                "them out"
            )
        else:
            codes = _given(name, frame, graph)
        return np.ascontiguousarray(codes.transpose(2, 0, 1)) if nchw else codes

    return dataset.map(change)


def _given(name: str, frame: np.ndarray, graph: Graph) -> np.ndarray:
    """Codes or real values as they are, of the input's shape and type."""
    tensor, shape = graph.tensors[graph.inputs[0]], image_shape(graph)
    if frame.shape != shape:
        raise DataError(f"{name}: images must be {shape} for this network, got {frame.shape}")
    if frame.dtype == np.float32:
        return _codes(frame, graph)
    if frame.dtype != tensor.dtype:
        raise DataError(f"{name}: codes must be {tensor.dtype} for this network, got {frame.dtype}")
    return frame


def _codes(real: np.ndarray, graph: Graph) -> np.ndarray:
    """Real values quantised by the profile's rule; unchanged where the input is float32."""
    tensor = graph.tensors[graph.inputs[0]]
    if tensor.dtype == "float32":
        return real
    return input_codes(real, tensor, graph.profile)
