"""Model files: a path in, a graph out, and back.

The format is found by what a file holds, not by what it is called.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from ..check import LAYOUTS
from ..graph import Graph, ModelError, Tensor
from ..neural_art.settle import settle
from ..profiles import find_profile
from ..resize import resize
from ..rules import with_rules
from . import files


def load(
    path: str | Path,
    profile: str | None = None,
    input_size: tuple[int, int] | None = None,
    layout: str | None = None,
    parameters: Mapping[str, Mapping[str, Any]] | None = None,
    rules: Mapping[str, str] | None = None,
) -> Graph:
    """The graph of a .tflite or npusim .h5 file, checked.

    profile      arithmetic to run it with; the file's own, or "tflm"
    input_size   (height, width) of the images: every shape is derived again
    layout       "NHWC" or "NCHW", the order of the images' dimensions; found in the graph if None
    parameters   of the profile neural-art by node name, "*" for all, such as {"*": {"s0": 3}};
                 those not given are derived (see docs/neural-art.md)
    rules        requantisation rules instead of the profile's, or whole profiles, by node name,
                 such as {"conv2d_0": "single_rounding", "add_0": "xnnpack"}; added to those the
                 file has
    raises       ModelError `file: node or tensor: rule, got value; remedy`, also for NHWC where the
                 model says NCHW; ValueError for a profile, layout, parameter or rule that does not
                 exist
    """
    if profile is not None:
        find_profile(profile)
    if layout not in (None, *LAYOUTS):
        raise ValueError(f"layout: must be NHWC or NCHW, got {layout!r}")
    data, name = files.read(path), Path(path).name
    graph = parse(data, name)
    if layout == "NHWC" and graph.layout == "NCHW":
        raise ModelError(f"{name}: layout must be NCHW, as the model says, got NHWC; leave it out")
    graph = replace(graph, profile=profile or graph.profile, layout=layout or graph.layout)
    graph = with_rules(graph, rules or {})
    try:
        graph = graph if input_size is None else resize(graph, input_size)
        return settle(graph, parameters)
    except ModelError as error:
        raise ModelError(f"{name}: {error}") from error


def save(graph: Graph, path: str | Path) -> None:
    """Write a graph as an npusim .h5 file, atomically; equal graphs give the same bytes.

    raises   ModelError for an illegal graph, OSError when the file cannot be written, TypeError
             for anything else than a graph, ValueError for a path that does not end in .h5
    """
    if not isinstance(graph, Graph):
        raise TypeError(f"graph: must be an npusim.Graph, got {type(graph).__name__}; "
                        "of a session, save its snapshot()")  # fmt: skip
    if Path(path).suffix.lower() != ".h5":
        raise ValueError(f"{path}: output must be .h5, got {Path(path).suffix or 'no suffix'}")
    from . import h5

    h5.save(graph, path)


def parse(data: bytes, name: str) -> Graph:
    """The graph in the bytes of a file, checked; `name` is for messages.

    raises   ModelError `file: node or tensor: rule, got value; remedy`
    """
    return _parser(data, name)(data, name)


def patch_tflite(data: bytes, name: str, tensors: Mapping[str, Tensor]) -> bytes:
    """The bytes of a .tflite file with other constants and quantisation parameters.

    data      of a file that `load` takes
    name      of the file, for messages
    tensors   name in the file's graph -> the tensor as it is to be, of the same shape and type; of
              an activation the quantisation
    returns   as many bytes; those of other things are unchanged
    raises    ModelError where the file has no room for a tensor, or shares its bytes with another
    """
    reader = _reader("tflite_patch", name, "tflite flatbuffers")
    graph = parse(data, name)
    # a tensor's stream is its number in the file it was read from
    numbered = {graph.tensor(old).stream: new for old, new in tensors.items()}
    try:
        return reader.patched(data, numbered)
    except ModelError as error:
        raise ModelError(f"{name}: {error}") from error


def _parser(data: bytes, name: str) -> Callable[[bytes, str], Graph]:
    """The function that reads files with this content."""
    if files.is_tflite(data):
        return _reader("tflite", name, "tflite flatbuffers").parse
    if files.is_hdf5(data):
        return _reader("h5", name, "h5py").parse
    raise ModelError(f"{name}: must be a .tflite or npusim .h5 file, got {_kind(data)}")


def _reader(module: str, name: str, packages: str) -> Any:
    """The module that reads the files of a format."""
    try:
        return import_module(f".{module}", __name__)
    except ModuleNotFoundError as error:
        raise ModelError(
            f"{name}: reading it needs the packages {packages}, got {error}; pip install {packages}"
        ) from error


def _kind(data: bytes) -> str:
    """What a file of another format seems to be."""
    if data.startswith(b"PK\x03\x04"):
        return "a zip archive (a .keras model?), which this version does not read"
    if files.is_onnx(data):
        return "what seems an ONNX model; npusim quantize makes an int8 model of a float one"
    return f"content that starts with {data[:8]!r}"
