"""How much flash and RAM do exported models take on a Cortex-M55?

    python benchmarks/m55_memory.py

MLPerf Tiny's resnet, and MobileNetV2 for images of 96 by 96 with the training of a new head of ten
classes, from $NPUSIM_SHARED/models, exported for the Cortex-M55 and linked without the program
around them: what `arm-none-eabi-size` says of their sections. Weights and images are random where
the model has none; they do not change a size. The result goes to benchmarks/results.
"""

import json
import os
import tempfile
from pathlib import Path

import numpy as np
from provenance import provenance

import npusim
import zo
from npusim.export import export_c
from npusim.export.sections import CPUS, linked_sections
from npusim.head import Head, find_head, replace_head
from npusim.tensor_files import random_inputs
from zo.data import in_memory
from zo.export import Device, Task, export_training

MODELS = Path(os.environ["NPUSIM_SHARED"]) / "models"
TARGET = "qemu-m55"
CLASSES, SIDE, BATCH, Q = 10, 96, 64, 4
SEED = 20261204


def resnet(folder: Path) -> tuple[list[str], int]:
    """Write resnet; the functions a firmware calls, and bytes of the arena it gives them."""
    graph = npusim.load(MODELS / "mlperf_tiny/pretrainedResnet_quant.tflite")
    project = export_c(graph, "model", random_inputs(graph, 1), TARGET)
    project.write(folder)
    return ["model_run"], project.model.plan.arena_bytes


def trainer(folder: Path) -> tuple[list[str], int]:
    """Write the training of MobileNetV2's new head, whose memory is its own; likewise."""
    rng = np.random.default_rng(SEED)
    path = MODELS / "coral/tf2_mobilenet_v2_1.0_224_ptq.tflite"
    graph = npusim.load(path, input_size=(SIDE, SIDE))
    features = graph.tensors[find_head(graph).inputs[1]].shape[-1]
    weights = rng.integers(-16, 17, (CLASSES, features)).astype(np.int8)
    scales = np.full(CLASSES, 0.01, np.float32)
    graph = replace_head(graph, Head(weights, scales, np.zeros(CLASSES, np.int32), 0.2))
    images = rng.integers(0, 256, (BATCH, SIDE, SIDE, 3)).astype(np.uint8)
    names = tuple(map(str, range(CLASSES)))
    data = in_memory("random", images, np.arange(BATCH) % CLASSES, names)
    options = zo.Options(epochs=1, batch=BATCH, seed=SEED)
    task = Task(graph, ("head",), data, data)
    device = Device(TARGET, 1, False)
    export_training(task, "model", zo.Constant(Q), options, device).write(folder)
    return ["zo_train", "model_load_training", "model_training"], 0


def sections(folder: Path, entries: list[str], arena: int) -> dict[str, dict[str, int]]:
    """Bytes of code, of constants and of RAM, by kind of processor."""
    found = {kind: linked_sections(folder, entries, cpu) for kind, cpu in CPUS.items()}
    return {
        kind: {"code": one.code, "constants": one.constants, "ram": one.ram + arena}
        for kind, one in found.items()
    }


def main() -> None:
    result: dict = {}
    for name, write in (("resnet", resnet), ("MobileNetV2, training its head", trainer)):
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary) / "out"
            entries, arena = write(folder)
            result[name] = sections(folder, entries, arena)
    result |= provenance()
    output = Path(__file__).parent / "results" / "m55_memory.json"
    output.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
