"""npusim's own format: a graph as an HDF5 file, whole, and the same bytes for equal graphs.

The layout is described in docs/h5-format.md. No timestamps, objects in a fixed order, strings of
fixed length, datasets contiguous: what is written depends on the graph and the HDF5 library alone.
"""

from pathlib import Path

import h5py
import numpy as np

from ..check import check
from ..graph import Graph, Node, Tensor
from . import files
from .h5_objects import stored, write_attributes, write_bytes
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
    return write_bytes(lambda file: _write_graph(file, graph))


def _write_graph(file: h5py.File, graph: Graph) -> None:
    write_attributes(file, {"format": FORMAT, "version": VERSION, "name": graph.name})
    write_attributes(file, {"profile": graph.profile, "layout": graph.layout})
    if graph.accumulator is not None:
        bits, overflow = graph.accumulator.bits, graph.accumulator.overflow
        write_attributes(file, {"accumulator_bits": bits, "accumulator_overflow": overflow})
    file["inputs"] = np.array(graph.inputs, np.int64)
    file["outputs"] = np.array(graph.outputs, np.int64)
    provenance = file.create_group("provenance")
    for key in sorted(graph.provenance):
        provenance[key] = stored(graph.provenance[key])
    tensors, nodes = file.create_group("tensors"), file.create_group("nodes")
    for index, tensor in enumerate(graph.tensors):
        _write_tensor(tensors.create_group(f"{index:06d}"), tensor)
    for index, node in enumerate(graph.nodes):
        _write_node(nodes.create_group(f"{index:06d}"), node)


def _write_tensor(group: h5py.Group, tensor: Tensor) -> None:
    write_attributes(
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
            write_attributes(group, {"axis": tensor.quantization.axis})


def _write_node(group: h5py.Group, node: Node) -> None:
    write_attributes(
        group, {"op": node.op, "name": node.name, "inputs": node.inputs, "outputs": node.outputs}
    )
    write_attributes(group.create_group("attributes"), node.attributes)
    if node.rule is not None:
        write_attributes(group, {"rule": node.rule})
    given = group.create_group("given")
    for key in sorted(node.given):
        given[key] = node.given[key]
