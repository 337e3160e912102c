"""Which way do ties go in the three stages of an STM32N6's Neural-ART? A test for a board.

    python examples/neural_art_ties/ties.py write ties/
    ... compile ties/model.tflite for the board, run ties/input.npy on it, fetch its int8 output ...
    python examples/neural_art_ties/ties.py judge ties/ output.npy

The model is one 1x1 convolution whose scales are powers of two, so that every coefficient is one,
whatever shifts the compiler chooses, and ties are frequent in each stage and of both signs:

    r0 = acc / 2^s0          channels 0..15: small weights, one step of r0 is about a code
    r1 = r0 * A_c / 2^s1     the others: a half, a quarter or an eighth of r0
    y  = r1 * 2^14 / 2^20    the others: a 64th of r1

s0 is the compiler's secret, so every s0 is tried with every combination of rules: 0..12 and 27.
From 13 the second stage would need a coefficient that int16 does not hold.

exit status: 0 a hypothesis fits; 1 none does; 2 not done, and one line says why
"""

import argparse
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple
from zipfile import BadZipFile

import numpy as np
from tflite_writer import Layer, to_tflite

import npusim

SIZE = (32, 32)
INPUTS, SMALL, OUTPUTS = 64, 16, 64
X_SCALE, Y_SCALE = 2.0**-6, 2.0**-7
SMALL_SCALE = 2.0**-5
NODE = "conv2d_0"
TIES = ("away", "even", "up")
SHIFTS = range(13)
STAGES = ("CONVACC, r0 = acc / 2^s0", "ARITH, r1 = r0 * A_c / 2^s1", "ARITH, y = (r1 * A2 + BC_c) "
          "/ 2^20")  # fmt: skip
MEANING = {
    "away": "ties go away from zero: npusim's default; -0.5 becomes -1, 0.5 becomes 1",
    "even": "ties go to the even number: -0.5 and 0.5 become 0, 1.5 becomes 2",
    "up": "ties go toward plus infinity, as adding half and shifting does: -0.5 becomes 0",
}


class Finding(NamedTuple):
    """One hypothesis and how many of the board's outputs contradict it."""

    s0: int
    ties: tuple[str, ...]
    differing: int


