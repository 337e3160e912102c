"""T7: ways to train a head on a device, their accuracy, instructions, time and memory."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from npusim.export.tools import M55_TOOLS
from npusim.plurals import counted

from ...plots import to_png
from ..backward_memory import FLOAT_BYTES
from ..device import BELOW, WAYS, Measured, Part, measure
from ..experiment import Plan, spread_over
from ..pictures import bar_panels
from ..study import Grid, Record, Study
from ..task import Task

CLOCK = 800_000_000
"""Hz, of an STM32N6's Cortex-M55."""
PER_CYCLE = 1
"""Instructions, as assumed."""
TRAINED = [name for name, way in WAYS.items() if not way.first]
COUNTED = ("ZO, QScheduler", "exact head")
"""Ways whose steps are counted: those of a fixed q are the schedule's with that q."""
Results = Sequence[tuple[Part, Measured]]
Figures = Mapping[str, float]


def _parts(plan: Plan, task: Task) -> list[Part]:
    epochs = plan.epochs
    return [
        *(Part(way, "accuracy", epochs, seed) for seed in range(plan.seeds) for way in TRAINED),
        *(Part(way, "agreement", epochs) for way in TRAINED),
        *(Part(way, "steps", epochs) for way in COUNTED),
        *(Part(way, "memory", epochs, keep=keep) for keep in (False, True) for way in TRAINED),
        Part(BELOW, "memory", epochs),
    ]


def _said(plan: Plan, task: Task) -> list[str]:
    """What test accuracy means where the network comes with the images it was trained on."""
    if task.counts is None:
        return []
    return [
        f"The frozen layers were trained on {task.counts[0]:,} of these images, and the seed draws "
        "all parts from all of them: accuracies are higher than on new images."
    ]


def _records(results: Results) -> list[Record]:
    """A line for each number."""
    return [
        {"way": part.way, "what": part.what, "features": "kept" if part.keep else "",
         "seed": part.seed, "figure": name, "value": value}
        for part, found in results
        for name, value in found.figures.items()
    ]  # fmt: skip


def _found(results: Results, what: str) -> Iterator[tuple[Part, Figures]]:
    return ((part, found.figures) for part, found in results if part.what == what)


def _grids(results: Results) -> list[Grid]:
    return [_accuracy(results), _steps(results), _runs(results), *_memory(results),
            _below(results)]  # fmt: skip


def _by_way(results: Results) -> dict[str, list[Figures]]:
    """Accuracies of every seed."""
    found: dict[str, list[Figures]] = {}
    for part, figures in _found(results, "accuracy"):
        found.setdefault(part.way, []).append(figures)
    return found


def _accuracy(results: Results) -> Grid:
    ways = _by_way(results)
    agreed = {part.way: figures for part, figures in _found(results, "agreement")}
    first = ways[TRAINED[0]][0]
    words = {"training": "train", "validation": "validate", "test": "test"}
    sizes = ", ".join(f"{first[f'{k} images']:,.0f} {word}" for k, word in words.items())
    seeds = counted(len(ways[TRAINED[0]]), "seed")
    heads = ("", "validation %", "test %", "epochs", "last q", "C: steps", "C: bytes")
    rows = [
        (way, _spread(found, "validation"), _spread(found, "test"), _mean(found, "epochs"),
         _mean(found, "last q") if found[0]["last q"] else "-", f"{agreed[way]['steps']:,.0f}",
         _agreement(agreed[way]))
        for way, found in ways.items()
    ]  # fmt: skip
    return Grid(f"Accuracy, {seeds}; images: {sizes}", heads, rows)


def _spread(found: Sequence[Figures], name: str) -> str:
    return spread_over(*_statistics(found, name), len(found), ".1f", "±")


def _statistics(found: Sequence[Figures], name: str) -> tuple[float, float]:
    """Mean and standard deviation over seeds, per cent."""
    values = [100 * figures[name] for figures in found]
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def _mean(found: Sequence[Figures], name: str) -> str:
    return f"{np.mean([figures[name] for figures in found]):.0f}"


