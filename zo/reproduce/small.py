"""The small network of T11: trained in float on pictures of 32 by 32, quantised, deployed.

What T11 runs on has a float network of the same layers, so that backpropagation can be a row.
"""

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import npusim
from npusim import Graph, ModelError
from npusim.digest import content_hash
from npusim.models.float_network import SMALL, Network, Recipe, train
from npusim.models.quantize_network import quantize_network

from ..data import Dataset, Progress
from .backward import real
from .bank import split_parts
from .task import Task, fitted

RECIPE = Recipe(epochs=12)
VERSION = 1
FILE = "small_cnn.h5"
CALIBRATION_IMAGES = 1024
"""Of the training images, the first ones: they set the activations' ranges."""
PIXEL_TO_CODE = 128


def small_task(
    dataset: Dataset,
    folder: Path,
    pictures: Progress | None = None,
    epochs: Progress | None = None,
    recipe: Recipe = RECIPE,
) -> Task:
    """The small network trained on 70 % of the pictures, and those with the 20 % that test it.

    dataset    uint8 pictures of any size
    folder     where the trained network is kept as small_cnn.h5, and found again
    pictures   told how many are resized, and
    epochs     how many are trained
    raises     ValueError for images that are no pixels, or fewer than a batch
    """
    net = SMALL._replace(classes=len(dataset.classes))
    images = fitted(dataset, net.image, pictures)
    learned, _, test = split_parts(len(images), 0)
    if len(learned) < recipe.batch:
        raise ValueError(f"{dataset.name}: must hold {recipe.batch} images to train on, got "
                         f"{len(learned)}")  # fmt: skip
    rows = np.concatenate((learned, test))
    images, labels = images[rows], dataset.labels[rows]
    counts = (len(learned), len(test))
    part = slice(counts[0])
    graph = _network((images[part], labels[part]), net, recipe, folder / FILE, epochs)
    table = np.tile(codes(np.arange(2 * PIXEL_TO_CODE, dtype=np.uint8)), (net.image[2], 1))
    source = f"{net.name} at {net.image[0]}x{net.image[1]}, {os.path.basename(dataset.name)}"
    return Task(graph, images, labels, dataset.classes, table, counts, source, net)


def codes(pixels: NDArray[np.uint8]) -> NDArray[np.int8]:
    """The network's input codes, pixel - 128."""
    return (pixels.astype(np.int16) - PIXEL_TO_CODE).astype(np.int8)


def _network(
    data: tuple[NDArray[np.uint8], NDArray[np.int64]],
    net: Network,
    recipe: Recipe,
    path: Path,
    progress: Progress | None,
) -> Graph:
    """The int8 network trained on these pictures, from the file where it is that of them."""
    digest = content_hash("small network", *data, repr((net, recipe)), VERSION)
    if (found := _stored(path, digest)) is not None:
        return found
    x = real(codes(data[0]))
    parameters = train(x, data[1], recipe, net, progress)
    made = quantize_network(parameters, x[:CALIBRATION_IMAGES], {"trained_on": digest}, net)
    path.parent.mkdir(parents=True, exist_ok=True)
    npusim.save(made, path)
    return npusim.load(path)


def _stored(path: Path, digest: str) -> Graph | None:
    try:
        found = npusim.load(path)
    except (OSError, ModelError):
        return None
    return found if found.provenance.get("trained_on") == digest else None
