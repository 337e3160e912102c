"""What the reader of .h5 files refuses: other objects, other types, links, and damage."""

from __future__ import annotations

import io
from collections.abc import Callable

import h5py
import numpy as np
import pytest
from formats.test_h5 import rich

from npusim.formats import h5
from npusim.graph import ModelError

REMEDY = "the file is damaged, or was not written by npusim"


def edited(change: Callable[[h5py.File], None]) -> bytes:
    """The file after `change` has edited it as any HDF5 program could."""
    image = io.BytesIO(h5.to_bytes(rich()))
    with h5py.File(image, "r+") as file:
        change(file)
    return image.getvalue()


def put(name: str, value: object, **options: object) -> Callable[[h5py.File], None]:
    """Replace an object by a dataset, a link or nothing."""

    def change(file: h5py.File) -> None:
        del file[name]
        if isinstance(value, np.ndarray):
            file.create_dataset(name, data=value, **options)
        elif value is not None:
            file[name] = value

    return change


def attribute(
    owner: str, name: str, value: object, dtype: object = None
) -> Callable[[h5py.File], None]:
    """Replace an attribute, or delete it."""

    def change(file: h5py.File) -> None:
        del file[owner].attrs[name]
        if value is not None:
            file[owner].attrs.create(name, value, dtype=dtype)

    return change


def unallocated(file: h5py.File) -> None:
    """A terabyte that was never written."""
    del file[WEIGHTS]
    file.create_dataset(WEIGHTS, shape=(2**40,), dtype="int8", chunks=(2**20,))


def declared(file: h5py.File) -> None:
    """A terabyte in one piece that was never written."""
    del file[WEIGHTS]
    file.create_dataset(WEIGHTS, shape=(2**40,), dtype="int8")


def external(file: h5py.File) -> None:
    del file[WEIGHTS]
    file.create_dataset(WEIGHTS, shape=(4,), dtype="int8", external=[("/etc/passwd", 0, 4)])


def external_text(file: h5py.File) -> None:
    del file["provenance/file"]
    options = {"shape": (1,), "dtype": "S4", "external": [("/etc/passwd", 0, 4)]}
    file.create_dataset("provenance/file", **options)


def virtual(file: h5py.File) -> None:
    del file[WEIGHTS]
    layout = h5py.VirtualLayout(shape=(4,), dtype="int8")
    layout[:] = h5py.VirtualSource("/etc/passwd", "x", shape=(4,))
    file.create_virtual_dataset(WEIGHTS, layout)


def shared_array(file: h5py.File) -> None:
    """A group of tensors that all hold the same big array."""
    file["big"] = np.zeros(2**20, np.int8)
    for index in range(len(file["tensors"])):
        group = file[f"tensors/{index:06d}"]
        if "data" in group:
            del group["data"]
        group["data"] = file["big"]
        group.attrs["dtype"] = np.array(b"int8", h5py.string_dtype("utf-8", 4))


def node_option(name: bytes, value: object) -> Callable[[h5py.File], None]:
    return lambda file: file["nodes/000003/attributes"].attrs.create(name, value)