def _agreement(figures: Figures) -> str:
    """Of the bytes that a run in QEMU and its twin in Python end with."""
    different = figures["different"]
    return f"{different:,.0f} DIFFER" if different else f"{figures['bytes']:,.0f} equal"


def _counts(results: Results) -> tuple[float, dict[float, float]]:
    """Instructions of the frozen layers for one image; of a step by its q, 0 of the exact head."""
    image = 0.0
    steps: dict[float, float] = {}
    for _, figures in _found(results, "steps"):
        image = figures["image"]
        steps |= _by_q(figures, "step")
    return image, steps


def _by_q(figures: Figures, what: str) -> dict[float, float]:
    """q -> number, of the figures named "WHAT, q = Q"."""
    return {float(name.rpartition(" ")[2]): number for name, number in figures.items()
            if name.startswith(f"{what}, q = ")}  # fmt: skip


def _milliseconds(instructions: float) -> float:
    return 1000 * instructions / (CLOCK * PER_CYCLE)


def _step_name(q: float) -> str:
    return f"ZO, q = {q:.0f}" if q else "exact head"


def _steps(results: Results) -> Grid:
    image, steps = _counts(results)
    parts = list(_found(results, "steps"))
    agreed = {q: figures for _, figures in parts for q in steps if f"step, q = {q:.0f}" in figures}
    batch = parts[0][1]["batch"]
    heads = ("", "instructions", "ms", "10^6 with frozen layers", "ms", "stack", "C: bytes")
    rows = [
        (_step_name(q), f"{count:,.0f}", f"{_milliseconds(count):,.1f}",
         f"{(count + batch * image) / 1e6:,.1f}", f"{_milliseconds(count + batch * image):,.0f}",
         f"{agreed[q]['stack']:,.0f}", _agreement(agreed[q]))
        for q, count in steps.items()
    ]  # fmt: skip
    rows.append(("frozen layers, an image", f"{image:,.0f}", f"{_milliseconds(image):,.1f}",
                 "-", "-", "-", "-"))  # fmt: skip
    return Grid(f"A step of {batch:.0f} images on a Cortex-M55", heads, rows)


def _runs(results: Results) -> Grid:
    image, steps = _counts(results)
    batch = next(figures["batch"] for _, figures in _found(results, "steps"))
    heads = ("", "steps", "seconds, features kept", "seconds, images in flash")
    rows = []
    for way, found in _by_way(results).items():
        taken = [_by_q(figures, "steps") for figures in found]
        numbers = [sum(each.values()) for each in taken]
        trained = [sum(steps[q] * n for q, n in each.items()) for each in taken]
        kept = [image * (f["training images"] + f["validation images"]) for f in found]
        again = [image * (batch * n + (f["epochs"] + 1) * f["validation images"])
                 for f, n in zip(found, numbers, strict=True)]  # fmt: skip
        seconds = [np.mean(np.add(trained, frozen)) for frozen in (kept, again)]
        rows.append((way, f"{np.mean(numbers):,.0f}",
                     *(f"{_milliseconds(float(s)) / 1000:,.1f}" for s in seconds)))  # fmt: skip
    return Grid("A whole run, mean over seeds", heads, rows)


def _memory(results: Results) -> list[Grid]:
    heads = ("", "code", "constants", "samples", "flash in all", "RAM")
    titles = {False: "Memory, bytes: frozen layers run for every batch",
              True: "Memory, bytes: RAM holds the features of every image"}  # fmt: skip
    return [
        Grid(title, heads, [_memory_row(part, figures) for part, figures
                            in _found(results, "memory") if part.keep is keep])
        for keep, title in titles.items()
    ]  # fmt: skip


def _memory_row(part: Part, figures: Figures) -> list[str]:
    constants = figures["constants"] + figures["data"]
    sizes = (figures["code"], constants, figures["samples"])
    return [part.way, *(f"{size:,.0f}" for size in (*sizes, sum(sizes), _ram(figures)))]


def _ram(figures: Figures) -> float:
    return figures["data"] + figures["zeros"]


