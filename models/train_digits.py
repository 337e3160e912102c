"""Make ``models/digits_cnn.h5``: train the digit reader in float, quantise it, save it.

    python -m npusim.models.train_digits [--output FILE]

Takes about ten seconds on one core and gives the same bytes on every run.
"""

import argparse
import hashlib
import sys
from pathlib import Path

import numpy as np

import npusim

from .float_network import Recipe, forward, train
from .images import Labelled, digits, to_int8
from .quantize_network import quantize_network

PROVENANCE = {
    "script": "models/train_digits.py",
    "data": "UCI handwritten digits, https://doi.org/10.24432/C50P49, CC BY 4.0",
    "licence": "Apache-2.0",
}


def main(arguments: list[str] | None = None) -> int:
    """Train, quantise, save, and print the accuracies."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name("digits_cnn.h5"))
    options = parser.parse_args(arguments)
    parts = digits()
    x = real(parts.train.images)
    parameters = train(x, parts.train.labels, Recipe())
    graph = quantize_network(parameters, x, PROVENANCE)
    npusim.save(graph, options.output)
    session = npusim.Session(graph)
    for name, part in parts._asdict().items():
        reals = forward(parameters, real(part.images))[2]
        codes = np.asarray(session.run(to_int8(part.images)))
        print(f"{name:10} float {accuracy(reals, part)}  int8 {accuracy(codes, part)}")
    digest = hashlib.sha256(options.output.read_bytes()).hexdigest()
    print(f"{options.output}: {options.output.stat().st_size} bytes, sha256 {digest}")
    return 0


def real(images: np.ndarray) -> np.ndarray:
    """The real values of the network's input codes: (N, 8, 8) uint8 -> (N, 8, 8, 1) in 0..1."""
    return (to_int8(images).astype(np.float64) + 128.0) / 256.0


def accuracy(logits: np.ndarray, part: Labelled) -> str:
    """Right answers of all, such as "441/449 98.22 %"; ties go to the lowest digit."""
    right = int((logits.argmax(1) == part.labels).sum())
    return f"{right}/{len(part.labels)} {100.0 * right / len(part.labels):.2f} %"


if __name__ == "__main__":
    sys.exit(main())
