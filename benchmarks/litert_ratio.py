"""How fast is npusim against LiteRT, on one model and one thread?

    python benchmarks/litert_ratio.py MODEL.tflite --input-size 96 [--mode ref] [--rounds 20]

Both engines run the same codes in turn within one process; the ratio is taken round by round, so
that a change of the machine's speed hits both. The result goes to benchmarks/results.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from provenance import provenance

import npusim

RESOLVERS = {
    "ref": OpResolverType.BUILTIN_REF,
    "x86": OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    "xnnpack": OpResolverType.AUTO,
}


def litert_runner(model: Path, x: np.ndarray, mode: str) -> Callable[[], np.ndarray]:
    """A function that runs one image in LiteRT on one thread."""
    interpreter = Interpreter(
        str(model), experimental_op_resolver_type=RESOLVERS[mode], num_threads=1
    )
    entry = interpreter.get_input_details()[0]["index"]
    leave = interpreter.get_output_details()[0]["index"]
    interpreter.resize_tensor_input(entry, x.shape)
    interpreter.allocate_tensors()

    def run() -> np.ndarray:
        interpreter.set_tensor(entry, x)
        interpreter.invoke()
        return interpreter.get_tensor(leave)

    return run


def seconds(run: Callable[[], np.ndarray], repeats: int) -> float:
    """Mean seconds of one call."""
    start = time.perf_counter()
    for _ in range(repeats):
        run()
    return (time.perf_counter() - start) / repeats


def random_codes(tensor: npusim.Tensor) -> np.ndarray:
    """Codes over the whole range of the tensor's type."""
    limits = np.iinfo(tensor.dtype)
    codes = np.random.default_rng(0).integers(limits.min, limits.max + 1, tensor.shape)
    return codes.astype(tensor.dtype)


def measure(model: Path, size: int | None, mode: str, rounds: int, repeats: int) -> dict:
    """Medians of both engines and of their ratio."""
    shape = None if size is None else (size, size)
    graph = npusim.load(model, input_size=shape)
    session = npusim.Session(graph, threads=1)
    x = random_codes(graph.tensors[graph.inputs[0]])
    runners = {"npusim": lambda: session.run(x), "litert": litert_runner(model, x, mode)}
    differing = int((runners["npusim"]() != runners["litert"]()).sum())
    times = np.array([[seconds(run, repeats) for run in runners.values()] for _ in range(rounds)])
    ratio = times[:, 1] / times[:, 0]
    milliseconds = np.median(times, 0) * 1e3
    return {
        "model": model.name,
        "input_size": size,
        "rival": f"LiteRT {mode}",
        "macs": session.macs,
        "npusim_ms": round(float(milliseconds[0]), 4),
        "rival_ms": round(float(milliseconds[1]), 4),
        "ratio_median": round(float(np.median(ratio)), 2),
        "ratio_p10_p90": [round(float(r), 2) for r in np.percentile(ratio, (10, 90))],
        "gmac_per_s": round(session.macs / milliseconds[0] / 1e6, 2),
        "outputs_differing": differing,
        "rounds": rounds,
        "threads": 1,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--input-size", type=int)
    parser.add_argument("--mode", choices=RESOLVERS, default="ref")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path, help="default: benchmarks/results/<name>.json")
    options = parser.parse_args()
    result = measure(
        options.model, options.input_size, options.mode, options.rounds, options.repeats
    )
    result |= provenance()
    name = f"litert_{options.mode}_{options.model.stem}_{options.input_size or 'native'}.json"
    output = options.output or Path(__file__).parent / "results" / name
    output.parent.mkdir(exist_ok=True)
    output.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