WEIGHTS = "tensors/000004/data"
TEXT = h5py.string_dtype("utf-8", 5)
CASES: dict[str, tuple[Callable[[h5py.File], None], str]] = {
    "external link": (
        put(WEIGHTS, h5py.ExternalLink("/etc/passwd", "/data")),
        f"/{WEIGHTS}: must be an object of this file, got a ExternalLink; {REMEDY}",
    ),
    "soft link": (
        put(WEIGHTS, h5py.SoftLink("/inputs")),
        f"/{WEIGHTS}: must be an object of this file, got a SoftLink; {REMEDY}",
    ),
    "link to itself": (
        put("tensors", h5py.SoftLink("/tensors")),
        f"/tensors: must be an object of this file, got a SoftLink; {REMEDY}",
    ),
    "text in another file": (
        external_text,
        f"/provenance/file: must be stored in one piece; {REMEDY}",
    ),
    "external storage": (external, f"/{WEIGHTS}: must be stored in one piece; {REMEDY}"),
    "virtual dataset": (virtual, f"/{WEIGHTS}: must be stored in one piece; {REMEDY}"),
    "terabyte in chunks": (unallocated, f"/{WEIGHTS}: must be stored in one piece; {REMEDY}"),
    "terabyte in one piece": (
        declared,
        f"/{WEIGHTS}: must be stored whole, got (1099511627776,); {REMEDY}",
    ),
    "compression": (
        put(WEIGHTS, np.zeros((4, 3, 3, 3), np.int8), compression="gzip"),
        f"/{WEIGHTS}: must be stored in one piece; {REMEDY}",
    ),
    "type of an array": (
        put(WEIGHTS, np.zeros((4, 3, 3, 3), np.int16)),
        f"/{WEIGHTS}: type must be int8, got int16",
    ),
    "byte order of an array": (
        put("tensors/000000/zero_point", np.array([128], ">i8")),
        "/tensors/000000/zero_point: type must be int64, got >i8",
    ),
    "array of pairs": (
        put(WEIGHTS, np.zeros(4, [("a", np.int8)])),
        f"/{WEIGHTS}: type must be int8, got [('a', 'i1')]",
    ),
    "shape of an array": (
        put(WEIGHTS, np.zeros((4, 3, 3, 2), np.int8)),
        "tensor weights_4: values must have the shape (4, 3, 3, 3), got (4, 3, 3, 2)",
    ),
    "empty dataset": (
        put("inputs", h5py.Empty("int64")),
        f"/inputs: must hold values, got none; {REMEDY}",
    ),
    "inputs of rank 2": (
        put("inputs", np.zeros((1, 1), np.int64)),
        f"/inputs: must be a list, got (1, 1); {REMEDY}",
    ),
    "dataset instead of a group": (
        put("nodes", np.zeros(1, np.int64)),
        f"/nodes: must be a group, got a dataset; {REMEDY}",
    ),
    "group instead of a dataset": (
        lambda file: (put("inputs", None)(file), file.create_group("inputs")),
        f"/inputs: must be a dataset, got a group; {REMEDY}",
    ),
    "object missing": (
        put("nodes/000002/given", None),
        f"/nodes/000002/given: must be an object of this file, got none; {REMEDY}",
    ),
    "gap in a list": (
        put("tensors/000003", None),
        f"/tensors/000003: must be an object of this file, got none; {REMEDY}",
    ),
    "zero point missing": (
        put("tensors/000000/zero_point", None),
        f"/tensors/000000/zero_point: must be an object of this file, got none; {REMEDY}",
    ),
    "attribute missing": (
        attribute("nodes/000001", "op", None),
        f"/nodes/000001@op: attribute must be there, got none; {REMEDY}",
    ),
    "text of open length": (
        attribute("/", "name", "m"),
        f"/@name: must be text of fixed length, got object; {REMEDY}",
    ),
    "number instead of text": (
        attribute("/", "name", 7),
        f"/@name: must be text of fixed length, got int64; {REMEDY}",
    ),
    "list of texts": (
        attribute("/", "name", np.array([b"a", b"b"], TEXT)),
        "/@name: must be one text, got (2,)",
    ),
    "text that is not UTF-8": (
        attribute("/", "name", np.array(b"\xff\xfe", TEXT)),
        "must be HDF5, got 'utf-8' codec can't decode byte 0xff in position 0: "
        f"invalid start byte; {REMEDY}",
    ),
    "text in a dataset of numbers": (
        put("provenance/file", np.zeros((), np.int64)),
        f"/provenance/file: must be text of fixed length, got int64; {REMEDY}",
    ),
    "list of texts in a dataset": (
        put("provenance/file", np.zeros(3, "S4")),
        f"/provenance/file: must be one text, got (3,); {REMEDY}",
    ),
    "list instead of a number": (
        attribute("tensors/000001", "stream", np.int64([1, 2])),
        f"/tensors/000001@stream: must be one int64, got (1, 2); {REMEDY}",
    ),
    "number instead of a list": (
        attribute("tensors/000000", "shape", np.int64(3)),
        f"/tensors/000000@shape: must be a list of int64, got 3; {REMEDY}",
    ),
    "number of 32 bits": (
        attribute("tensors/000000", "shape", np.int32([3])),
        f"/tensors/000000@shape: must be int64, float64, bool or text, got int32 (1,); {REMEDY}",
    ),
    "pickled object": (
        node_option(b"padding", np.void(b"cos\nsystem\n")),
        f"/nodes/000003/attributes@padding: must be int64, float64, bool or text, "
        f"got |V11 (); {REMEDY}",
    ),
    "long attribute": (
        attribute("nodes/000001", "inputs", np.zeros(8000, np.int64)),
        "quantize_0/quantize: must read x and write one tensor, got 8000 and 1",
    ),
    "name of a parameter": (
        lambda file: file.__setitem__("nodes/000002/given/a\n", np.zeros(4, np.int32)),
        "conv2d_0/conv2d: given parameters must be multiplier and shift of a weighted node, or "
        "statistics_mean and statistics_deviation, got a\n, multiplier, shift, "
        "statistics_deviation, statistics_mean",
    ),
    "name that is not UTF-8": (
        node_option(b"\xff", np.int64(1)),
        f"b'\\xff': names must be UTF-8; {REMEDY}",
    ),
    "type of a tensor": (
        attribute("tensors/000000", "dtype", np.array(b"int4", TEXT)),
        "/tensors/000000@dtype: must be one of int8, int16, int32, int64, uint8, float32, bool, "
        "got int4",
    ),
    "accumulator": (
        attribute("/", "accumulator_bits", np.int64(99)),
        f"must be HDF5, got accumulator: bits must be 8..64, got 99; {REMEDY}",
    ),
    "format": (
        attribute("/", "format", np.array(b"graph", TEXT)),
        "/@format: must be 'npusim graph', got another HDF5 file",
    ),
    "no format": (
        attribute("/", "format", None),
        "/@format: must be 'npusim graph', got another HDF5 file",
    ),
    "Keras": (
        lambda file: (attribute("/", "format", None)(file),
                      file.attrs.create("keras_version", "2.15")),
        "/@format: must be 'npusim graph', got a Keras model; npusim quantize makes it int8",
    ),
    "newer version": (
        attribute("/", "version", np.int64(2)),
        "/@version: must be 1, got 2; update npusim",
    ),
    "version in words": (
        attribute("/", "version", np.array(b"1", TEXT)),
        f"/@version: must be one int64, got 1; {REMEDY}",
    ),
    "illegal graph": (
        attribute("/", "layout", np.array(b"NCWH", TEXT)),
        "layout: must be NHWC or NCHW, got 'NCWH'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_edited_file_is_refused(case):
    change, expected = CASES[case]
    with pytest.raises(ModelError) as caught:
        h5.parse(edited(change), "m.h5")
    assert str(caught.value) == f"m.h5: {expected}"


def test_array_that_is_shared_is_refused():
    data = edited(shared_array)
    with pytest.raises(ModelError) as caught:
        h5.parse(data, "m.h5")
    assert str(caught.value) == (
        f"m.h5: /tensors/000001/data: arrays must fit in the file of {len(data)} bytes"
    )


def test_long_attribute_is_refused():
    image = io.BytesIO()
    with h5py.File(image, "w", libver="latest") as file:
        file.attrs["format"] = np.array(b"npusim graph", h5py.string_dtype("utf-8", 12))
        file.attrs["version"] = np.ones(2**17, np.int64)
    with pytest.raises(ModelError) as caught:
        h5.parse(image.getvalue(), "m.h5")
    assert str(caught.value) == (
        "m.h5: /@version: must have at most 65536 bytes, got int64 (131072,)"
    )


def test_what_the_format_does_not_name_is_left_alone():
    def add(file):
        file["notes"] = "by hand"
        file.attrs["author"] = "A. Stranger"
        file["notes_elsewhere"] = h5py.ExternalLink("absent.h5", "/")

    assert h5.parse(edited(add), "m.h5") == rich()


@pytest.mark.parametrize("part", [0, 0.01, 0.1, 0.5, 0.9, 0.999])
def test_truncated_file_is_refused(part):
    data = h5.to_bytes(rich())
    with pytest.raises(ModelError, match=r"^m\.h5: must be HDF5, got .*; the file is damaged"):
        h5.parse(data[: int(part * len(data))], "m.h5")
