"""`npusim quantize`: float weights and images to an int8 model, with every layer's error."""

import argparse
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from errno import ENOENT
from pathlib import Path
from typing import Any

import numpy as np

from . import save, stl10
from .calibrate import DEFAULT, OBSERVERS, Headroom, Options, quantized_pair
from .command_line import (
    DONE,
    JSON,
    PIXELS,
    Command,
    counting_number,
    image_size,
)
from .floats import load
from .floats.formats import holds_network
from .graph import Graph
from .images import Normalization, to_input
from .layer_error import LayerError, layer_errors
from .origin import PIXELS as NORMALIZATION
from .origin import training
from .picture_files import spread_pictures
from .plurals import counted
from .profiles import PROFILES
from .tensor_files import read_inputs

HELD_OUT = 13
"""One image of so many is kept out of calibration, and errors are measured on those."""

MANUAL = """\
Quantise a float network to int8 (weights by channel, activations per tensor),
and show what that costs, layer by layer.

MODEL is a float network, .onnx, Keras .h5 or .tflite, or float weights under
torchvision's names, of MobileNetV2 or ResNet18, whole or cut: .npz,
.safetensors or .h5; batch norms may be folded already. The images say what
ranges activations have: 25 batches of 32, spread over all that there are, and
resized to the input. Errors are measured on other images, one in 13:

  SQNR dB  signal to noise of the layer's output in the running int8 network
  cosine   between the float and the int8 output
  own dB   signal to noise if only this layer is int8
  hurts    of the fewest layers that make half of all layers' own noise

The .h5 remembers the pixels' normalisation. With --headroom, a classifier that
will be trained in int8 gets scales with room to grow (see docs/zo.md). Weights
under torchvision's names take pixels as torchvision does; a network takes
pixel / 255, or (pixel / 255 - mean) / std by --mean and --std.
"""

EXAMPLES = """\
examples:
  npusim quantize mobilenet_v2.npz --data EuroSAT_RGB.zip --input-size 64 \\
                  --output m.h5
  npusim quantize resnet18.safetensors --data pictures/ --profile xnnpack \\
                  --output m.h5
  npusim quantize keras.h5 --data x.npy --mean 0 --std 0.00392157 --output m.h5
  npusim quantize mobilenet_v2.npz --data x.npy --classes 10 --headroom 8 \\
                  --output m.h5 --json | jq '.layers[] | select(.hurts).node'

"""


def run(arguments: argparse.Namespace) -> int:
    """`npusim quantize`"""
    from .progress_bar import bar

    _check_output(arguments.output)
    options = _options(arguments)
    graph = _with_normalization(_float_graph(arguments), arguments)
    images = calibration_images(graph, arguments.data, options)
    held = images[::HELD_OUT]
    used = np.delete(images, np.s_[::HELD_OUT], axis=0) if len(images) > 1 else images
    with bar("batches") as progress:
        pair = quantized_pair(graph, used, options, arguments.profile, progress)
    with bar("images") as progress:
        errors = layer_errors(*pair, held, progress=progress)
    save(pair.int8, arguments.output)
    _print(arguments, pair.int8, errors, (len(used), len(held)))
    return DONE


