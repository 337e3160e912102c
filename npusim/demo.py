"""The story of `npusim demo`: a device that is not wrong, but not the same either.

A digit reader is recorded as TFLite Micro runs it. A device runs it too, and one of its units
rounds in another way. Its tensors are dumped, and compared.
"""

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from . import Session, save
from .diff import Report, diff, of_golden, open_path
from .golden import record
from .golden import save as save_golden
from .models import digits, digits_cnn, to_int8
from .tensor_files import write_trace

IMAGES = 64
NODE, RULE = "depthwise_conv2d_0", "single_rounding"
"""What the device does otherwise."""


class Demo(NamedTuple):
    """What the demo made.

    model, golden, device   files and folder that `npusim diff` takes
    report                  what it finds in them
    agreement               how many images the device reads as the reference does
    """

    model: Path
    golden: Path
    device: Path
    report: Report
    agreement: int


def demo(folder: Path) -> Demo:
    """Write model.h5, golden.h5 and device/ into a folder, and compare."""
    graph = digits_cnn()
    images = to_int8(digits().test.images[:IMAGES])
    paths = folder / "model.h5", folder / "golden.h5", folder / "device"
    save(graph, paths[0])
    golden = record(graph, {"image": images})
    save_golden(golden, paths[1])
    nodes = tuple(replace(n, rule=RULE) if n.name == NODE else n for n in graph.nodes)
    dumped = dict(Session(replace(graph, nodes=nodes)).trace(images))
    write_trace(paths[2], dumped, graph)
    device = open_path(paths[2])
    assert device is not None
    report = diff(of_golden(str(paths[1]), golden), device, graph)
    right = dict(Session(graph).trace(images))["logits"].argmax(axis=1)
    agreement = int(np.count_nonzero(dumped["logits"].argmax(axis=1) == right))
    return Demo(*paths, report, agreement)
