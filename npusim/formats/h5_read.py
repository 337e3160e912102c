"""Read npusim's .h5 format from a file that may be broken or hostile."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import h5py

from ..check import check
from ..graph import DTYPES, Accumulator, Graph, ModelError, Node, Quantization, Tensor
from .h5_objects import Reader, names, read_bytes

FORMAT = "npusim graph"


def parse(data: bytes, file_name: str) -> Graph:
    """The graph in the bytes of a file, checked.

    raises   ModelError `file: object: rule, got value; remedy`
    """
    graph = read_bytes(data, file_name, _graph)
    check(graph, file_name)
    return graph


def _graph(reader: Reader, file: h5py.File) -> Graph:
    return _READERS[_version(file)](reader, file)


def _version(file: h5py.File) -> int:
    reader = Reader(0)
    if "format" not in file.attrs or reader.text(file, "format") != FORMAT:
        keras = {"keras_version", "model_config"}.intersection(file.attrs)
        got = "a Keras model; npusim quantize makes it int8" if keras else "another HDF5 file"
        raise ModelError(f"/@format: must be {FORMAT!r}, got {got}")
    version = reader.integer(file, "version")
    if version not in _READERS:
        raise ModelError(f"/@version: must be {', '.join(map(str, _READERS))}, got {version}; "
                         "update npusim")  # fmt: skip
    return version


def _graph_1(reader: Reader, file: h5py.File) -> Graph:
    """A graph in version 1 of the format."""
    accumulator = None
    if "accumulator_bits" in file.attrs:
        accumulator = Accumulator(
            reader.integer(file, "accumulator_bits"), reader.text(file, "accumulator_overflow")
        )
    provenance = reader.group(file, "provenance")
    return Graph(
        name=reader.text(file, "name"),
        tensors=tuple(_tensor(reader, g) for g in reader.children(reader.group(file, "tensors"))),
        nodes=tuple(_node(reader, g) for g in reader.children(reader.group(file, "nodes"))),
        inputs=reader.indices(file, "inputs"),
        outputs=reader.indices(file, "outputs"),
        profile=reader.text(file, "profile"),
        accumulator=accumulator,
        layout=reader.text(file, "layout"),
        provenance={key: reader.string(provenance, key) for key in names(provenance)},
    )


def _tensor(reader: Reader, group: h5py.Group) -> Tensor:
    dtype = reader.text(group, "dtype")
    if dtype not in DTYPES:
        raise ModelError(f"{group.name}@dtype: must be one of {', '.join(DTYPES)}, got {dtype}")
    quantization = None
    if "scale" in group:
        quantization = Quantization(
            reader.array(group, "scale", "float32"),
            reader.array(group, "zero_point", "int64"),
            reader.integer(group, "axis") if "axis" in group.attrs else None,
        )
    return Tensor(
        name=reader.text(group, "name"),
        shape=reader.integers(group, "shape"),
        dtype=dtype,
        kind=reader.text(group, "kind"),
        quantization=quantization,
        data=reader.array(group, "data", dtype) if "data" in group else None,
        stream=reader.integer(group, "stream"),
    )


def _node(reader: Reader, group: h5py.Group) -> Node:
    attributes, given = reader.group(group, "attributes"), reader.group(group, "given")
    return Node(
        op=reader.text(group, "op"),
        name=reader.text(group, "name"),
        inputs=reader.integers(group, "inputs"),
        outputs=reader.integers(group, "outputs"),
        attributes={name: reader.value(attributes, name) for name in names(attributes.attrs)},
        given={name: reader.array(given, name, *DTYPES) for name in names(given)},
        rule=reader.text(group, "rule") if "rule" in group.attrs else None,
    )


_READERS: Mapping[int, Callable[[Reader, h5py.File], Graph]] = MappingProxyType({1: _graph_1})
