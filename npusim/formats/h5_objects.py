"""HDF5 objects that are written the same way each time, and read with suspicion.

Written: no timestamps, objects in a fixed order, strings of fixed length, datasets contiguous.
Read: only hard links to objects that were asked for; every value's type and size is proven before
it is read; nothing is unpickled.
"""

import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import prod
from typing import Any, TypeVar

import h5py
import numpy as np

from ..graph import ModelError

ATTRIBUTE_LIMIT = 2**16
DEPTH = 8
REMEDY = "the file is damaged, or was not written by npusim"

# h5py's ways to say that a file is broken.
_BROKEN = (OSError, RuntimeError, KeyError, TypeError, ValueError, OverflowError, MemoryError)

Content = TypeVar("Content")


def write_bytes(write: Callable[[h5py.File], None]) -> bytes:
    """The bytes of a file that `write` fills."""
    image = io.BytesIO()
    with h5py.File(image, "w", libver=("earliest", "v110")) as file:
        write(file)
    return image.getvalue()


def read_bytes(
    data: bytes, file_name: str, read: Callable[["Reader", h5py.File], Content]
) -> Content:
    """What `read` makes of the file with these bytes.

    raises   ModelError `file: object: rule, got value; remedy`
    """
    try:
        with h5py.File(io.BytesIO(data), "r") as file:
            return read(Reader(len(data)), file)
    except ModelError as error:
        raise ModelError(f"{file_name}: {error}") from error
    except _BROKEN as error:
        reason = " ".join(str(error).split())
        raise ModelError(f"{file_name}: must be HDF5, got {reason}; {REMEDY}") from error


def write_attributes(group: h5py.Group, values: Mapping[str, Any]) -> None:
    """Attributes in the order of their names."""
    for name in sorted(values):
        group.attrs.create(name, stored(values[name]))


def stored(value: Any) -> np.ndarray:
    """A plain value as HDF5 holds it: int64, float64, bool or UTF-8 of fixed length."""
    if isinstance(value, str):
        text = value.encode()
        return np.array(text, h5py.string_dtype("utf-8", max(len(text), 1)))
    if isinstance(value, tuple):
        return np.array(value, np.int64)
    return np.array(value, {bool: np.bool_, int: np.int64, float: np.float64}[type(value)])


def names(objects: Iterable[str | bytes]) -> Iterator[str]:
    """Names, which h5py gives as bytes where they are no UTF-8."""
    for name in objects:
        if isinstance(name, bytes):
            raise ModelError(f"{name!r}: names must be UTF-8; {REMEDY}")
        yield name


def datasets(group: h5py.Group, depth: int = DEPTH) -> Iterator[tuple[h5py.Group, str]]:
    """(group, name) of everything but groups in a group and in those in it, links among them."""
    if depth == 0:
        raise ModelError(f"{group.name}: groups must be at most {DEPTH} deep; {REMEDY}")
    for name in names(group):
        inside = isinstance(group.get(name, getlink=True), h5py.HardLink)
        if inside and group.get(name, getclass=True) is h5py.Group:
            yield from datasets(group[name], depth - 1)
        else:
            yield group, name