def _below(results: Results) -> Grid:
    """Ways to train the first layer and the head."""
    figures = next(f for part, f in _found(results, "memory") if part.way == BELOW)
    heads = ("", "known by", "kept of forward", "gradients", "of weights", "RAM in all")
    rows = [[BELOW, "linked", "-", "-", "-", f"{_ram(figures):,.0f}"]]
    for name, ram in _backward_ram(figures).items():
        parts = (figures[f"{name} kept"], figures[f"{name} gradients"],
                 FLOAT_BYTES * figures["trained"], ram)  # fmt: skip
        rows.append([f"backpropagation, {name}", "accounting", *(f"{n:,.0f}" for n in parts)])
    return Grid("Memory, bytes: first layer and head trained", heads, rows)


def _backward_ram(figures: Figures) -> dict[str, float]:
    """RAM of the linked program without its batch of features, and of what the pass needs more.

    Gradients in int8 take the arena's place, which holds nothing more by then.
    """
    base = _ram(figures) - figures["features"] + FLOAT_BYTES * figures["trained"]
    more = {"least": max(0, figures["least gradients"] - figures["arena"]),
            "plain": figures["plain gradients"]}  # fmt: skip
    return {name: base + figures[f"{name} kept"] + gradients for name, gradients in more.items()}


def _picture(results: Results) -> bytes:
    accuracies = {way: _statistics(found, "test") for way, found in _by_way(results).items()}
    steps = {_step_name(q): (_milliseconds(count), 0.0) for q, count in _counts(results)[1].items()}
    memory = {part.way: (_ram(figures) / 1000, 0.0) for part, figures in _found(results, "memory")
              if not part.keep}  # fmt: skip
    below = next(figures for part, figures in _found(results, "memory") if part.way == BELOW)
    memory |= {f"backpropagation, {name}": (ram / 1000, 0.0)
               for name, ram in _backward_ram(below).items()}  # fmt: skip
    panels = {"test accuracy, %": accuracies,
              "ms of a step, features kept (assumed, see T7.md)": steps,
              "RAM, kB; backpropagation by accounting": memory}  # fmt: skip
    return to_png(bar_panels(panels))


STUDIES = (
    Study(
        "T7",
        "Training on a device",
        "How good does each way to train get, and what does it take of a Cortex-M55: instructions "
        "and time of a step, flash and RAM?",
        _parts,
        measure,
        Measured,
        _grids,
        _records,
        _picture,
        (
            "Accuracy is the Python engine's, mean and standard deviation over seeds, which draw "
            "the split, the first weights and all signs; validation is the mean of the last ten "
            "epochs, test is of the last weights. Images are not augmented: C trains on originals.",
            "C: the exported program, Helium, in QEMU's Cortex-M55. Seed 0 trains there to its "
            "end, on features in flash, and the whole network trains a step for each q; every "
            "byte that training changed is compared with Python's.",
            "Instructions are counted in QEMU, everything between the beginning of a step and "
            "what follows it; frozen layers by the mean of a batch and one image. A step with "
            "frozen layers is the sum of both.",
            f"Times are instructions at {CLOCK // 10**6} MHz, {PER_CYCLE} instruction a cycle. "
            "Both are assumed: nothing was measured on silicon, where waits for flash come on top. "
            "A whole run holds its steps and the frozen layers, those of evaluations too, and not "
            "the head's part of evaluations. No energy is stated, as none was measured.",
            "The exact head's gradient is that of backpropagation, which for a head alone is an "
            "outer product. Through layers below it there is no backward kernel in C, so no "
            "instructions are stated; memory is by accounting, one image at a time. Least: a bit "
            "for each output that may be clamped, inputs of trained layers, gradients of "
            "activations in int8 in the arena's place. Plain: all activations and gradients in "
            "float32. Both: 4 bytes for each trained weight's gradient, and the linked program's "
            "RAM without its batch of features.",
            "Samples are labelled images in flash. Constants hold what RAM begins with. RAM is "
            "all that is linked, the arena included; there is no heap. The stack comes on top: so "
            "many bytes deep was the whole program in QEMU, which trained all these steps.",
        ),
        tools=tuple(M55_TOOLS),
        said=_said,
    ),
)
