"""A report for programs: JSON's types, and CSV with a line per tensor."""

import csv
import io
import math
from dataclasses import asdict, fields
from typing import Any

from .figures import Figures
from .gate import Excess, Limit
from .report import Judged, Report

FIGURES = ("elements", "differing", "share", *[f.name for f in fields(Figures)][2:])
COLUMNS = (
    "tensor", "node", "op", "dtype", "shape", "verdict", *FIGURES,
    *(f"own_{name}" for name in FIGURES[1:]),
    "judged_from", "cause", "basis", "explained", "sentence",
)  # fmt: skip


def as_dict(report: Report, gate: tuple[Limit, ...], stopped: list[Excess]) -> dict[str, Any]:
    """Everything but the pictures, as JSON's types; infinity and NaN become null.

    a, b, model      the sides (fields of `Party`), and what simulated the layers
    equal, first     whether no tensor differs; else the first that departs
    gate, within     limits by figure; whether all that differs stays within them
    stopped          `tensor`, `figure` and `value` of what does not
    likelier         profiles that explain B better (fields of `Likelier`), and the `command` that
                     compares by one; None where there are none
    notes            lines for people
    missing, extra   tensors that only A or only B has
    tensors          of each its verdict, `total` figures and those that are its `own` (fields of
                     `Figures`, with their units), `cause`, and the `place` of the worst element
    """
    first, better = report.first, report.likelier
    facts = {
        "a": asdict(report.a),
        "b": asdict(report.b),
        "model": report.model or None,
        "equal": report.equal,
        "first": first.name if first else None,
        "gate": {limit.key: limit.value for limit in gate} if gate else None,
        "within": not stopped if gate else report.equal,
        "stopped": [{"tensor": e.tensor, "figure": e.limit.key, "value": e.value} for e in stopped],
        "likelier": {**better._asdict(), "command": report.again or None} if better else None,
        "notes": list(report.notes),
        "missing": list(report.missing),
        "extra": list(report.extra),
        "tensors": [_tensor(t) for t in report.tensors],
    }
    return {key: _finite(value) for key, value in facts.items()}


def csv_text(report: Report) -> str:
    """COLUMNS, and a line per tensor; empty where there is nothing to say."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for tensor in report.tensors:
        writer.writerow(_row(tensor))
    return text.getvalue()


def _tensor(tensor: Judged) -> dict[str, Any]:
    facts = {
        name: getattr(tensor, name)
        for name in ("name", "node", "op", "shape", "dtype", "matched", "file", "read_as",
                     "verdict", "judged_from", "stated", "reason")
    }  # fmt: skip
    facts |= {"total": _figures(tensor.total), "own": _figures(tensor.own)}
    cause = tensor.cause
    facts["cause"] = {**cause._asdict(), "given": dict(cause.given)} if cause else None
    facts["place"] = asdict(tensor.place) if tensor.place else None
    return facts


def _figures(figures: Figures | None) -> dict[str, Any] | None:
    return None if figures is None else {name: getattr(figures, name) for name in FIGURES}


def _row(tensor: Judged) -> list[Any]:
    cause = tensor.cause
    shape = "x".join(map(str, tensor.shape))
    row: list[Any] = [tensor.name, tensor.node, tensor.op, tensor.dtype, shape, tensor.verdict]
    row += [getattr(tensor.total, name, None) for name in FIGURES]
    row += [getattr(tensor.own, name, None) for name in FIGURES[1:]]
    row.append(tensor.judged_from)
    row += [cause.kind, cause.basis, cause.explained, cause.sentence] if cause else [None] * 4
    return row


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
