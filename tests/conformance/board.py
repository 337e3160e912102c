"""Small models, and what a board with Neural-ART returned for them: a golden file's cases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
from conformance.goldens import path_of

import npusim
from npusim.neural_art.stored import family

FILE = "neural_art_board_dumps.h5"
# case: outputs that differ from the board's when all ties go (up, to even)
KNOWN_TIES = {
    "conv2d_16f_3x3": (0, 1),
    "conv2d_1x1": (1, 3),
    "conv2d_32f_7x7": (2, 1),
    "conv2d_3x3": (2, 0),
    "conv2d_64f_3x3": (0, 7),
    "conv2d_pool": (0, 0),
}


def cases(file: h5py.File) -> list[str]:
    """Every group with a model, at any depth."""
    names: list[str] = []
    file.visititems(lambda name, item: names.append(name) if f"{name}/tflite" in file else None)
    return names


def derived(group: h5py.Group) -> dict[str, Any]:
    """Attributes and datasets of a case's group `derived`; none where it has none."""
    found = group.get("derived")
    if found is None:
        return {}
    return {**found.attrs, **{name: item[...] for name, item in found.items()}}


def opened(case: str) -> tuple[bytes, np.ndarray, np.ndarray, dict[str, Any]]:
    """Model, inputs, the board's outputs, and what is derived."""
    with h5py.File(path_of(FILE), "r") as file:
        group = file[case]
        arrays = (group[name][...] for name in ("tflite", "inputs", "board"))
        model, x, board = arrays
        return model.tobytes(), x, board, derived(group)


def graph_of(case: str, folder: Path, s0: Any = None, **given: Any) -> npusim.Graph:
    """The case's model under neural-art; its weighted layers are given `given`.

    s0   for all of them, or one for each
    """
    path = folder / f"{case.replace('/', '_')}.tflite"
    path.write_bytes(opened(case)[0])
    ties = {"*": {"ties": given.pop("ties", "away")}}
    plain = npusim.load(path, profile="neural-art")
    layers = weighted(plain)
    shifts = [None] * len(layers) if s0 is None else np.broadcast_to(s0, len(layers)).tolist()
    own = {
        node.name: given if shift is None else {**given, "s0": shift}
        for node, shift in zip(layers, shifts, strict=True)
    }
    return npusim.load(path, profile="neural-art", parameters={**own, **ties})


def weighted(graph: npusim.Graph) -> list[npusim.Node]:
    """The layers with weights on Neural-ART."""
    return [node for node in graph.nodes if family(graph, node) == "weighted"]


def differing(case: str, graph: npusim.Graph) -> int:
    """How many of the board's outputs differ."""
    _, x, board, _ = opened(case)
    y = npusim.Session(graph, threads=1).run(x)
    return int(np.sum(y.reshape(board.shape) != board))


def fitted_s0(case: str, folder: Path) -> Any:
    """s0 as the file has it; else the one of 0..8 with the fewest differing outputs."""
    s0 = opened(case)[3].get("s0")
    if s0 is not None:
        return s0
    return min(range(9), key=lambda shift: differing(case, graph_of(case, folder, shift)))
