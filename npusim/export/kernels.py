"""The C files of kernels that an exported model needs."""

import re
from collections.abc import Iterable
from pathlib import Path

_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def declaring(functions: Iterable[str], sources: Iterable[Path]) -> list[str]:
    """Names of the headers that declare functions, sorted.

    raises   KeyError for a function that none declares
    """
    texts = {path.name: path.read_text("utf-8") for path in sources if path.suffix == ".h"}
    found = set()
    for function in functions:
        declaration = re.compile(rf"^\w+ {function}\(", re.MULTILINE)
        headers = [name for name, text in texts.items() if declaration.search(text)]
        if not headers:
            raise KeyError(f"kernels: {function} must be declared in a header, got none")
        found.update(headers)
    return sorted(found)


def needed(headers: Iterable[str], sources: Iterable[Path]) -> list[Path]:
    """The headers, what belongs to them, and all that these include, sorted by name.

    To x.h belong x.c and x_mve.c.
    """
    files = {path.name: path for path in sources}
    chosen: set[str] = set()
    pending = list(headers)
    while pending:
        name = pending.pop()
        if name in chosen or name not in files:
            continue
        chosen.add(name)
        stem = name.rpartition(".")[0]
        pending += _INCLUDE.findall(files[name].read_text("utf-8"))
        if name.endswith(".h"):
            pending += [f"{stem}.c", f"{stem}_mve.c"]
    return [files[name] for name in sorted(chosen)]
