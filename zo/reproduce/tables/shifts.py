"""T11: what brings accuracy back under each shift; T14: the exact head, and what reuse saves."""

from collections.abc import Callable, Sequence

from ...plots import to_png
from ..compare import Compared, Results, compare
from ..experiment import Plan
from ..pictures import bars, heat_maps
from ..repair import Repair, Repaired, run_repair
from ..study import Grid, Record, Study
from ..task import FAULTS, HEALTHY, SHIFTS

STEPS = 8
"""Of training for each epoch that is asked for, whatever the number of labelled images."""
IMAGES = (20, 100, 500)
WAYS = ("nothing", "statistics", "exact head", "statistics + exact head", "ZO first layer",
        "ZO first layer + exact head")  # fmt: skip
REUSED = (
    ("exact head", "exact head", "prefix"),
    ("exact head", "exact head", "no reuse"),
    ("ZO, q = 64", "ZO head, q = 64", "prefix, signs"),
    ("ZO, q = 64", "ZO head, q = 64", "prefix"),
    ("ZO, q = 64", "ZO head, q = 64", "no reuse"),
)
"""Name in the table, way, reuse."""
REUSED_SHIFT = "1-px translation"


def _shifted(plan: Plan) -> list[Repair]:
    shifts = [shift for shift in (*SHIFTS, *FAULTS) if shift != HEALTHY]
    return [
        Repair(way, way, shift, images, plan.epochs * STEPS, seed)
        for seed in range(plan.seeds)
        for images in (IMAGES[:1] if plan.quick else IMAGES)
        for shift in shifts
        for way in WAYS
    ]


def _reused(plan: Plan) -> list[Repair]:
    images = IMAGES[0] if plan.quick else IMAGES[-1]
    return [
        Repair(f"{name}; {reuse}", way, REUSED_SHIFT, images, plan.epochs * STEPS, seed, reuse)
        for seed in range(plan.seeds)
        for name, way, reuse in REUSED
    ]


def records(results: Results) -> list[Record]:
    """A line for each run, with the tests that its rows were part of."""
    rows = {(r.shift, r.images, r.label): r for r in compare(results)}
    return [
        {"shift": repair.shift, "images": repair.images, "way": repair.label, "seed": repair.seed,
         "right": int(outcome.answers.sum()), "of": outcome.total, **outcome.cost._asdict(),
         "seconds": round(outcome.seconds, 3), "network": outcome.network[:16],
         "best_other": row.against, "p": float(f"{row.p:.4g}")}
        for repair, outcome in results
        for row in (rows[repair.shift, repair.images, repair.label],)
    ]  # fmt: skip


def _accuracy_grids(results: Results) -> list[Grid]:
    rows, grids = compare(results), []
    for images in dict.fromkeys(row.images for row in rows):
        found = [row for row in rows if row.images == images]
        what = f"{images} labelled images"
        grids.append(_grid(f"{what}: test accuracy, %", found,
                           lambda r: f"{r.accuracy:.1f}±{r.deviation:.1f}"))  # fmt: skip
        grids.append(_grid(f"{what}: p of McNemar's test against the best other way", found,
                           lambda r: f"{r.p:.1g}"))  # fmt: skip
    return grids


def _grid(title: str, rows: Sequence[Compared], word: Callable[[Compared], str]) -> Grid:
    ways = list(dict.fromkeys(row.label for row in rows))
    cells = {(row.shift, row.label): word(row) for row in rows}
    shifts = dict.fromkeys(row.shift for row in rows)
    return Grid(title, ["shift", *ways], [[s, *(cells[s, w] for w in ways)] for s in shifts])


def _heat(results: Results) -> bytes:
    rows = compare(results)
    panels = {
        f"{images} labelled images": {
            (row.shift, row.label): row.accuracy for row in rows if row.images == images
        }
        for images in dict.fromkeys(row.images for row in rows)
    }
    return to_png(heat_maps(panels))


def _cost_grid(results: Results) -> list[Grid]:
    rows = compare(results)
    first = {row.label.partition(";")[0]: row for row in reversed(rows)}
    lines = []
    for row in rows:
        cost, twin = row.outcomes[0].cost, first[row.label.partition(";")[0]]
        same = [a.network for a in row.outcomes] == [b.network for b in twin.outcomes]
        lines.append((row.label, f"{row.accuracy:.1f}±{row.deviation:.1f}", f"{cost.forwards:,}",
                      f"{cost.macs / 1e6:,.0f}", f"{cost.random_bits / 1e6:,.1f}",
                      f"{cost.bytes_written / 1e6:,.2f}",
                      "-" if row is twin else "equal" if same else "DIFFER"))  # fmt: skip
    heads = ("way; reuse", "test, %", "forwards", "10^6 MACs", "10^6 signs", "MB written",
             "weights")  # fmt: skip
    return [Grid(f"{REUSED_SHIFT}, {rows[0].images} labelled images", heads, lines)]


def _bars(results: Results) -> bytes:
    rows = compare(results)
    return to_png(bars({row.label: row.outcomes[0].cost.macs for row in rows},
                       "multiply-accumulates of a run"))  # fmt: skip


STUDIES = (
    Study(
        "T11",
        "Layers below the head, under ten shifts",
        "Where does zeroth order on the first layer help, alone or with the exact head, beside "
        "what channel statistics and the exact head alone do?",
        _shifted,
        run_repair,
        Repaired,
        _accuracy_grids,
        records,
        _heat,
        (
            "Mean and standard deviation over seeds, which draw labelled images, signs, faults "
            "and, of pictures, the parts and the deployed head. Steps of training are equal.",
            "McNemar's test is exact, per seed; of several seeds, twice the median p. The "
            "best other way is the one that does best on these very images.",
            "Statistics are of 256 images without labels and cost two passes. Exact head: from the "
            "deployed head, at zo's default rate. The second recipe matches statistics first. ZO: "
            "q = 16, one-sided, the first convolution's weights.",
            "No row of backpropagation: it needs a float network of the same layers.",
        ),
    ),
    Study(
        "T14",
        "The exact head and zeroth order, with reuse and without",
        "What does the exact head save, and what does reuse save that changes no bit?",
        _reused,
        run_repair,
        Repaired,
        _cost_grid,
        records,
        _bars,
        ("Weights: whether they are bit for bit those of the way's first row, in every seed.",
         "Evaluations are not counted, and neither are the sums that a matrix of signs saves: its "
         "products count as forwards of the head.",),
    ),
)  # fmt: skip
