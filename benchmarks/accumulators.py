"""How narrow may a model's accumulator be, and what happens to its labels?

    python benchmarks/accumulators.py MODEL --pictures cifar10.npz --origin mlcommons/tiny \\
        --data-name "200 CIFAR-10 test images"

For every width, wrapping and saturating: labels right, labels other than with 32 bits, and the sums
that left the accumulator, counted by `npusim.check_headroom`. The result goes to
benchmarks/results.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from provenance import provenance

import npusim
from zo.data import load, to_input

WIDTHS = (32, 24, 20, 18, 17, 16)
RULES = ("wrap", "saturate")


def tops(graph: npusim.Graph, x: np.ndarray) -> np.ndarray:
    """The class of every image."""
    y = npusim.Session(graph).run(x)
    assert isinstance(y, np.ndarray)
    return y.reshape(len(y), -1).argmax(1)


def row(
    graph: npusim.Graph, x: np.ndarray, labels: np.ndarray, usual: np.ndarray
) -> dict[str, Any]:
    """What becomes of the images with the graph's accumulator."""
    assert graph.accumulator is not None
    found = tops(graph, x)
    headroom = npusim.check_headroom(graph, x)
    nodes = [node for node in headroom.nodes if node.sums is not None]
    return {
        "bits": graph.accumulator.bits,
        "overflow": graph.accumulator.overflow,
        "right": int((found == labels).sum()),
        "labels_changed": int((found != usual).sum()),
        "nodes_proven": sum(not node.unproven for node in nodes),
        "outputs": sum(node.sums_formed for node in nodes),
        **{w: sum(n.total(w) for n in nodes) for w in ("overflows", "changed")},
        "outputs_with_overflow": sum(node.total("outputs") for node in nodes),
    }


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--pictures", required=True, help="labelled pictures, as zo reads them")
    parser.add_argument("--origin", required=True, help="where the model is public")
    parser.add_argument("--data-name", required=True, help="what the pictures are")
    return parser.parse_args()


def main() -> None:
    chosen = options()
    graph = npusim.load(chosen.model)
    data = to_input(load(chosen.pictures), graph, None)
    x, labels = data.images(np.arange(len(data))), data.labels
    usual = tops(graph, x)
    static = npusim.check_headroom(graph, x)
    rows = []
    for bits in WIDTHS:
        for rule in RULES:
            narrow = replace(graph, accumulator=npusim.Accumulator(bits, rule))
            rows.append(row(narrow, x, labels, usual))
            print(rows[-1], flush=True)
    result = {
        "model": chosen.model.name,
        "origin": chosen.origin,
        "data": chosen.data_name,
        "images": len(x),
        "nodes": sum(node.count > 0 for node in static.nodes),
        "bits_proven": max(node.bits or 0 for node in static.nodes),
        "bits_seen": max(node.bits_seen or 0 for node in static.nodes),
        "rows": rows,
        **provenance(),
    }
    output = Path(__file__).parent / "results" / f"accumulators_{chosen.model.stem}.json"
    output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
