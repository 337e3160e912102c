"""One-layer models, and what a board with Neural-ART returned for them: a golden file's cases."""

from __future__ import annotations

from pathlib import Path

import h5py
from conformance.goldens import path_of

import npusim

FILE = "neural_art_board_dumps.h5"
CONVOLUTION = ("conv2d", "depthwise_conv2d")


def graph_of(case: str, folder: Path, **given) -> npusim.Graph:
    """The case's model under neural-art; its convolution is given `given`."""
    path = folder / f"{case}.tflite"
    with h5py.File(path_of(FILE), "r") as file:
        path.write_bytes(file[case]["tflite"][...].tobytes())
    ties = {"*": {"ties": given.pop("ties", "away")}}
    layer = layer_of(npusim.load(path)).name
    return npusim.load(path, profile="neural-art", parameters={layer: given, **ties})


def layer_of(graph: npusim.Graph) -> npusim.Node:
    """The one convolution."""
    (layer,) = [node for node in graph.nodes if node.op in CONVOLUTION]
    return layer


def fitted_s0(case: str) -> int:
    with h5py.File(path_of(FILE), "r") as file:
        return int(file[case]["derived"].attrs["s0"])
