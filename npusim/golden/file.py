"""Golden files: a recorded run as HDF5, the same bytes for equal runs.

The layout is described in docs/golden.md. Files are read with suspicion: see `formats.h5_objects`.
"""

from collections.abc import Mapping
from pathlib import Path

import h5py
import numpy as np

from ..check import NAME_LIMIT
from ..formats import files
from ..formats.h5_objects import (
    REMEDY,
    Reader,
    names,
    read_bytes,
    stored,
    write_attributes,
    write_bytes,
)
from ..graph import ABSENT, DTYPES, Accumulator, ModelError, Quantization
from .record import ORIGINS, Golden, Parameter, RecordedNode, RecordedTensor, data_hash

FORMAT = "npusim golden"
VERSION = 1
KINDS = ("constant", "input", "activation")


def save(golden: Golden, path: str | Path) -> None:
    """Write a golden file, atomically; OSError when it cannot be written."""
    files.write(path, to_bytes(golden))


def load(path: str | Path) -> Golden:
    """The run in a golden file.

    raises   ModelError `file: object: rule, got value; remedy`
    """
    return parse(files.read(path), Path(path).name)


def is_golden(data: bytes) -> bool:
    """Whether the bytes are those of a golden file, which may be broken further on."""
    try:
        return read_bytes(data, "", lambda reader, file: reader.text(file, "format")) == FORMAT
    except ModelError:
        return False


def is_foreign(data: bytes) -> bool:
    """Whether the bytes are a sound HDF5 file of no format of npusim's, and no Keras model."""
    known = {"format", "keras_version", "model_config"}
    try:
        return read_bytes(data, "", lambda reader, file: not known & set(file.attrs))
    except ModelError:
        return False


def parse(data: bytes, file_name: str) -> Golden:
    """The run in the bytes of a golden file.

    raises   ModelError `file: object: rule, got value; remedy`
    """
    return read_bytes(data, file_name, _read)


def to_bytes(golden: Golden) -> bytes:
    """The bytes of a golden file."""
    return write_bytes(lambda file: _write(file, golden))


def _write(file: h5py.File, golden: Golden) -> None:
    write_attributes(file, {"format": FORMAT, "version": VERSION, "model": golden.model})
    write_attributes(file, {"profile": golden.profile, "layout": golden.layout})
    bits, overflow = golden.accumulator.bits, golden.accumulator.overflow
    write_attributes(file, {"accumulator_bits": bits, "accumulator_overflow": overflow})
    write_attributes(file, {"graph_sha256": golden.graph_sha256})
    file["inputs"] = np.array(golden.inputs, np.int64)
    file["outputs"] = np.array(golden.outputs, np.int64)
    for group, texts in (("versions", golden.versions), ("provenance", golden.provenance)):
        made = file.create_group(group)
        for key in sorted(texts):
            made[key] = stored(texts[key])
    tensors, nodes = file.create_group("tensors"), file.create_group("nodes")
    for index, tensor in enumerate(golden.tensors):
        _write_tensor(tensors.create_group(f"{index:06d}"), tensor)
    for index, node in enumerate(golden.nodes):
        _write_node(nodes.create_group(f"{index:06d}"), node)


def _write_tensor(group: h5py.Group, tensor: RecordedTensor) -> None:
    facts = {"name": tensor.name, "kind": tensor.kind, "dtype": tensor.dtype}
    write_attributes(group, {**facts, "shape": tensor.shape, "sha256": tensor.sha256})
    if tensor.values is not None:
        group["values"] = tensor.values
    if tensor.quantization is not None:
        group["scale"] = tensor.quantization.scale
        group["zero_point"] = tensor.quantization.zero_point
        if tensor.quantization.axis is not None:
            write_attributes(group, {"axis": tensor.quantization.axis})


def _write_node(group: h5py.Group, node: RecordedNode) -> None:
    facts = {"name": node.name, "op": node.op, "rounding": node.rounding or ""}
    write_attributes(group, {**facts, "inputs": node.inputs, "outputs": node.outputs})
    if node.rule is not None:
        write_attributes(group, {"rule": node.rule})
    parameters = group.create_group("parameters")
    for name in sorted(node.parameters):
        values, origin = node.parameters[name]
        parameters[name] = values
        write_attributes(parameters[name], {"origin": origin})


def _read(reader: Reader, file: h5py.File) -> Golden:
    if "format" not in file.attrs or reader.text(file, "format") != FORMAT:
        raise ModelError(f"/@format: must be {FORMAT!r}, got another HDF5 file")
    version = reader.integer(file, "version")
    if version != VERSION:
        raise ModelError(f"/@version: must be {VERSION}, got {version}; update npusim")
    bits, overflow = reader.integer(file, "accumulator_bits"), "accumulator_overflow"
    tensors = tuple(_tensor(reader, g) for g in reader.children(reader.group(file, "tensors")))
    golden = Golden(
        model=reader.text(file, "model"),
        profile=reader.text(file, "profile"),
        accumulator=Accumulator(bits, reader.text(file, overflow)),
        layout=reader.text(file, "layout"),
        graph_sha256=reader.text(file, "graph_sha256"),
        versions=_texts(reader, file, "versions"),
        provenance=_texts(reader, file, "provenance"),
        tensors=tensors,
        nodes=tuple(_node(reader, g) for g in reader.children(reader.group(file, "nodes"))),
        inputs=reader.indices(file, "inputs"),
        outputs=reader.indices(file, "outputs"),
    )
    _check_wiring(golden)
    return golden


