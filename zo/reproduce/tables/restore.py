"""T12: what perturbing and restoring leaves behind."""

from collections.abc import Sequence

from ...plots import to_png
from ..audit import STARTS, WAYS, Audit, Audited, run_audit
from ..experiment import Plan
from ..pictures import bars
from ..study import Grid, Record, Study

STEPS, QUICK_STEPS = 1_000_000, 1_000
LABELS = {
    "clip": "zo, clip",
    "saturate": "zo, saturate",
    "naive": "int8 in place",
    "float16": "float16 in place",
}
Results = Sequence[tuple[Audit, Audited]]


def _audits(plan: Plan, material: object) -> list[Audit]:
    steps = QUICK_STEPS if plan.quick else STEPS
    return [Audit(LABELS[way], way, start, steps, seed) for seed in range(plan.seeds)
            for start in STARTS for way in WAYS]  # fmt: skip


def _records(results: Results) -> list[Record]:
    return [
        {"way": audit.label, "start": audit.start, "seed": audit.seed, "steps": audit.steps,
         "weights": found.weights, "changed_first_step": found.first, "changed": found.changed,
         "bits": found.bits, "seconds": round(found.seconds, 3)}
        for audit, found in results
    ]  # fmt: skip


def _grids(results: Results) -> list[Grid]:
    """One a start; counts are sums over seeds."""
    heads = ("way", "weights", "changed by one step", "in the end", "bits of them")
    return [
        Grid(f"{start}, {results[0][0].steps:,} steps", heads, _rows(results, start))
        for start in STARTS
    ]


def _rows(results: Results, start: str) -> list[list[str]]:
    sums = _sums([(a, found) for a, found in results if a.start == start])
    return [
        [label, f"{n:,}", _share(first, n), _share(changed, n), f"{bits:,}"]
        for label, (n, first, changed, bits) in sums.items()
    ]


def _sums(results: Results) -> dict[str, list[int]]:
    sums: dict[str, list[int]] = {}
    for audit, found in results:
        numbers = (found.weights, found.first, found.changed, found.bits)
        before = sums.setdefault(audit.label, [0] * len(numbers))
        sums[audit.label] = [a + b for a, b in zip(before, numbers, strict=True)]
    return sums


def _share(count: int, total: int) -> str:
    return f"{count:,} ({100 * count / total:.1f} %)"


def _picture(results: Results) -> bytes:
    changed: dict[str, float] = {}
    for start in STARTS:
        sums = _sums([(audit, found) for audit, found in results if audit.start == start])
        changed |= {f"{label}, {start}": float(numbers[2]) for label, numbers in sums.items()}
    return to_png(bars(changed, "weights changed in the end"))


STUDIES = (
    Study(
        "T12",
        "Perturb and restore at the rails",
        "What do perturbations there and back leave changed after very many steps?",
        _audits,
        run_audit,
        Audited,
        _grids,
        _records,
        _picture,
        (
            "1,024 weights for each seed, other signs in every step; k = 1. The codes of clip "
            "start between -126 and 126, the others' between -128 and 127.",
            "In place: +z, -2z, +z, as the paper does, int8 clamped each time. float16: "
            "the codes times 2^-8, perturbed by 0.001. Counts are sums over seeds.",
            "A code that leaves its rail and comes back need not lie where it began, and one that "
            "was changed first may be back by chance.",
        ),
        material="none",
    ),
)
