"""Does training a head depend on the arithmetic? The demo's head, trained under each profile.

    python benchmarks/demo_head_profiles.py --profiles tflm neural-art [--epochs 40] [--seeds 3]

The digit reader meets moved, inverted and low-contrast digits; its head is trained by the exact
gradient and by zeroth order, with fixed scales, since Neural-ART's cannot change. Every network is
trained and judged under the same profile. The result goes to benchmarks/results.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from provenance import provenance

from npusim import Graph, Session
from npusim.head import with_features
from npusim.models import digits, digits_cnn, to_int8
from npusim.profiles import PROFILES
from zo import Constant, Method, Options, train
from zo.data import Dataset, in_memory
from zo.demo import BATCH, SHIFTS, accuracy

WAYS = {
    "exact head": (Method(exact_head=True, recalibrate=False), 1),
    "ZO head, q = 16": (Method(recalibrate=False), 16),
}


def part(name: str, shift: str) -> Dataset:
    """One part of the digits under a shift."""
    found = getattr(digits(), name)
    images = to_int8(SHIFTS[shift](found.images))
    return in_memory(name, images, found.labels.astype("int64"), tuple("0123456789"))


def trained(graph: Graph, shift: str, way: str, seed: int, epochs: int) -> float:
    """Test accuracy of the head after training."""
    method, q = WAYS[way]
    session = Session(with_features(graph), trainable=["head"])
    options = Options(epochs=epochs, batch=BATCH, seed=seed, stop_after=0, method=method)
    result = train(session, part("train", shift), part("validation", shift),
                   scheduler=Constant(q), options=options)  # fmt: skip
    return accuracy(result.graph, part("test", shift))


def rows(profiles: list[str], epochs: int, seeds: int) -> Iterator[dict[str, Any]]:
    """One for each profile and shift."""
    for profile in profiles:
        graph = replace(digits_cnn(), profile=profile)
        for shift in SHIFTS:
            row = {"profile": profile, "shift": shift,
                   "before": accuracy(graph, part("test", shift))}  # fmt: skip
            for way in WAYS:
                row[way] = [trained(graph, shift, way, seed, epochs) for seed in range(seeds)]
            yield row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profiles", nargs="+", choices=sorted(PROFILES), required=True)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=3)
    chosen = parser.parse_args()
    found = []
    for row in rows(chosen.profiles, chosen.epochs, chosen.seeds):
        print(json.dumps(row))
        found.append(row)
    result = {"epochs": chosen.epochs, "seeds": chosen.seeds, "rows": found, **provenance()}
    output = Path(__file__).parent / "results" / "demo_head_profiles.json"
    output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