def _texts(reader: Reader, file: h5py.File, name: str) -> Mapping[str, str]:
    group = reader.group(file, name)
    return {key: reader.string(group, key) for key in names(group)}


def _tensor(reader: Reader, group: h5py.Group) -> RecordedTensor:
    dtype, kind = reader.text(group, "dtype"), reader.text(group, "kind")
    _check_choice(group, "dtype", dtype, DTYPES)
    _check_choice(group, "kind", kind, KINDS)
    quantization = None
    if "scale" in group:
        scale = reader.array(group, "scale", "float32")
        axis = reader.integer(group, "axis") if "axis" in group.attrs else None
        quantization = Quantization(scale, reader.array(group, "zero_point", "int64"), axis)
    values = None if kind == "constant" else reader.array(group, "values", dtype)
    tensor = RecordedTensor(
        name=reader.text(group, "name"),
        kind=kind,
        shape=reader.integers(group, "shape"),
        dtype=dtype,
        quantization=quantization,
        sha256=reader.text(group, "sha256"),
        values=values,
    )
    _check_values(group, tensor)
    return tensor


def _check_values(group: h5py.Group, tensor: RecordedTensor) -> None:
    if tensor.values is None:
        return
    if tensor.values.shape != tensor.shape:
        raise ModelError(f"{group.name}/values: must have the shape {tensor.shape}, "
                         f"got {tensor.values.shape}; {REMEDY}")  # fmt: skip
    digest = data_hash(tensor.values)
    if digest != tensor.sha256:
        raise ModelError(f"{group.name}/values: must have the hash {tensor.sha256[:12]}.., "
                         f"got {digest[:12]}..; {REMEDY}")  # fmt: skip
    q = tensor.quantization
    if q is not None and (q.scale.shape != (1,) or q.zero_point.shape != (1,)):
        raise ModelError(f"{group.name}/scale: must be one number with one zero point, "
                         f"got {q.scale.shape} and {q.zero_point.shape}; {REMEDY}")  # fmt: skip


def _node(reader: Reader, group: h5py.Group) -> RecordedNode:
    stored_parameters = reader.group(group, "parameters")
    return RecordedNode(
        name=reader.text(group, "name"),
        op=reader.text(group, "op"),
        inputs=reader.integers(group, "inputs"),
        outputs=reader.integers(group, "outputs"),
        rounding=reader.text(group, "rounding") or None,
        parameters={
            name: _parameter(reader, stored_parameters, name) for name in names(stored_parameters)
        },
        rule=reader.text(group, "rule") if "rule" in group.attrs else None,
    )


def _parameter(reader: Reader, group: h5py.Group, name: str) -> Parameter:
    values = reader.array(group, name, "int64", "int32", "float64", "float32", "bool")
    origin = reader.text(group[name], "origin")
    _check_choice(group[name], "origin", origin, ORIGINS)
    return Parameter(values, origin)


def _check_choice(owner: h5py.Group, name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ModelError(f"{owner.name}@{name}: must be one of {', '.join(choices)}, got {value}")


def _check_wiring(golden: Golden) -> None:
    """Indices point to tensors, names are unique, and no node reads what is made later."""
    count = len(golden.tensors)
    seen = [t.name for t in golden.tensors]
    own = [text for n in golden.nodes for text in (n.name, n.rule or "")]
    for text in (golden.model, golden.profile, *seen, *own):
        if not text.isprintable() or len(text) > NAME_LIMIT:
            raise ModelError(f"names: must have at most {NAME_LIMIT} printable characters, "
                             f"got {text[:80]!r}; {REMEDY}")  # fmt: skip
    if len(set(seen)) != count:
        raise ModelError(f"/tensors: names must be unique, got {count} tensors with "
                         f"{len(set(seen))} names; {REMEDY}")  # fmt: skip
    made = {i for i, t in enumerate(golden.tensors) if t.kind == "constant"} | set(golden.inputs)
    for where, indices in (("inputs", golden.inputs), ("outputs", golden.outputs)):
        _check_indices(f"/{where}", indices, range(count))
    for node in golden.nodes:
        _check_indices(f"node {node.name}", node.inputs, made | {ABSENT})
        _check_indices(f"node {node.name}", node.outputs, set(range(count)) - made)
        made.update(node.outputs)
    missing = [t.name for i, t in enumerate(golden.tensors) if i not in made]
    if missing:
        raise ModelError(f"tensor {missing[0]}: must be made by a node, got none; {REMEDY}")


def _check_indices(where: str, indices: tuple[int, ...], allowed: range | set[int]) -> None:
    for i in indices:
        if i not in allowed:
            raise ModelError(f"{where}: must refer to tensors that are there, got {i}; {REMEDY}")
