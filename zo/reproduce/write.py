"""Tables and pictures of an experiment: CSV of every epoch, Markdown, PNG."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from npusim.plurals import counted

from ..atomic import replace_bytes
from ..history import Epoch
from ..plots import MOST_CURVES, Panel, draw, to_png
from .experiment import Experiment, Plan, Results, Row, rows_of, spread_over
from .families import Family, families_of

Curve = Sequence[Epoch]
COLUMNS = ("row", "schedule", "q", "seed", "epoch", "accuracy", "forwards", "macs", "seconds")


def write(
    experiment: Experiment, plan: Plan, results: Results, folder: Path, notes: Sequence[str]
) -> list[Row]:
    """Write NAME.csv, NAME.md and NAME.png, each whole or not at all; returns the rows.

    notes   lines below the table: what it was run on
    """
    folder.mkdir(parents=True, exist_ok=True)
    rows = rows_of(experiment, plan, results)
    text = "\n".join(_markdown(experiment, rows, notes)) + "\n"
    files = {"csv": _csv(results).encode(), "md": text.encode(),
             "png": to_png(draw(panels_of(experiment, results)))}  # fmt: skip
    for suffix, data in files.items():
        replace_bytes(folder / f"{experiment.name}.{suffix}", data)
    return rows


def _csv(results: Results) -> str:
    """A line per run and epoch."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for cell, outcome in results:
        for e in outcome.history:
            writer.writerow((cell.label, cell.schedule, e.q, cell.seed, e.epoch,
                             f"{e.accuracy:.6f}", e.cost.forwards, e.cost.macs,
                             f"{e.seconds:.3f}"))  # fmt: skip
    return text.getvalue()


def _markdown(experiment: Experiment, rows: Sequence[Row], notes: Sequence[str]) -> Iterator[str]:
    yield f"# {experiment.name}: {experiment.title}"
    yield ""
    yield experiment.question
    yield ""
    heads = ["", "validation, last ten epochs", "test", "forwards of a batch", "q at the end",
             "seconds"]  # fmt: skip
    paper = any(row.paper is not None for row in rows)
    compared = any(row.against is not None for row in rows)
    heads += ["paper", "difference"] if paper else []
    with_baseline = any(row.other == experiment.baseline for row in rows)
    other = experiment.baseline if with_baseline else "the row named"
    heads += [f"against {other}"] if compared else []
    yield f"| {' | '.join(heads)} |"
    yield "| --- " + "| ---: " * (len(heads) - 1) + "|"
    for row in rows:
        yield f"| {' | '.join(_cells(experiment, row, paper, compared))} |"
    yield ""
    yield _statistics(rows, compared)
    for line in (*notes, *experiment.differs, *(_spread(rows) if experiment.spread else ())):
        yield f"* {line}"


def _statistics(rows: Sequence[Row], compared: bool) -> str:
    """What the numbers are means of."""
    counts = sorted({row.seeds for row in rows})
    if counts == [1]:
        return "Accuracies in per cent, of one seed."
    seeds = _of(counts)
    differences = "; differences seed by seed, with the 95 % interval by Student's t"
    return (
        f"Accuracies in per cent, mean and standard deviation over {seeds}"
        f"{differences if compared else ''}."
    )


def _spread(rows: Sequence[Row]) -> Iterator[str]:
    """How far apart the rows lie, and beside it what another seed does to one of them."""
    finals = [row.final for row in rows]
    tests = [row.test for row in rows if row.test is not None]
    for name, values in (("validation", finals), ("test", tests)):
        if values:
            points = max(values) - min(values)
            yield f"From the lowest row to the highest: {points:.2f} points in {name}."
    if all(row.seeds > 1 for row in rows):
        deviation = max(row.deviation for row in rows)
        yield f"Largest standard deviation over seeds within a row, in validation: {deviation:.2f}."


def _of(seeds: Sequence[int]) -> str:
    """ "5 seeds"; "4 or 5 seeds" where rows have not equally many."""
    return " or ".join([*map(str, seeds[:-1]), counted(seeds[-1], "seed")])


def _cells(experiment: Experiment, row: Row, paper: bool, compared: bool) -> list[str]:
    final = spread_over(row.final, row.deviation, row.seeds, ".1f")
    cells = [row.label, final, _number(row.test, ".1f"), f"{row.forwards:,.0f}",
             f"{row.last_q:.0f}", f"{row.seconds:.0f}"]  # fmt: skip
    if paper:
        apart = None if row.paper is None else row.final - row.paper
        cells += [_number(row.paper, ".1f"), _number(apart, "+.1f")]
    if compared:
        cells.append(_difference(row, experiment.baseline))
    return cells


def _difference(row: Row, baseline: str | None) -> str:
    """With the other row's name where that is not the baseline."""
    if row.against is None:
        return ""
    of = "" if row.other == baseline else f" ({row.other})"
    return spread_over(*row.against, row.seeds, "+.2f") + of


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def panels_of(experiment: Experiment, results: Results) -> list[Panel]:
    """Curves of the first seed: panels of each method of several rows, the others together."""
    first = {cell.label: (cell, outcome) for cell, outcome in results if cell.seed == 0}
    panels: list[Panel] = []
    alone: dict[str, Curve] = {}
    for family in families_of([cell for cell, _ in first.values()]):
        curves = {cell.label: first[cell.label][1].history for cell in family.cells}
        if len(curves) == 1:
            alone |= curves
        elif _names(family):
            short = {_short(label, family.name): curve for label, curve in curves.items()}
            panels += _panels(family.name, short)
        else:
            panels += _panels(experiment.title, curves)
    if len(alone) == 1:
        return [*panels, *_panels(next(iter(alone)), alone)]
    return [*panels, *_panels("" if panels else experiment.title, alone)]


def _panels(title: str, curves: Mapping[str, Curve]) -> Iterator[Panel]:
    """As few panels as MOST_CURVES allows, of about one size; the first has the title."""
    count = -(-len(curves) // MOST_CURVES)
    for i in range(count):
        piece = islice(curves.items(), len(curves) * i // count, len(curves) * (i + 1) // count)
        yield Panel("" if i else title, dict(piece), {})


def _names(family: Family) -> bool:
    """Whether a method's name is what the labels of its rows begin with."""
    return all(cell.label.startswith(f"{family.name}, ") for cell in family.cells)


def _short(label: str, method: str) -> str:
    """The row's name within its method."""
    return label.removeprefix(f"{method}, ")
