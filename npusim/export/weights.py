"""NAME_weights.h and NAME_weights.c: every constant of a model as an array."""

from collections.abc import Iterator

from ..c_syntax import filled, remark, rows
from .model import Model
from .row import Array, c_type


def weights_header(model: Model) -> str:
    """Declarations of all arrays."""
    name = model.prefix
    guard = f"{model.names.macro}_WEIGHTS_H"
    lines = [
        f"/* Constants of {name}, flat; those without const are what training changes. */",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "#include <stdint.h>",
        "",
        *(f"extern {_declaration(array)};" for array in model.arrays),
        "",
        "#endif",
    ]
    return "".join(f"{line}\n" for line in lines)


def weights_source(model: Model) -> str:
    """Their definitions, and what copies the writable ones from flash."""
    lines = [f'#include "{model.prefix}.h"', f'#include "{model.prefix}_weights.h"']
    changed = [array for array in model.arrays if array.writable]
    if changed:
        lines += ["", "#include <string.h>"]
    for array in model.arrays:
        lines += ["", f"/* {remark(array.what)} */", *_definition(array)]
    if changed:
        lines += ["", *_load(model.prefix, changed)]
    return "".join(f"{line}\n" for line in lines)


def _definition(array: Array) -> Iterator[str]:
    if array.writable:
        yield f"{_declaration(array)};"
        yield f"static const {_kind(array)} {_initial(array)} = {{"
    else:
        yield f"{_declaration(array)} = {{"
    yield from rows(array.values)
    yield "};"


def _load(prefix: str, changed: list[Array]) -> Iterator[str]:
    yield f"void {prefix}_load_weights(void)"
    yield "{"
    for array in changed:
        source = _initial(array).partition("[")[0]
        yield from filled(
            [f"memcpy({array.name},", f"{source},", f"sizeof {source});"], next_lines=" " * 11
        )
    yield "}"


def _declaration(array: Array) -> str:
    constant = "" if array.writable else "const "
    return f"{constant}{_kind(array)} {array.name}[{array.values.size}]"


def _initial(array: Array) -> str:
    return f"{array.name}_initial[{array.values.size}]"


def _kind(array: Array) -> str:
    return c_type(array.values.dtype.name)
