"""Run calls and say where the results are not what they must be."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .headers import Declarations
from .records import SCRATCH, Case, decode, encode, outputs
from .toolchain import Runner


def differences(found: Declarations, runner: Runner, cases: Sequence[Case]) -> list[str]:
    """One line for each result that differs; [] when every bit is right."""
    results = decode(found, cases, runner.run(encode(found, cases)))
    lines = []
    for i, (case, actual) in enumerate(zip(cases, results, strict=True)):
        for path, expected in case.expected.items():
            if expected is not SCRATCH and not _equal(actual[path], expected):
                lines.append(f"{i} {case.function} {path}: {_short(actual[path], expected)}")
    return lines


def unchecked(found: Declarations, case: Case) -> set[str]:
    """What C may change that the case does not expect anything of, and the reverse."""
    function = found.functions[case.function]
    return {path for path, _, _ in outputs(found, function, case.arguments)} ^ set(case.expected)


def _equal(actual: Any, expected: Any) -> bool:
    if isinstance(actual, np.ndarray):
        return bool(np.array_equal(*_bits(actual, expected)))
    return bool(actual == expected)


def _bits(actual: np.ndarray, expected: Any) -> tuple[np.ndarray, np.ndarray]:
    """Both as flat integers: real numbers are equal when their bits are, and so are all NaNs, whose
    bits each machine chooses."""
    flat = np.asarray(expected).reshape(-1)
    if actual.dtype.kind != "f":
        return actual, flat
    integer = f"i{actual.dtype.itemsize}"
    got, wanted = (np.where(np.isnan(v), np.nan, v).astype(actual.dtype) for v in (actual, flat))
    return got.view(integer), wanted.view(integer)


def _short(actual: Any, expected: Any) -> str:
    if not isinstance(actual, np.ndarray):
        return f"got {actual}, expected {expected}"
    flat = np.asarray(expected).reshape(-1)
    if flat.size != actual.size:
        return f"got {actual.size} elements, expected {flat.size}"
    got, wanted = _bits(actual, expected)
    (where,) = np.nonzero(got != wanted)
    first = int(where[0])
    return f"{where.size} of {flat.size} differ, [{first}] {actual[first]} not {flat[first]}"