def calibration_images(graph: Graph, source: str, options: Options) -> np.ndarray:
    """(N, H, W, C) float32, as the float graph takes them: enough to calibrate and to measure.

    source   a folder or zip archive of pictures, STL-10's binary, or what `npusim run` reads
    """
    path, wanted = Path(source), options.batches * options.batch
    wanted += -(-wanted // (HELD_OUT - 1))
    pixels = training(graph).normalization
    if path.is_dir() or path.suffix.lower() == ".zip":
        pictures = spread_pictures(path, wanted)
    elif path.is_file() and stl10.is_stl10(path):
        pictures = list(_spread(stl10.read_pictures(path), wanted))
    else:
        (images,) = read_inputs(source, graph).values()
        return _spread(images, wanted).astype(np.float32)
    return np.stack([to_input(p, graph, pixels, str(path)) for p in pictures])


def _spread(images: np.ndarray, count: int) -> np.ndarray:
    """At most `count` of the images, spread evenly over all."""
    count = min(count, len(images))
    return images[np.arange(count) * len(images) // count]


def _float_graph(arguments: argparse.Namespace) -> Graph:
    """The network of the file, or one of the architectures with the file's arrays."""
    from .models import from_weights

    if not arguments.weights.exists():
        raise FileNotFoundError(ENOENT, os.strerror(ENOENT), str(arguments.weights))
    if not holds_network(arguments.weights):
        size = arguments.input_size or (224, 224)
        return from_weights(arguments.weights, size, arguments.classes)
    if arguments.classes is not None:
        raise ValueError("--classes: must be left out for a file that holds a whole network, got "
                         f"{arguments.classes}")  # fmt: skip
    return load(arguments.weights, arguments.input_size)


def _with_normalization(graph: Graph, arguments: argparse.Namespace) -> Graph:
    """The graph that takes its pixels by --mean and --std, or its own way, or as pixel / 255."""
    if (arguments.mean is None) != (arguments.std is None):
        raise ValueError("--mean and --std: must be given together, got one of them")
    if arguments.mean is None and training(graph).normalization is not None:
        return graph
    given = Normalization(tuple(arguments.mean or (0.0,)), tuple(arguments.std or (1.0,)))
    text = json.dumps(given._asdict())
    return replace(graph, provenance={**graph.provenance, NORMALIZATION: text})


def _options(arguments: argparse.Namespace) -> Options:
    room = arguments.headroom
    if room is not None and not (np.isfinite(room) and room >= 1):
        raise ValueError(f"--headroom: must be 1 or more, got {room}")
    return Options(
        observer=arguments.observer,
        batches=arguments.batches,
        equalize=not arguments.no_equalization,
        correct_biases=not arguments.no_bias_correction,
        headroom=None if room is None else Headroom(room),
    )


def _check_output(path: Path) -> None:
    if path.suffix.lower() != ".h5":
        raise ValueError(f"{path}: output must be .h5, got {path.suffix or 'no suffix'}")
    if not path.parent.is_dir():
        raise ValueError(f"{path}: output must lie in a folder that exists, got {path.parent}")


def _print(
    arguments: argparse.Namespace,
    int8: Graph,
    errors: tuple[LayerError, ...],
    counts: tuple[int, int],
) -> None:
    if arguments.json:
        print(json.dumps({"file": str(arguments.output), "profile": int8.profile,
                          "calibrated_on": counts[0], "measured_on": counts[1],
                          "layers": [e._asdict() for e in errors]}))  # fmt: skip
        return
    from .layer_error_page import page  # rich is loaded only where it is used

    print(page(errors), end="")
    nodes = counted(len(int8.nodes), "node")
    print(f"{arguments.output}: {nodes}, profile {int8.profile}, calibrated on "
          f"{counted(counts[0], 'image')}, measured on {counts[1]}")  # fmt: skip


_QUANTISED: Mapping[str, Mapping[str, Any]] = {
    "--profile": {"choices": sorted(PROFILES), "default": "tflm", "metavar": "NAME",
                  "help": f"arithmetic it is made for: {', '.join(sorted(PROFILES))}; "
                  "tflm if not given"},
    "--observer": {"choices": tuple(OBSERVERS), "default": DEFAULT.observer, "metavar": "NAME",
                   "help": "of ranges: minmax, percentile (all but 1e-5 of the values a side) "
                   "or mse (least square error; if not given)"},
    "--batches": {"type": counting_number, "default": DEFAULT.batches, "metavar": "N",
                  "help": "batches of 32 images to calibrate on; 25 if not given"},
    "--no-equalization": {"action": "store_true",
                          "help": "leave the channels' ranges as unlike as they are"},
    "--no-bias-correction": {"action": "store_true",
                             "help": "leave the mean error of every channel"},
    "--headroom": {"type": float, "metavar": "R",
                   "help": "of a classifier to be trained: how many times its largest weight the "
                   "codes reach; 8 is what zo takes"},
}  # fmt: skip

COMMAND = Command(
    "quantize",
    "make an int8 model from float weights and images",
    MANUAL,
    EXAMPLES,
    "not used",
    {
        "": {
            "weights": {"type": Path, "metavar": "MODEL", "help": "float network or weights"},
            "--data": {"required": True, "metavar": "IMAGES",
                       "help": "a folder or .zip of pictures, STL-10's .tar.gz or "
                       "<part>_X.bin, .npy, .npz or .npz:NAME"},
            "--output": {"required": True, "type": Path, "metavar": "FILE",
                         "help": ".h5 file to write"},
            "--json": JSON,
        },
        "the network": {
            "--input-size": {"type": image_size, "metavar": "H[xW]",
                             "help": "of the images; if not given, the network's own, or 224"},
            "--classes": {"type": counting_number, "metavar": "N",
                          "help": "of an empty classifier, where the file has none of so many"},
            **PIXELS,
        },
        "how it is quantised": _QUANTISED,
    },
    run,
)  # fmt: skip
