"""Images -> what a network's input takes.

    code = pixel + zero_pixel                        default: the input's range is black to white
    code = quantize((pixel / 255 - mean) / std)      with mean and std, as torchvision normalises

By default pixels 0..255 become the 256 codes in order, whatever the scale: exact, and right for
every network that was trained on the full range of its input.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from npusim import Graph, Tensor, quantize

from .dataset import DataError, Dataset
from .pictures import grey, resize

FIRST_CODE = {"int8": -128, "uint8": 0}
WHITE = 255


class Normalization(NamedTuple):
    """`(pixel / 255 - mean) / std`, one value or one per channel; fractions, as torchvision's."""

    mean: tuple[float, ...]
    std: tuple[float, ...]


def to_input(dataset: Dataset, graph: Graph, normalization: Normalization | None = None) -> Dataset:
    """The data set whose images are what `Session.run(graph)` takes: codes in the input's layout.

    uint8 images are pixels: made grey where the input has one channel, resized by Pillow's
    bilinear filter, mapped to codes as above. int8 images are codes already, float32 images are
    real values; both must have the input's shape.
    raises   DataError when the images cannot be brought to the input's form
    """
    shape = image_shape(graph)
    tensor = graph.tensors[graph.inputs[0]]
    table = None if normalization is None else _code_table(dataset.name, graph, normalization)
    nchw = graph.layout == "NCHW"

    def change(frame: np.ndarray) -> np.ndarray:
        if frame.dtype == np.uint8:
            frame = _fit(dataset.name, frame, shape)
            codes = _default_codes(frame, tensor) if table is None else _look_up(frame, table)
        else:
            codes = _given(dataset.name, frame, graph)
        return np.ascontiguousarray(codes.transpose(2, 0, 1)) if nchw else codes

    return dataset.map(change)


def image_shape(graph: Graph) -> tuple[int, int, int]:
    """(H, W, C) of the graph's one image input.

    raises   DataError unless the graph has one input of rank 4 and 1 or 3 channels
    """
    shapes = [graph.tensors[i].shape for i in graph.inputs]
    if len(shapes) != 1 or len(shapes[0]) != 4:
        raise DataError(f"{graph.name}: must have one input of images, got shapes {shapes}")
    _, *image = shapes[0]
    if graph.layout == "NCHW":
        image = [*image[1:], image[0]]
    return image[0], image[1], image[2]


def _fit(name: str, frame: np.ndarray, shape: tuple[int, int, int]) -> np.ndarray:
    """Pixels (H, W, C) as the input's (height, width, channels)."""
    height, width, channels = shape
    if frame.shape[2] == 3 and channels == 1:
        frame = grey(frame)
    if frame.shape[2] == 1 and channels == 3:
        frame = np.repeat(frame, 3, axis=2)
    if frame.shape[2] != channels:
        raise DataError(
            f"{name}: images must have {channels} channels for this network, got {frame.shape}"
        )
    return resize(frame, height, width)


def _default_codes(frame: np.ndarray, tensor: Tensor) -> np.ndarray:
    """Pixels as codes in order; real values pixel / 255 where the input is float32."""
    if tensor.dtype == "float32":
        return frame.astype(np.float32) / np.float32(WHITE)
    return (frame.astype(np.int16) + FIRST_CODE[tensor.dtype]).astype(tensor.dtype)


def _code_table(name: str, graph: Graph, normalization: Normalization) -> np.ndarray:
    """(C, 256): the code, or real value, of every pixel value in every channel."""
    channels = image_shape(graph)[2]
    mean = _per_channel(name, "mean", normalization.mean, channels)
    std = _per_channel(name, "std", normalization.std, channels)
    if not (std > 0).all():
        raise DataError(f"{name}: std must be above 0, got {normalization.std}")
    real = (np.arange(WHITE + 1) / WHITE - mean[:, np.newaxis]) / std[:, np.newaxis]
    return _codes(real.astype(np.float32), graph)


def _per_channel(name: str, what: str, values: Sequence[float], channels: int) -> np.ndarray:
    if len(values) not in (1, channels):
        raise DataError(
            f"{name}: {what} must be one number or {channels}, one a channel, got {len(values)}"
        )
    return np.broadcast_to(np.array(values, np.float64), (channels,))


def _look_up(frame: np.ndarray, table: np.ndarray) -> np.ndarray:
    return table[np.arange(frame.shape[2]), frame]


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
    q = tensor.quantization
    assert q is not None, tensor.name
    return quantize(real, q.scale[0], int(q.zero_point[0]), tensor.dtype)
