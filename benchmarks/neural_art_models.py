"""How far is a model under neural-art from the same model under tflm?

    python benchmarks/neural_art_models.py MODEL --origin mlcommons/tiny --pictures cifar10.npz \\
        --data-name "200 CIFAR-10 test images" [--mean .485 .456 .406 --std .229 .224 .225]
    python benchmarks/neural_art_models.py MODEL --origin .. --input set.npz:inputs --labels set.npz

Per layer: elements that differ when it gets tflm's inputs, and when it gets its own network's. Per
unknown of the silicon (s0, ties, width of partial sums): answers that change. Nothing is compared
with a board here; docs/neural-art.md says what is. The result goes to benchmarks/results.
"""

import argparse
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from provenance import provenance

import npusim
from npusim.graph import ABSENT
from npusim.images import Normalization
from npusim.neural_art.settle import settle
from npusim.neural_art.stored import on_hardware, read
from npusim.tensor_files import read_inputs
from zo.data import load, to_input

PROFILE = "neural-art"


def run(graph: npusim.Graph, x: np.ndarray) -> np.ndarray:
    """The graph's only output."""
    y = npusim.Session(graph).run(x)
    assert isinstance(y, np.ndarray)
    return y


def alone(graph: npusim.Graph, node: npusim.Node) -> npusim.Graph:
    """The graph of one node; what other nodes make are its inputs."""
    kept = [i for i in dict.fromkeys((*node.inputs, *node.outputs)) if i != ABSENT]
    place = {old: new for new, old in enumerate(kept)} | {ABSENT: ABSENT}
    tensors = [graph.tensors[i] for i in kept]
    made = set(node.outputs)
    tensors = [
        replace(t, kind="input") if t.data is None and i not in made else t
        for i, t in zip(kept, tensors, strict=True)
    ]
    moved = replace(node, inputs=tuple(place[i] for i in node.inputs),
                    outputs=tuple(place[i] for i in node.outputs))  # fmt: skip
    entries = tuple(k for k, tensor in enumerate(tensors) if tensor.kind == "input")
    return replace(graph, tensors=tuple(tensors), nodes=(moved,), inputs=entries,
                   outputs=moved.outputs)  # fmt: skip


def layers(plain: npusim.Graph, board: npusim.Graph, x: np.ndarray) -> list[dict[str, Any]]:
    """Differing elements of every node on Neural-ART."""
    expected = dict(npusim.Session(plain).trace(x))
    actual = dict(npusim.Session(board).trace(x))
    rows = []
    for node in board.nodes:
        if not on_hardware(board, node):
            continue
        name = board.tensors[node.outputs[0]].name
        single = alone(board, node)
        inputs = {single.tensors[i].name: expected[single.tensors[i].name] for i in single.inputs}
        y = npusim.Session(single).run(inputs)
        want = expected[name]
        rows.append(
            {
                "node": node.name,
                "elements": int(want.size),
                "alone": int(np.sum(y != want)),
                "alone_max": int(np.abs(y.astype(int) - want).max()),
                "in_network": int(np.sum(actual[name] != want)),
                "in_network_max": int(np.abs(actual[name].astype(int) - want).max()),
            }
        )
    return rows


def variants(graph: npusim.Graph) -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    """Parameters by what is unknown of the silicon."""
    s0 = {n.name: int(read(n).values["s0"][0]) for n in graph.nodes if "s0" in read(n).values}
    return {
        "by the rules": {},
        "s0 one less": {name: {"s0": max(n - 1, 0)} for name, n in s0.items()},
        "s0 one more": {name: {"s0": n + 1} for name, n in s0.items()},
        "ties to even": {"*": {"ties": "even"}},
        "ties up": {"*": {"ties": "up"}},
        "24-bit partial sums": {"*": {"partial_bits": 24}},
    }


def answers(
    plain: npusim.Graph, board: npusim.Graph, x: np.ndarray, labels: np.ndarray | None
) -> dict[str, dict[str, Any]]:
    """Labels that change from tflm's and from those by the rules; accuracies where known."""
    outputs = {"tflm": run(plain, x)}
    for name, parameters in variants(board).items():
        outputs[name] = run(settle(replace(plain, profile=PROFILE), parameters), x)
    tops = {name: y.reshape(len(y), -1).argmax(1) for name, y in outputs.items()}
    found = {}
    for name, y in outputs.items():
        found[name] = {
            "differing": int(np.sum(y != outputs["tflm"])),
            "max": int(np.abs(y.astype(int) - outputs["tflm"]).max()),
            "labels_not_tflms": int(np.sum(tops[name] != tops["tflm"])),
            "labels_not_the_rules": int(np.sum(tops[name] != tops["by the rules"])),
        }
        if labels is not None:
            found[name]["right"] = int(np.sum(tops[name] == labels))
    return found


def inputs(graph: npusim.Graph, chosen: argparse.Namespace) -> tuple[np.ndarray, Any]:
    """(codes, labels or None) of at most --images images."""
    if chosen.pictures is not None:
        normalization = None
        if chosen.mean is not None:
            normalization = Normalization(tuple(chosen.mean), tuple(chosen.std))
        found = to_input(load(chosen.pictures), graph, normalization)
        rows = np.random.default_rng(0).permutation(len(found))[: chosen.images]
        return found.images(rows), found.labels[rows] if chosen.judged else None
    (x,) = read_inputs(chosen.input, graph, None).values()
    labels = np.load(chosen.labels)["labels"][: chosen.images] if chosen.labels else None
    return x[: chosen.images], labels


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--origin", required=True, help="where the model is public")
    parser.add_argument("--data-name", required=True, help="what the inputs are")
    parser.add_argument("--pictures", help="a data set of pictures, as zo reads it")
    parser.add_argument("--judged", action="store_true", help="its labels are the model's")
    parser.add_argument("--input", help="codes or real numbers, as npusim run reads them")
    parser.add_argument("--labels", type=Path, help=".npz with an array `labels`")
    parser.add_argument("--images", type=int, default=200)
    parser.add_argument("--autoencoder", action="store_true", help="the output is no choice")
    parser.add_argument("--mean", type=float, nargs="+")
    parser.add_argument("--std", type=float, nargs="+")
    return parser.parse_args()


def main() -> None:
    chosen = options()
    plain = npusim.load(chosen.model)
    board = npusim.load(chosen.model, profile=PROFILE)
    x, labels = inputs(plain, chosen)
    result = {
        "model": chosen.model.name,
        "origin": chosen.origin,
        "data": chosen.data_name,
        "images": len(x),
        "labels": not chosen.autoencoder,
        "layers": layers(plain, board, x),
        "answers": answers(plain, board, x, labels),
        **provenance(),
    }
    output = Path(__file__).parent / "results" / f"neural_art_{chosen.model.stem}.json"
    output.parent.mkdir(exist_ok=True)
    output.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result["answers"], indent=1))


if __name__ == "__main__":
    main()
