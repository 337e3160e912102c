"""Words of generated C: names, numbers, text in comments, designated initialisers."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

WIDTH = 100
"""Longest line."""
LONGEST_NAME = 72
"""Characters of a tensor's name in a comment."""
_RESERVED = frozenset(
    ("auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else",
     "enum", "extern", "float", "for", "goto", "if", "inline", "int", "long", "main", "register",
     "restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef",
     "union", "unsigned", "void", "volatile", "while")
)  # fmt: skip


def identifier(text: str) -> str:
    """The text as a C identifier in lower case; with `model_` in front where it would not be one.

    Unlike those of `identifiers`, it may stand in front of others, and name files.
    """
    plain = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_").lower()
    legal = plain[:1].isalpha() and plain not in _RESERVED
    return plain if legal else f"model_{plain}".rstrip("_")


def is_prefix(text: str) -> bool:
    """Whether it may stand in front of C names, and name files: `identifier` keeps it as it is."""
    return identifier(text) == text


def identifiers(names: Sequence[str]) -> list[str]:
    """A C identifier for each name in lower case, all different."""
    found: dict[str, None] = {}
    for name in names:
        plain = re.sub(r"\W", "_", name, flags=re.ASCII)
        plain = plain if plain[:1].isalpha() else f"layer_{plain}"
        k, candidate = 2, plain
        while candidate.lower() in found:
            k, candidate = k + 1, f"{plain}_{k}"
        found[candidate.lower()] = None
    return list(found)


def literal(value: int | float) -> str:
    """A number, a real one exactly; the smallest int32 and int64 have no literal."""
    if isinstance(value, float):
        return value.hex()
    smallest = {-(2**31): "INT32_MIN", -(2**63): "INT64_MIN"}
    return smallest.get(value, str(value))


def rows(values: np.ndarray) -> Iterator[str]:
    """The numbers of an array on indented lines: 16 of a byte, 8 of 32 bits, else 4."""
    texts = [literal(v) for v in values.reshape(-1).tolist()]
    per_line = {1: 16, 2: 8, 4: 8}.get(values.itemsize, 4)
    for start in range(0, len(texts), per_line):
        yield "    " + ", ".join(texts[start : start + per_line]) + ","


def filled(words: Iterable[str], first: str = "    ", next_lines: str = "    ") -> list[str]:
    """Words joined to lines of at most WIDTH characters, the lines indented."""
    lines, line = [], first
    for word in words:
        if len(line) + len(word) > WIDTH and line.strip():
            lines.append(line.rstrip())
            line = next_lines
        line += word + " "
    return [*lines, line.rstrip()]


def initializer(fields: Mapping[str, object], indent: str = "    ") -> list[str]:
    """The lines between the braces of a struct: designated, in the order given.

    fields   name -> a number, C text, or the fields of a struct inside; one that is long gets lines
             of its own
    """
    lines: list[str] = []
    words: list[str] = []
    for name, value in fields.items():
        word = f".{name} = {_inline(value)},"
        if not isinstance(value, Mapping) or len(indent) + len(word) <= WIDTH:
            words.append(word)
            continue
        lines += filled(words, indent, indent) if words else []
        words = []
        lines += [f"{indent}.{name} = {{", *initializer(value, indent + "    "), f"{indent}}},"]
    return lines + (filled(words, indent, indent) if words else [])


def _inline(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f".{name} = {_inline(v)}" for name, v in value.items()) + "}"
    return value if isinstance(value, str) else literal(value)  # type: ignore[arg-type]


def aligned(pairs: Sequence[tuple[str, str]], indent: str = "") -> Iterator[str]:
    """Lines of code with comments behind them, in one column as far as that is near.

    Comments are cut where a line would be longer than WIDTH.
    """
    column = min(max((len(code) for code, _ in pairs), default=0), 56)
    for code, comment in pairs:
        line = f"{indent}{code:{column}} /* "
        yield f"{line}{_cut(comment, max(WIDTH - len(line) - 3, 20))} */"


def harmless(text: str) -> str:
    """Text that may stand in a C comment or string."""
    return re.sub(r"[^A-Za-z0-9_.:+ -]", "_", text)


def remark(text: str) -> str:
    """A name as a comment shows it: nothing in it ends the comment, nor is it endless."""
    plain = re.sub(r"[^A-Za-z0-9_.:;+,/() =>*\[\]-]", "_", text)
    plain = plain.replace("*/", "*_").replace("/*", "/_")
    return _cut(plain, LONGEST_NAME)


def _cut(text: str, length: int) -> str:
    """The text, or its beginning and three dots."""
    return text if len(text) <= length else f"{text[: length - 3]}..."