class Reader:
    """Objects and values of a file of `size` bytes, each checked before it is read.

    All arrays together may not be longer than the file: nothing is stored once and read often.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._left = size

    def group(self, parent: h5py.Group, name: str) -> h5py.Group:
        return self._object(parent, name, h5py.Group)

    def children(self, parent: h5py.Group) -> Iterator[h5py.Group]:
        """The groups 000000, 000001, .. of a list."""
        for index in range(len(parent)):
            yield self.group(parent, f"{index:06d}")

    def array(self, parent: h5py.Group, name: str, *dtypes: str) -> np.ndarray:
        """A dataset of one of the types."""
        dataset = self._dataset(parent, name)
        if dataset.dtype not in [np.dtype(dtype) for dtype in dtypes]:
            raise ModelError(f"{dataset.name}: type must be {dtypes[0]}, got {dataset.dtype}")
        return dataset[()]

    def indices(self, parent: h5py.Group, name: str) -> tuple[int, ...]:
        """A dataset that lists int64."""
        values = self.array(parent, name, "int64")
        if values.ndim != 1:
            raise ModelError(f"/{name}: must be a list, got {values.shape}; {REMEDY}")
        return tuple(values.tolist())

    def string(self, parent: h5py.Group, name: str) -> str:
        """A scalar dataset that holds text."""
        dataset = self._dataset(parent, name)
        if dataset.shape != ():
            raise ModelError(f"{dataset.name}: must be one text, got {dataset.shape}; {REMEDY}")
        return _decoded(dataset.name, dataset.dtype, dataset)

    def _dataset(self, parent: h5py.Group, name: str) -> h5py.Dataset:
        """A dataset whose values are stored in one piece inside the file."""
        dataset = self._object(parent, name, h5py.Dataset)
        layout = dataset.id.get_create_plist()
        if layout.get_layout() != h5py.h5d.CONTIGUOUS or layout.get_external_count():
            raise ModelError(f"{dataset.name}: must be stored in one piece; {REMEDY}")
        if dataset.shape is None:
            raise ModelError(f"{dataset.name}: must hold values, got none; {REMEDY}")
        length = prod(dataset.shape) * dataset.dtype.itemsize
        if length > dataset.id.get_storage_size():
            raise ModelError(f"{dataset.name}: must be stored whole, got {dataset.shape}; {REMEDY}")
        self._left -= length
        if self._left < 0:
            raise ModelError(f"{dataset.name}: arrays must fit in the file of {self._size} bytes")
        return dataset

    def text(self, owner: h5py.Group, name: str) -> str:
        """An attribute that holds text."""
        attribute = self._attribute(owner, name)
        if attribute.shape != ():
            raise ModelError(f"{owner.name}@{name}: must be one text, got {attribute.shape}")
        return _decoded(f"{owner.name}@{name}", attribute.dtype, owner.attrs.get(name))

    def integer(self, owner: h5py.Group, name: str) -> int:
        value = self.value(owner, name)
        if type(value) is not int:
            raise ModelError(f"{owner.name}@{name}: must be one int64, got {value}; {REMEDY}")
        return value

    def integers(self, owner: h5py.Group, name: str) -> tuple[int, ...]:
        value = self.value(owner, name)
        if not isinstance(value, tuple) or any(isinstance(v, tuple) for v in value):
            raise ModelError(f"{owner.name}@{name}: must be a list of int64, got {value}; {REMEDY}")
        return value

    def value(self, owner: h5py.Group, name: str) -> Any:
        """An attribute as a plain value: int, float, bool, text, tuple of int or of tuples."""
        attribute = self._attribute(owner, name)
        kind, rank = attribute.dtype.kind, len(attribute.shape)
        if kind == "S":
            return self.text(owner, name)
        plain = attribute.dtype in (np.dtype("int64"), np.dtype("float64"), np.dtype("bool"))
        if not plain or rank > (2 if kind == "i" else 0):
            raise ModelError(
                f"{owner.name}@{name}: must be int64, float64, bool or text, "
                f"got {attribute.dtype} {attribute.shape}; {REMEDY}"
            )
        found = owner.attrs[name].tolist()
        if rank == 2:
            return tuple(tuple(row) for row in found)
        return tuple(found) if rank else found

    def _attribute(self, owner: h5py.Group, name: str) -> h5py.h5a.AttrID:
        if name not in owner.attrs:
            raise ModelError(f"{owner.name}@{name}: attribute must be there, got none; {REMEDY}")
        attribute = owner.attrs.get_id(name)
        if prod(attribute.shape) * attribute.dtype.itemsize > ATTRIBUTE_LIMIT:
            raise ModelError(
                f"{owner.name}@{name}: must have at most {ATTRIBUTE_LIMIT} bytes, "
                f"got {attribute.dtype} {attribute.shape}"
            )
        return attribute

    def _object(self, parent: h5py.Group, name: str, kind: type) -> Any:
        where = f"{parent.name.rstrip('/')}/{name}"
        link = parent.get(name, getlink=True)
        if not isinstance(link, h5py.HardLink):
            got = "none" if link is None else f"a {type(link).__name__}"
            raise ModelError(f"{where}: must be an object of this file, got {got}; {REMEDY}")
        found = parent[name]
        if not isinstance(found, kind):
            got = type(found).__name__.lower()
            raise ModelError(f"{where}: must be a {kind.__name__.lower()}, got a {got}; {REMEDY}")
        return found


def _decoded(where: str, dtype: np.dtype, source: Any) -> str:
    """Text of fixed length: an attribute's value, or a dataset to read it from."""
    if dtype.kind != "S":
        raise ModelError(f"{where}: must be text of fixed length, got {dtype}; {REMEDY}")
    value = source[()] if isinstance(source, h5py.Dataset) else source
    return bytes(value).decode("utf-8")
