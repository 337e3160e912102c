"""What C headers declare: functions, structs and their parameters.

Enough of C for the headers of this project: one declaration per line or argument, no nested
declarators but function pointers, which are kept as parameters of type CALLBACK.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

CALLBACK = "callback"
REALS = {"float": "float32", "double": "float64"}
"""Types of C that hold real numbers, and NumPy's names for them."""
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
_DIRECTIVE = re.compile(r"^\s*#(?:[^\n\\]|\\.)*", re.M | re.S)
_STRUCT = re.compile(r"struct\s+(\w+)\s*\{([^}]*)\}\s*;", re.S)
_ENUM = re.compile(r"enum\s*(\w*)\s*\{([^}]*)\}\s*;", re.S)
_FUNCTION = re.compile(
    r"^(?:static inline )?((?:const )?(?:struct |enum )?\w+[ *]+)(\w+)\(([^()]*)\)\s*[;{]", re.M
)


class Parameter(NamedTuple):
    """An argument or a field.

    type      "int8_t", "struct zo_state", "enum zo_rule" or CALLBACK, without const and pointer
    pointer   whether it points
    const     whether what it points at must not be changed
    """

    name: str
    type: str
    pointer: bool
    const: bool

    @property
    def struct(self) -> str:
        """The name of the struct it is or points at, or ""."""
        return self.type.removeprefix("struct ") if self.type.startswith("struct ") else ""


class Function(NamedTuple):
    """A prototype; `header` is the file's name."""

    name: str
    returns: Parameter
    parameters: tuple[Parameter, ...]
    header: str


class Declarations(NamedTuple):
    """Everything some headers declare, by name."""

    functions: dict[str, Function]
    structs: dict[str, tuple[Parameter, ...]]
    enums: dict[str, int]


def read_headers(paths: Iterable[Path]) -> Declarations:
    """The declarations of these headers; ValueError for a line this cannot read."""
    found = Declarations({}, {}, {})
    for path in paths:
        text = _DIRECTIVE.sub("", without_comments(path.read_text("utf-8")))
        for name, body in _STRUCT.findall(text):
            fields = [line.strip() for line in body.split(";") if line.strip()]
            found.structs[name] = tuple(_parameter(field) for field in fields)
        for _, body in _ENUM.findall(text):
            found.enums.update(_enumerators(body))
        for returns, name, inside in _FUNCTION.findall(_STRUCT.sub("", text)):
            parts = [] if inside.strip() in ("", "void") else inside.split(",")
            parameters = tuple(_parameter(part) for part in parts)
            result = _parameter(f"{returns} {name}")
            found.functions[name] = Function(name, result, parameters, path.name)
    return found


def without_comments(text: str) -> str:
    """C without its comments; lines stay where they are."""
    return _COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text)


def reaches_callback(found: Declarations, parameter: Parameter) -> bool:
    """Whether a function pointer is part of what this parameter brings along."""
    fields = found.structs.get(parameter.struct, ())
    return parameter.type == CALLBACK or any(reaches_callback(found, field) for field in fields)


def _parameter(text: str) -> Parameter:
    flat = " ".join(text.split())
    callback = re.fullmatch(r"[\w *]+\(\*(\w+)\)\s*\(.*\)", flat)
    if callback:
        return Parameter(callback[1], CALLBACK, True, False)
    match = re.fullmatch(r"(const )?((?:struct |enum )?\w+) ?(\*?) ?(\w+)", flat)
    if not match:
        raise ValueError(f"header: cannot read {flat!r}")
    const, base, star, name = match.groups()
    return Parameter(name, base, bool(star), bool(const and star))


def _enumerators(body: str) -> dict[str, int]:
    values, following = {}, 0
    for part in filter(None, (part.strip() for part in body.split(","))):
        name, _, given = (piece.strip() for piece in part.partition("="))
        following = int(given) if given else following
        values[name] = following
        following += 1
    return values