def layer() -> Layer:
    """The test layer: 16 channels with two small weights each, 48 with random ones."""
    rng = np.random.default_rng(20261130)
    weights = rng.integers(-127, 128, (OUTPUTS, INPUTS)).astype(np.int8)
    weights[:SMALL] = 0
    for o in range(SMALL):
        weights[o, 2 * o : 2 * o + 2] = (1 + o % 3, -1 - o // 3 % 3)
    w_scale = np.full(OUTPUTS, SMALL_SCALE, np.float32)
    k = np.arange(OUTPUTS - SMALL)
    w_scale[SMALL:] *= np.exp2(-7 - k % 3).astype(np.float32)
    bias = np.zeros(OUTPUTS, np.int32)
    bias[SMALL:] = (k // 3) << (5 + k % 3)  # 64ths of a code: r1 meets the next code at any parity
    return Layer(weights, bias, X_SCALE, -128, w_scale, Y_SCALE, 0, SIZE)


def inputs() -> np.ndarray:
    """int8 (1, 32, 32, 64): codes of the whole range."""
    rng = np.random.default_rng(11302026)
    return rng.integers(-128, 128, (1, *SIZE, INPUTS)).astype(np.int8)


def predict(model: Path, x: np.ndarray, s0: int, ties: tuple[str, ...]) -> np.ndarray:
    """What Neural-ART returns under a hypothesis."""
    parameters = {NODE: {"s0": s0, "ties": list(ties)}}
    graph = npusim.load(model, profile="neural-art", parameters=parameters)
    y = npusim.Session(graph).run(x)
    assert isinstance(y, np.ndarray)
    return y


def judge(model: Path, x: np.ndarray, board: np.ndarray) -> Iterator[Finding]:
    """Every hypothesis."""
    for s0, *ties in product(SHIFTS, TIES, TIES, TIES):
        y = predict(model, x, s0, tuple(ties))
        yield Finding(s0, tuple(ties), int(np.sum(y.reshape(-1) != board.reshape(-1))))


def verdict(findings: list[Finding], outputs: int) -> Iterator[str]:
    """What the findings say, line by line."""
    fitting = [f for f in findings if f.differing == 0]
    if not fitting:
        yield f"no hypothesis gives all {outputs} outputs; the nearest:"
        for f in sorted(findings, key=lambda f: f.differing)[:5]:
            yield f"  s0 {f.s0}, ties {' '.join(f.ties)}: {f.differing} differ"
        yield "So the model of docs/neural-art.md does not describe this layer on this board."
        yield "One or two codes off: look up A_c, A2 and BC_c in the compiled stream and give them."
        yield "Many codes off: check the input's layout and that the model ran on the NPU."
        return
    yield f"s0 is {' or '.join(str(s0) for s0 in sorted({f.s0 for f in fitting}))}"
    for k, stage in enumerate(STAGES):
        rules = sorted({f.ties[k] for f in fitting})
        if len(rules) == 1:
            yield f"stage {k + 1} ({stage}): {MEANING[rules[0]]}"
        else:
            yield f"stage {k + 1} ({stage}): {' or '.join(rules)}, its ties were not met"
    yield "Give npusim what was found:"
    ties = ", ".join(f'"{name}"' for name in fitting[0].ties)
    yield f'  {{"*": {{"ties": [{ties}]}}}}'


def read_output(path: Path) -> np.ndarray:
    """int8 outputs from .npy, from the only int8 array of their size in .npz, or raw bytes."""
    count = SIZE[0] * SIZE[1] * OUTPUTS
    if path.suffix == ".npz":
        with np.load(path) as file:
            found = [file[name] for name in file.files]
        fitting = [array for array in found if array.dtype == np.int8 and array.size == count]
        if len(fitting) != 1:
            raise ValueError(f"{path}: must hold one int8 array of {count}, got {len(fitting)}")
        return fitting[0]
    array = _npy(path) if path.suffix == ".npy" else np.fromfile(path, np.int8)
    if array.dtype != np.int8 or array.size != count:
        raise ValueError(f"{path}: must hold {count} int8, got {array.size} {array.dtype}")
    return array


def _npy(path: Path) -> np.ndarray:
    try:
        return np.load(path)
    except (EOFError, ValueError) as error:
        raise ValueError(f"{path}: must be an array of .npy, got {error}") from error


def write(folder: Path) -> None:
    """model.tflite, and the input as input.npy and input.bin."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise ValueError(f"{folder}: folder must be empty; remove its files or name another")
    x = inputs()
    (folder / "model.tflite").write_bytes(to_tflite(layer()))
    np.save(folder / "input.npy", x)
    x.tofile(folder / "input.bin")
    print(f"{folder}: model.tflite, input.npy and input.bin {x.shape} int8")
    print(
        f"the board returns {SIZE[0]}x{SIZE[1]}x{OUTPUTS} int8, channels last; give them to judge"
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("write", help="write the model and its input")
    writing.add_argument("folder", type=Path, help="empty or new")
    judging = commands.add_parser("judge", help="say what a board's output means")
    judging.add_argument("folder", type=Path, help="what write made")
    judging.add_argument("output", type=Path, help=".npy, .npz or raw int8")
    options = parser.parse_args()
    try:
        if options.command == "write":
            write(options.folder)
            return 0
        return say(options.folder, options.output)
    except (OSError, ValueError, BadZipFile) as error:
        print(f"ties.py: {reason(error)}", file=sys.stderr)
        return 2


def say(folder: Path, output: Path) -> int:
    """Print what a board's output means; 1 where no hypothesis gives it."""
    board = read_output(output)
    findings = list(judge(folder / "model.tflite", inputs(), board))
    print("\n".join(verdict(findings, board.size)))
    return 0 if any(f.differing == 0 for f in findings) else 1


def reason(error: Exception) -> str:
    """An error in one line."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror.lower()}"
    return " ".join(str(error).split())


if __name__ == "__main__":
    sys.exit(main())
