"""A hash of what something is, not of what it is called."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

_NO_CONTENT = {"name", "provenance", "stream"}


def content_hash(purpose: str, *values: Any) -> str:
    """SHA-256 in hex of graphs, arrays, mappings, tuples and plain values.

    purpose   keeps hashes for different uses apart
    Names, provenance and random streams of a graph do not count; data, scales and wiring do. What
    is absent does not count either, so a field that is new and empty changes no hash.
    """
    digest = hashlib.sha256(purpose.encode())
    for value in values:
        feed(digest.update, value)
    return digest.hexdigest()


def feed(update: Callable[[bytes], None], value: Any) -> None:
    """Hand a value's content to `update`, arrays by type, shape and bytes, the rest by its text."""
    if isinstance(value, np.ndarray):
        update(f"{value.dtype.str}{value.shape}".encode())
        update(np.ascontiguousarray(value).tobytes())
    elif is_dataclass(value):
        for field in fields(value):
            content = getattr(value, field.name)
            if field.name not in _NO_CONTENT and content is not None:
                feed(update, content)
    elif isinstance(value, Mapping):
        for key in sorted(value):
            update(key.encode())
            feed(update, value[key])
    elif isinstance(value, tuple) and any(is_dataclass(item) for item in value):
        for item in value:
            feed(update, item)
    else:
        update(f"{value!r};".encode())
