"""How many instructions does the C code take on a Cortex-M55, with and without Helium?

    python benchmarks/m55_instructions.py [--weights 12800]

Executed instructions, counted by a plugin of QEMU's mps3-an547 inside the code under test and the
compiler's own functions: not cycles, which QEMU does not know. One call is measured at a time, and
nothing of the harness counts, nor does the C library's memcpy. Needs gcc, arm-none-eabi-gcc and
qemu-system-arm 7 or 8. The result goes to benchmarks/results.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from provenance import provenance

import npusim
import zo
from npusim.export.tools import tool_version
from zo import perturb, prng, update
from zo.fixed_point import Ratio

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from c.cases import arguments
from c.records import Case
from c.toolchain import RULES, code
from instruction_counter import Counter
from kernel_calls import kernel_calls
from unweighted_calls import unweighted_calls

SEED = 20261202
SAMPLES = (8, 64)


def calls(weights: int) -> dict[str, tuple[Case, int]]:
    """(call, how many things it does) by what is counted."""
    random = np.random.default_rng(SEED)
    between = perturb.rails(1)
    codes = random.integers(between.lo, between.hi + 1, weights).astype(np.int8)
    stream = arguments.stream(prng.sign_stream(SEED, 1, 2))
    move = {"weights": codes, "n": weights, "k": 1, "stream": stream, "sample": 3}
    return {
        "weight perturbed": (Case("zo_perturb", move, {}), weights),
        "weight moved from sample to sample": (Case("zo_advance", move, {}), weights),
        **{
            f"weight accumulated, each of {m} samples": (
                _accumulate(weights, random.integers(-(2**40), 2**40, m), stream),
                weights * m,
            )
            for m in SAMPLES
        },
        "weight updated": (_update(codes, random), weights),
    }


def _accumulate(weights: int, c: np.ndarray, stream: dict[str, int]) -> Case:
    given = {"gradient": np.zeros(weights, np.int64), "n": weights, "c": c, "m": c.size}
    return Case("zo_accumulate_signs", {**given, "stream": stream, "sample": 0, "first": 0}, {})


def _update(codes: np.ndarray, random: np.random.Generator) -> Case:
    """Error feedback with momentum, ten channels, codes that move by about a thousandth."""
    rule = update.UpdateRule("error_feedback", perturb.rails(1))
    channels = 10
    state = update.new_state(codes, channels, codes.size // channels, rule)
    rate = Ratio(np.full(channels, 1 << 15), np.full(channels, 30))
    given = {
        "state": arguments.state(state),
        "gradient": random.integers(-(2**36), 2**36, codes.size),
        "scale": arguments.ratio(update.gradient_scale(8 * 64, 1)),
        "rate": arguments.ratio(rate),
        "rule": arguments.update_rule(rule),
        "stream": arguments.stream(prng.rounding_stream(SEED, 1, 2)),
    }
    return Case("zo_update", given, {})


def measure(kind: str, folder: Path, weights: int) -> dict[str, float]:
    """Instructions of everything in `calls`, and of Philox alone."""
    counter = Counter(kind, code(zo.c_sources()), folder)
    made = calls(weights)
    found = {what: round(counter.count(case) / times, 3) for what, (case, times) in made.items()}
    case, _ = made["weight perturbed"]
    philox = "zo_sign_words" if kind == "scalar" else "zo_four_blocks"
    blocks = -(-weights // 128)
    found["Philox, 128 bits"] = round(counter.count(case, philox) / blocks, 2)
    return found


def measure_kernels(kind: str, folder: Path) -> dict[str, float]:
    """Instructions of everything in `kernel_calls` and `unweighted_calls`."""
    counter = Counter(kind, code(npusim.c_sources()), folder)
    made = kernel_calls() | unweighted_calls()
    return {what: round(counter.count(case) / times, 3) for what, (case, times) in made.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weights", type=int, default=12800, help="as a head of 1280 x 10 has")
    options = parser.parse_args()
    result: dict = {"weights": options.weights, "kernels": {}}
    for kind in ("scalar", "mve"):
        with tempfile.TemporaryDirectory() as folder:
            result[kind] = measure(kind, Path(folder), options.weights)
        with tempfile.TemporaryDirectory() as folder:
            result["kernels"][kind] = measure_kernels(kind, Path(folder))
    result["options"] = " ".join(RULES[1:3])
    result["compiler"] = tool_version("arm-none-eabi-gcc")
    result["simulator"] = tool_version("qemu-system-arm")
    result |= provenance()
    output = Path(__file__).parent / "results" / "m55_instructions.json"
    output.parent.mkdir(exist_ok=True)
    output.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
