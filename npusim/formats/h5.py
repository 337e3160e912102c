"""npusim's own format: a graph as an HDF5 file, whole, and the same bytes for equal graphs.

The layout is described in docs/h5-format.md. No timestamps, objects in a fixed order, strings of
fixed length, datasets contiguous: what is written depends on the graph and the HDF5 library alone.
"""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ..check import check
from ..graph import Graph, Node, Tensor
from . import files
from .h5_read import FORMAT, parse

VERSION = 1


def load(path: str | Path) -> Graph:
    """The graph of a .h5 file that `save` wrote, checked; equal to the one that was saved.

    raises   ModelError `file: node or tensor: rule, got value; remedy`
    """
    return parse(files.read(path), Path(path).name)


def save(graph: Graph, path: str | Path) -> None:
    """Write a graph, atomically.

    raises   ModelError for an illegal graph, OSError when the file cannot be written
    """
    files.write(path, to_bytes(graph))


def to_bytes(graph: Graph) -> bytes:
    """The bytes of the graph's file."""
    check(graph, graph.name)
    image = io.BytesIO()
    with h5py.File(image, "w", libver=("earliest", "v110")) as file:
        _write_graph(file, graph)
    return image.getvalue()


def _write_graph(file: h5py.File, graph: Graph) -> None:
    _attributes(file, {"format": FORMAT, "version": VERSION, "name": graph.name})
    _attributes(file, {"profile": graph.profile, "layout": graph.layout})
    if graph.accumulator is not None:
        bits, overflow = graph.accumulator.bits, graph.accumulator.overflow
        _attributes(file, {"accumulator_bits": bits, "accumulator_overflow": overflow})
    file["inputs"] = np.array(graph.inputs, np.int64)
    file["outputs"] = np.array(graph.outputs, np.int64)
    provenance = file.create_group("provenance")
    for key in sorted(graph.provenance):
        provenance[key] = _stored(graph.provenance[key])
    tensors, nodes = file.create_group("tensors"), file.create_group("nodes")
    for index, tensor in enumerate(graph.tensors):
        _write_tensor(tensors.create_group(f"{index:06d}"), tensor)
    for index, node in enumerate(graph.nodes):
        _write_node(nodes.create_group(f"{index:06d}"), node)


def _write_tensor(group: h5py.Group, tensor: Tensor) -> None:
    _attributes(
        group,
        {
            "name": tensor.name,
            "kind": tensor.kind,
            "dtype": tensor.dtype,
            "shape": tensor.shape,
            "stream": tensor.stream,
        },
    )
    if tensor.data is not None:
        group["data"] = tensor.data
    if tensor.quantization is not None:
        group["scale"] = tensor.quantization.scale
        group["zero_point"] = tensor.quantization.zero_point
        if tensor.quantization.axis is not None:
            _attributes(group, {"axis": tensor.quantization.axis})


def _write_node(group: h5py.Group, node: Node) -> None:
    _attributes(
        group, {"op": node.op, "name": node.name, "inputs": node.inputs, "outputs": node.outputs}
    )
    _attributes(group.create_group("attributes"), node.attributes)
    if node.rule is not None:
        _attributes(group, {"rule": node.rule})
    given = group.create_group("given")
    for key in sorted(node.given):
        given[key] = node.given[key]


def _attributes(group: h5py.Group, values: Mapping[str, Any]) -> None:
    for name in sorted(values):
        group.attrs.create(name, _stored(values[name]))


def _stored(value: Any) -> np.ndarray:
    """A plain value as HDF5 holds it: int64, float64, bool or UTF-8 of fixed length."""
    if isinstance(value, str):
        text = value.encode()
        return np.array(text, h5py.string_dtype("utf-8", max(len(text), 1)))
    if isinstance(value, tuple):
        return np.array(value, np.int64)
    return np.array(value, {bool: np.bool_, int: np.int64, float: np.float64}[type(value)])
