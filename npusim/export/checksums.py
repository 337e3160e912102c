"""The checksums of a model's constants, for the self-test."""

import zlib
from collections.abc import Iterator

import numpy as np

from ..c_syntax import filled
from .model import Model


def checksum_rows(model: Model) -> Iterator[str]:
    """The lines that define `self_test_constants`, of struct npu_constant, headers included.

    Arrays that training changes are those it begins with.
    """
    yield '#include "constants.h"'
    yield f'#include "{model.prefix}_weights.h"'
    yield ""
    yield "/* The model's constants, those that training changes as it begins. */"
    yield "static const struct npu_constant self_test_constants[] = {"
    for array in model.arrays:
        name = array.name.removeprefix(f"{model.prefix}_")
        words = [f'{{"{name}",', f"{array.name},", f"sizeof {array.name},"]
        yield from filled([*words, f"0x{_crc32(array.values):08X}u}},"], next_lines="     ")
    yield "    {NULL, NULL, 0, 0},"
    yield "};"


def _crc32(values: np.ndarray) -> int:
    """Of the bytes in C: flat, little-endian."""
    little = values.astype(values.dtype.newbyteorder("<"), copy=False)
    return zlib.crc32(little.tobytes())
