"""T11: what brings accuracy back under each shift; T14: the exact head, and what reuse saves."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from npusim.plurals import counted

from ...plots import to_png
from ..compare import Compared, Results, Versus, compare, healthy, shifted, versus
from ..experiment import Plan, spread_over
from ..pictures import bars, heat_maps
from ..repair import WAYS as ALL_WAYS
from ..repair import Repair, Repaired, run_repair
from ..study import Grid, Record, Study
from ..task import FAULTS, HEALTHY, SHIFTS, Task, parts_of

STEPS = 8
"""Of training for each epoch that is asked for, whatever the number of labelled images."""
IMAGES = (20, 100, 500)
NOTHING, JOINT = "nothing", "ZO first layer + exact head"
WAYS = (NOTHING, "statistics", "exact head", "statistics + exact head", "ZO first layer", JOINT,
        "backprop first + head", "backprop all")  # fmt: skip
RIVALS = ("exact head", "statistics + exact head", "backprop first + head", "backprop all")
"""Of the joint way."""
NOT_RUN = "not run"
REUSED = (
    ("exact head", "exact head", "prefix"),
    ("exact head", "exact head", "no reuse"),
    ("ZO, q = 64", "ZO head, q = 64", "prefix, signs"),
    ("ZO, q = 64", "ZO head, q = 64", "prefix"),
    ("ZO, q = 64", "ZO head, q = 64", "no reuse"),
)
"""Name in the table, way, reuse."""
REUSED_SHIFT = "1-px translation"


def _shifted(plan: Plan, task: Task) -> list[Repair]:
    """Every way under every shift; without a shift, nothing."""
    _check(plan, task)
    cases = [(shift, way) for shift in (*SHIFTS, *FAULTS) for way in _ways(plan, task)
             if shift != HEALTHY]  # fmt: skip
    return [
        Repair(way, way, shift, images, plan.epochs * STEPS, seed)
        for seed in range(plan.seeds)
        for images in _labels(plan)
        for shift, way in ((HEALTHY, NOTHING), *cases)
    ]


def _labels(plan: Plan) -> tuple[int, ...]:
    return plan.labels or (IMAGES[:1] if plan.quick else IMAGES)


def _ways(plan: Plan, task: Task) -> list[str]:
    """Those asked for that the task allows: backpropagation needs a float network."""
    return [way for way in plan.ways or WAYS if task.net is not None or not ALL_WAYS[way].backward]


def _check(plan: Plan, task: Task) -> None:
    for way in plan.ways:
        if way not in WAYS:
            raise ValueError(f"T11: --ways must be of {', '.join(WAYS)}, got {way!r}")
    most = len(parts_of(task, 0).train)
    if max(_labels(plan)) > most:
        raise ValueError(f"T11: --labels must be {most} images at most, the part that trains, got "
                         f"{max(_labels(plan))}")  # fmt: skip


def _said(plan: Plan, task: Task) -> list[str]:
    """How large these runs are, and what is left out."""
    train, _, test = parts_of(task, 0)
    whole = len(parts_of(replace(task, most=None), 0).test)
    cut = "all that the data have" if len(test) == whole else f"the first of {whole:,}"
    seeds, steps = counted(plan.seeds, "seed"), counted(plan.epochs * STEPS, "step")
    lines = [
        f"{seeds}; {steps} of training in each integer way; {counted(len(test), 'test image')}, "
        f"{cut}; labelled images drawn from {len(train):,}.",
    ]
    if missing := [way for way in WAYS if way not in _ways(plan, task)]:
        lines.append(f"Not run: {', '.join(missing)}.")
    if task.net is None:
        lines.append("Backpropagation needs a float network of the same layers with a gradient; "
                     "of this model there is none.")  # fmt: skip
    return lines


def _reused(plan: Plan, task: Task) -> list[Repair]:
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
    """For each number of labelled images: accuracies, tests, and the joint way's rivals."""
    rows, grids = compare(shifted(results)), []
    unharmed = {row.images: f"{row.accuracy:.1f}" for row in compare(healthy(results))}
    for images in dict.fromkeys(row.images for row in rows):
        found = [row for row in rows if row.images == images]
        what = f"{images} labelled images"
        without = f" (without a shift {unharmed[images]})" if images in unharmed else ""
        grids.append(_grid(f"{what}: test accuracy, %{without}", found, _accuracy))
        grids.append(_grid(f"{what}: p of McNemar's test against the best other way", found,
                           lambda r: _p(r.p)))  # fmt: skip
        against = {rival: [v for v in versus(shifted(results), JOINT, rival) if v.images == images]
                   for rival in RIVALS}  # fmt: skip
        if any(against.values()):
            grids.append(_rivals(f"{what}: points of {JOINT} over others, and p", against))
    return grids


def _accuracy(row: Compared) -> str:
    return spread_over(row.accuracy, row.deviation, len(row.outcomes), ".1f", "±")


def _p(p: float) -> str:
    """One digit; what a double cannot hold is below the smallest that it can."""
    return f"{p:.1g}" if p else "<1e-300"


def _grid(title: str, rows: Sequence[Compared], word: Callable[[Compared], str]) -> Grid:
    """A line a shift, a column a way; what is missing was not run."""
    cells = {(row.shift, row.label): word(row) for row in rows}
    lines = [[shift, *(cells.get((shift, way), NOT_RUN) for way in WAYS)]
             for shift in dict.fromkeys(row.shift for row in rows)]  # fmt: skip
    return Grid(title, ["shift", *WAYS], lines)


def _rivals(title: str, against: Mapping[str, Sequence[Versus]]) -> Grid:
    cells = {(v.shift, rival): spread_over(v.points, v.half, v.seeds, "+.1f", "±") + f", {_p(v.p)}"
             for rival, found in against.items() for v in found}  # fmt: skip
    shifts = dict.fromkeys(shift for shift, _ in cells)
    lines = [[s, *(cells.get((s, rival), NOT_RUN) for rival in against)] for s in shifts]
    return Grid(title, ["shift", *against], lines)


def _heat(results: Results) -> bytes:
    rows = compare(shifted(results))
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
        lines.append((row.label, _accuracy(row), f"{cost.forwards:,}",
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
            "and, of pictures, the parts and the deployed head. Integer ways take equally many "
            "steps.",
            "McNemar's test is exact, per seed; of several seeds, twice the median p, 1 at most. "
            "The best other way is the one that does best on these very images. No p is corrected "
            "for the number of cells. Points over others: mean and half of the 95 % interval over "
            "seeds, by Student's t.",
            "Statistics are of 256 images without labels and cost two passes; the source's, of "
            "2,048 training images at most. Exact head: from the deployed head, at zo's default "
            "rate, in as many steps as zeroth order takes, converged or not. The second recipe "
            "matches statistics first. ZO: q = 16, one-sided, the first convolution's weights.",
            "Backprop: in float, from the deployed codes, of weights and biases, first the first "
            "convolution's and the head's, then all layers'; batches of 32, rate 0.01, momentum "
            "0.9, until the mean loss of 50 steps is below 0.01 nat, or is not lower by 1 % for "
            "five times in a row, 2,000 steps at most; quantised as the deployed network was, "
            "with ranges of the 256 images without labels; tested in int8.",
        ),
        said=_said,
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
