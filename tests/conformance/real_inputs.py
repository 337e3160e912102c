"""Real pictures and recordings for models, found by what shape of input a model takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

import npusim

PHOTOS = (
    "cat_720p.jpg",
    "hot_dog.jpg",
    "owl.jpg",
    "parrot.jpg",
    "dog_test_0.bmp",
    "dragonfly.bmp",
)
IMAGENET_MEAN = (0.485, 0.456, 0.406)  # of each channel divided by 255, in torchvision's recipe
IMAGENET_DEVIATION = (0.229, 0.224, 0.225)


def cifar10(root: Path) -> tuple[np.ndarray, np.ndarray]:
    """200 images of CIFAR-10, real numbers 0..255 (200, 32, 32, 3), and their labels."""
    with np.load(root / "data/cifar10_200.npz") as file:
        return file["images"].astype(np.float32), file["labels"]


def speech_commands(root: Path) -> tuple[np.ndarray, np.ndarray]:
    """1,000 spoken words as int8 codes (1000, 49, 10, 1) of MFCC features, and their labels."""
    with np.load(root / "data/kws_1000.npz") as file:
        return file["inputs"], file["labels"]


def photos(root: Path) -> np.ndarray:
    """PHOTOS, uint8 (6, 224, 224, 3), resized bilinearly without keeping their proportions."""
    return np.stack([_photo(root / "data/photos" / name) for name in PHOTOS])


def normalised_photos(root: Path) -> np.ndarray:
    """The photos as torchvision's models take them, float32 (6, 3, 224, 224)."""
    reals = (photos(root) / 255.0 - IMAGENET_MEAN) / IMAGENET_DEVIATION
    return reals.astype(np.float32).transpose(0, 3, 1, 2)


def people(root: Path) -> np.ndarray:
    """A picture with and one without a person, int8 (2, 96, 96, 1): grey level - 128."""
    grey = [_grey(root / "data/samples" / name) for name in ("person.bmp", "no_person.bmp")]
    return (np.stack(grey).astype(np.int16) - 128).astype(np.int8)[..., None]


def machine_sounds(root: Path) -> np.ndarray:
    """The first five frames of 40 spectrograms of toy cars, float32 (40, 640)."""
    with np.load(root / "data/toycar_40.npz") as file:
        return file["spectrograms"][:, :640]


def real_inputs(graph: npusim.Graph, root: Path) -> np.ndarray | None:
    """Codes (images, ..) for the graph's only input, or None where no data of its shape are."""
    (index,) = graph.inputs
    tensor = graph.tensors[index]
    source = SOURCES.get((tensor.dtype, *tensor.shape[1:]))
    if source is None:
        return None
    values = source(root)
    q = tensor.quantization
    if values.dtype == tensor.dtype or q is None:
        return values
    return npusim.quantize(values, float(q.scale[0]), int(q.zero_point[0]), tensor.dtype)


def _photo(path: Path) -> np.ndarray:
    from PIL import Image

    with Image.open(path) as picture:
        small = picture.convert("RGB").resize((224, 224), Image.Resampling.BILINEAR)
        return np.asarray(small)


def _grey(path: Path) -> np.ndarray:
    from PIL import Image

    with Image.open(path) as picture:
        return np.asarray(picture.convert("L"))


SOURCES: Mapping[tuple[str | int, ...], Callable[[Path], np.ndarray]] = {
    ("int8", 32, 32, 3): lambda root: cifar10(root)[0],
    ("int8", 49, 10, 1): lambda root: speech_commands(root)[0],
    ("int8", 640): machine_sounds,
    ("int8", 96, 96, 1): people,
    ("uint8", 224, 224, 3): photos,
    ("int8", 3, 224, 224): normalised_photos,
}
