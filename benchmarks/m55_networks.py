"""How many instructions does each layer of a network take on a Cortex-M55?

    python benchmarks/m55_networks.py mlperf_tiny/pretrainedResnet_quant.tflite
    python benchmarks/m55_networks.py coral/tf2_mobilenet_v2_1.0_224_ptq.tflite --input-size 96 96

Models lie under $NPUSIM_SHARED/models. Every node of the model under profile tflm is one call of C,
its input what the network makes of random codes, its scratch as the plan has it. Counted as
`m55_instructions.py` does it: instructions, not cycles. A weighted layer's products count those in
the padding; other nodes are counted by element of their first input. The result goes to
benchmarks/results.
"""

import argparse
import csv
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from provenance import provenance

import npusim
from npusim.export.tools import tool_version

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from c.npu_cases import nodes
from c.records import Case
from c.toolchain import code
from instruction_counter import Counter
from unweighted_calls import planned

SEED = 20261204
COLUMNS = ("layer", "op", "of", "k", "count", "scalar", "mve")
Row = dict[str, Any]


def layers(graph: npusim.Graph) -> Iterator[tuple[Row, Case]]:
    """(name, operator, what is counted, products of an output or none, how many; call)."""
    shape = graph.tensors[graph.inputs[0]].shape
    x = np.random.default_rng(SEED).integers(-128, 128, shape).astype(np.int8)
    for node, case in zip(graph.nodes, nodes.calls(graph, x), strict=True):
        row: Row = {"layer": node.name, "op": node.op, "of": "element", "k": "",
                    "count": int(np.prod(graph.tensors[node.inputs[0]].shape))}  # fmt: skip
        if node.op in nodes.WEIGHTED:
            weights = graph.tensors[node.inputs[1]].shape
            outputs = graph.tensors[node.outputs[0]].shape
            channels = weights[-1] if node.op == "depthwise_conv2d" else weights[0]
            k = int(np.prod(weights)) // channels
            row |= {"of": "product", "k": k, "count": k * int(np.prod(outputs))}
        yield row, planned(case)


def measure(graph: npusim.Graph) -> list[Row]:
    """Rows of COLUMNS."""
    made = list(layers(graph))
    for kind in ("scalar", "mve"):
        with tempfile.TemporaryDirectory() as folder:
            counter = Counter(kind, code(npusim.c_sources()), Path(folder))
            for row, case in made:
                row[kind] = counter.count(case)
                print(kind, *row.values(), flush=True)
    return [row for row, _ in made]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="path below $NPUSIM_SHARED/models")
    parser.add_argument("--input-size", type=int, nargs=2, metavar=("H", "W"))
    options = parser.parse_args()
    path = Path(os.environ["NPUSIM_SHARED"]) / "models" / options.model
    size = tuple(options.input_size) if options.input_size else None
    rows = measure(npusim.load(path, profile="tflm", input_size=size))
    name = "_".join(["m55", path.stem, *map(str, (options.input_size or ())[:1])])
    output = Path(__file__).parent / "results" / f"{name}.csv"
    about = {
        "compiler": tool_version("arm-none-eabi-gcc"),
        "simulator": tool_version("qemu-system-arm"),
        **provenance(),
    }
    with output.open("w", newline="") as file:
        file.writelines(f"# {key}: {value}\n" for key, value in about.items())
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
