"""NAME_weights.h and NAME_weights.c: every constant of a model as an array."""

from collections.abc import Iterable, Iterator

from ..c_syntax import filled, remark, rows
from .model import Model
from .row import Array, c_type


def weights_header(model: Model) -> str:
    """Declarations of all arrays."""
    guard = f"{model.names.macro}_WEIGHTS_H"
    lines = [
        f"/* Constants of {model.prefix}, flat; those without const are what training changes. */",
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
    if model.writable_bytes:
        lines += ["", "#include <string.h>"]
    lines += definitions(model.arrays)
    if model.writable_bytes:
        lines += ["", f"void {model.prefix}_load_weights(void)", "{"]
        lines += [*copies(model.arrays), "}"]
    return "".join(f"{line}\n" for line in lines)


def definitions(arrays: Iterable[Array], kind: str = "") -> Iterator[str]:
    """The arrays, and what the writable ones begin with as constants beside them.

    kind   such as "static ", in front of them
    """
    for array in arrays:
        yield ""
        yield f"/* {remark(array.what)} */"
        yield from _definition(array, kind)


def copies(arrays: Iterable[Array]) -> Iterator[str]:
    """The statements that give the writable ones the values they begin with."""
    for array in arrays:
        if array.writable:
            source = _initial(array).partition("[")[0]
            yield from filled(
                [f"memcpy({array.name},", f"{source},", f"sizeof {source});"], next_lines=" " * 11
            )


def _definition(array: Array, kind: str) -> Iterator[str]:
    if array.writable:
        yield f"{kind}{_declaration(array)};"
        yield f"static const {_kind(array)} {_initial(array)} = {{"
    else:
        yield f"{kind}{_declaration(array)} = {{"
    yield from rows(array.values)
    yield "};"


def _declaration(array: Array) -> str:
    constant = "" if array.writable else "const "
    return f"{constant}{_kind(array)} {array.name}[{array.values.size}]"


def _initial(array: Array) -> str:
    return f"{array.name}_initial[{array.values.size}]"


def _kind(array: Array) -> str:
    return c_type(array.values.dtype.name)
