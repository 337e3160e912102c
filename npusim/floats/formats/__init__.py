"""Float networks in files: .onnx, Keras .h5 and .tflite, told apart by what they hold."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from ...formats import files
from ...graph import Graph, ModelError

Parser = Callable[[bytes, str, tuple[int, int] | None], Graph]


def load(path: str | Path, input_size: tuple[int, int] | None = None) -> Graph:
    """The float graph of a .onnx, Keras .h5 or float .tflite file, checked.

    input_size   (height, width) of the images; None: as the file says
    returns      a graph as `check_floats` accepts it, images NHWC, batch 1
    raises       ModelError `file: node, layer or tensor: rule, got value; remedy`
    """
    data, name = files.read(path), Path(path).name
    return _parser(data, name)(data, name, input_size)


def holds_network(path: str | Path) -> bool:
    """Whether a file holds a network, and not only arrays (.npz, .safetensors, an .h5 of them)."""
    data = files.read(path)
    if files.is_hdf5(data):
        return _imported("keras", Path(path).name, "h5py").holds_network(data)
    return files.is_tflite(data) or files.is_onnx(data)


def _parser(data: bytes, name: str) -> Parser:
    if files.is_tflite(data):
        return _imported("tflite", name, "tflite flatbuffers").parse
    if files.is_hdf5(data):
        return _imported("keras", name, "h5py").parse
    if files.is_onnx(data):
        return _imported("onnx", name, "onnx").parse
    raise ModelError(
        f"{name}: must be a float .onnx, Keras .h5 or .tflite file, got content that starts with "
        f"{data[:8]!r}"
    )


def _imported(module: str, name: str, packages: str):  # type: ignore[no-untyped-def]
    try:
        return import_module(f".{module}", __name__)
    except ModuleNotFoundError as error:
        raise ModelError(
            f"{name}: reading it needs the packages {packages}, got {error}; pip install {packages}"
        ) from error
