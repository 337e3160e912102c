"""What int8 costs a feature extractor: features and a linear probe, float against int8.

    python benchmarks/quantized_features.py WEIGHTS.npz EuroSAT_RGB.zip [--input-size 64]

The rival is onnxruntime.quantization.quantize_static on the same weights and calibration images:
QDQ, weights and activations int8, weights by channel, run by onnxruntime.

Labelled images are drawn by a seed; ranges are calibrated on the first ones that the probe learns
from. The probe is ridge regression on standardised features, its penalty chosen on a fifth of them.
`cosine` and `sqnr` compare features of test images; `agreement` is how often the probe of the float
features says the same of int8 features. `against` compares either with each rival on the same test
images: the difference with its interval at 95 %, and McNemar's p. It is of the test images alone:
other labelled images to learn from would move the probes too. The result is written to
benchmarks/results after each way.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from paired import paired
from provenance import provenance
from quantized_by_onnxruntime import rival_features

from npusim import Session, calibrate, floats, models
from npusim.layer_error import made_real
from npusim.origin import training
from zo.data import Dataset, load, split, to_input

WAYS = {
    "npusim": calibrate.Options(batches=8),
    "npusim, ranges minmax": calibrate.Options(batches=8, observer="minmax"),
    "npusim, ranges percentile": calibrate.Options(batches=8, observer="percentile"),
    "npusim, not equalised": calibrate.Options(batches=8, equalize=False),
    "npusim, biases not corrected": calibrate.Options(batches=8, correct_biases=False),
    "npusim, neither": calibrate.Options(batches=8, equalize=False, correct_biases=False),
}
RIVALS = {f"onnxruntime, {name}": name for name in ("MinMax", "Percentile", "Entropy")}
PENALTIES = 10.0 ** np.arange(-2, 6)
BATCH = 32


class Probe:
    """Ridge regression onto +-1 for every class, on standardised features."""

    def __init__(self, x: np.ndarray, labels: np.ndarray, penalty: float) -> None:
        self.mean, self.deviation = x.mean(0), x.std(0) + 1e-6
        z = (x - self.mean) / self.deviation
        y = 2.0 * (labels[:, None] == np.arange(labels.max() + 1)) - 1.0
        self.bias = y.mean(0)
        gram = z.T @ z + penalty * np.eye(z.shape[1])
        self.weights = np.linalg.solve(gram, z.T @ (y - self.bias))

    def classes(self, x: np.ndarray) -> np.ndarray:
        return ((x - self.mean) / self.deviation @ self.weights + self.bias).argmax(1)


def fitted(x: np.ndarray, labels: np.ndarray) -> Probe:
    """The probe with the penalty that is best on the last fifth."""
    cut = len(x) * 4 // 5
    right = [
        (Probe(x[:cut], labels[:cut], p).classes(x[cut:]) == labels[cut:]).mean() for p in PENALTIES
    ]
    return Probe(x, labels, PENALTIES[int(np.argmax(right))])


def float_features(graph: Any, images: np.ndarray) -> np.ndarray:
    """float64 (N, C)."""
    parts = [floats.run(graph, images[i : i + BATCH]) for i in range(0, len(images), BATCH)]
    return np.concatenate(parts).astype(np.float64)


def int8_features(graph: Any, images: np.ndarray) -> np.ndarray:
    """float64 (N, C), as the codes stand for them."""
    codes = np.asarray(Session(graph).run(images))
    return made_real(codes, graph.tensors[graph.outputs[0]]).astype(np.float64)


def made(
    graph: Any, folded: Any, images: Sequence[np.ndarray]
) -> Iterator[tuple[str, list[np.ndarray]]]:
    """Every way of quantising, and the features that it makes of the images."""
    for way, method in RIVALS.items():
        yield way, rival_features(folded, images, method)
    for way, options in WAYS.items():
        int8 = calibrate.quantize_graph(graph, images[0], options)
        yield way, [int8_features(int8, x) for x in images]


class Told(NamedTuple):
    """What a way of quantising makes of the test images.

    figures   by name
    right     bool (N,): the probe of its own features has the class
    same      bool (N,): the probe of the float features says of its features what it says of float
    """

    figures: dict[str, float]
    right: np.ndarray
    same: np.ndarray


def compared(
    exact: Sequence[np.ndarray], coarse: Sequence[np.ndarray], parts: Sequence[Dataset]
) -> Told:
    """Features of (learn, test) in float and int8."""
    f, y = exact[1], coarse[1]
    cosines = (f * y).sum(1) / np.sqrt((f * f).sum(1) * (y * y).sum(1))
    probes = [fitted(x[0], parts[0].labels) for x in (exact, coarse)]
    told = [p.classes(x) for p, x in zip(probes, (f, y), strict=True)]
    right = [classes == parts[1].labels for classes in told]
    same = probes[0].classes(y) == told[0]
    figures = {
        "cosine": float(cosines.mean()),
        "cosine_least": float(cosines.min()),
        "sqnr_db": float(10 * np.log10((f * f).sum() / ((f - y) ** 2).sum())),
        "probe_float": float(right[0].mean()),
        "probe_int8": float(right[1].mean()),
        "agreement": float(same.mean()),
    }
    return Told(figures, right[1], same)


def against(told: Mapping[str, Told]) -> dict[str, Any]:
    """Each of our ways beside each rival, as far as they have been told."""
    return {
        way: {
            rival: {
                "probe_int8": paired(told[way].right, told[rival].right),
                "agreement": paired(told[way].same, told[rival].same),
            }
            for rival in RIVALS
            if rival in told
        }
        for way in WAYS
        if way in told
    }


def result(graph: Any, chosen: argparse.Namespace, told: Mapping[str, Told]) -> dict[str, Any]:
    """What goes to the file; the ways that a run has not come to are named."""
    return {
        "model": graph.name,
        **{name: value for name, value in vars(chosen).items() if type(value) is int},
        "calibration_images": 8 * BATCH,
        "rival": f"onnxruntime {version('onnxruntime')}",
        "rows": {way: found.figures for way, found in told.items()},
        "against": against(told),
        "not_run": [way for way in (*RIVALS, *WAYS) if way not in told],
    }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--input-size", type=int, default=64)
    for name, number in {"--learn": 4000, "--test": 5000, "--seed": 1}.items():
        parser.add_argument(name, type=int, default=number)
    return parser.parse_args()


def main() -> None:
    chosen = arguments()
    graph = models.from_weights(chosen.weights, (chosen.input_size, chosen.input_size))
    parts = [
        to_input(part, graph, training(graph).normalization)
        for part in split(load(chosen.data), (chosen.learn, chosen.test), chosen.seed)
    ]
    images = [part.images() for part in parts]
    folded = floats.fold_batch_norms(graph)
    exact = [float_features(folded, x) for x in images]
    name = f"quantized_features_{graph.name}_{chosen.input_size}.json"
    output = Path(__file__).parent / "results" / name
    told, origin = {}, provenance()
    for way, features in made(graph, folded, images):
        told[way] = compared(exact, features, parts)
        print(way, json.dumps(told[way].figures), flush=True)
        found = {**result(graph, chosen, told), **origin}
        output.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
