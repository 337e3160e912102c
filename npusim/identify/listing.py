"""A report for programs, as JSON's types."""

from dataclasses import asdict
from typing import Any

from .hypothesis import Outcome, Rule
from .report import Kind, Report
from .suggest import Suggestion
from .verdict import Verdict


def as_dict(report: Report, suggestion: Suggestion | None = None) -> dict[str, Any]:
    """Everything that was found, as JSON's types.

    dump, model, images   paths, and how many images the dump holds
    explained             whether one rule per operator and one accumulator explain every node
    profiles, distinct    profiles that explain all; the same in groups that are equal on every
                          input of the model
    accumulator           of all nodes, None where no sum tells
    operators             by kind of operator: `status`, `nodes`, `elements` (how many), `rules` in
                          groups that are equal on every input, and those `excluded`, by how many
                          `elements`, `exact` or at least
    nodes                 by node: the same and its `tensor`, `reason`, nodes judged `together`,
                          `hypotheses` that remain, and of those `counted` over all elements how
                          many differ
    devices               by profile: whether it is `consistent`, of how many `elements`, and what
                          counts against it
    suggestion            `images` that would decide more, how many are `new` of those `tried`
    notes                 lines for people
    """
    return {
        "dump": report.path,
        "model": report.model,
        "images": report.images,
        "explained": report.explained,
        "profiles": list(report.consistent),
        "distinct": [list(group) for group in report.distinct],
        "accumulator": None if report.accumulators is None else asdict(report.accumulators),
        "operators": [_kind(kind) for kind in report.kinds],
        "nodes": [_node(v) for v in report.verdicts],
        "devices": [
            {"name": d.device.name, "consistent": d.consistent, "elements": d.elements,
             "differing": dict(d.differing), "without_rule": list(d.silent)}
            for d in report.devices
        ],
        "suggestion": None if suggestion is None else {
            "images": suggestion.images, "new": suggestion.new, "tried": suggestion.tried,
            "decided": list(suggestion.decided), "left": list(suggestion.left),
        },
        "notes": list(report.notes),
    }  # fmt: skip


def _kind(kind: Kind) -> dict[str, Any]:
    return {
        "operator": kind.name,
        "status": kind.status,
        "nodes": [v.node for v in kind.verdicts],
        "elements": kind.elements,
        "rules": [[_rule(rule) for rule in group] for group in kind.groups],
        "excluded": [{**_rule(e.rule), "elements": e.elements, "exact": e.exact}
                     for e in kind.excluded],
    }  # fmt: skip


def _node(v: Verdict) -> dict[str, Any]:
    widths = None
    if v.widths is not None:
        narrower = [{"bits": w.bits, "overflow": w.overflow} for w in v.widths.narrower]
        widths = {"untouched": v.widths.untouched, "narrower": narrower,
                  "images": v.widths.images}  # fmt: skip
    return {
        "node": v.node,
        "op": v.op,
        "operator": v.kind,
        "tensor": v.tensor,
        "status": v.status,
        "reason": v.reason or None,
        "elements": v.elements,
        "together": list(v.together),
        "accumulator": widths,
        "hypotheses": [[h.label for h in group] for group in v.groups],
        "counted": [_outcome(o) for o in v.outcomes if o.exact],
    }


def _rule(rule: Rule) -> dict[str, Any]:
    return {"rule": rule.name, "convention": rule.twist or None}


def _outcome(o: Outcome) -> dict[str, Any]:
    h = o.hypothesis
    return {"names": list(h.names), "own": h.own or None, "convention": h.twist or None,
            "differing": o.differing}  # fmt: skip
