"""Weights as torchvision names and lays them out: OIHW, batch norm beside or folded in.

Two generations of MobileNetV2 files are read: `features.2.conv.0.0.weight`, and the older
`features.2.conv.0.weight`, where a block's layers are counted through. A layer without batch norm
has a bias instead: it was folded.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from npusim import ModelError
from npusim.floats.draft import Draft
from npusim.floats.formats.arrays import read_arrays
from npusim.graph import closest_names

Weights = Mapping[str, np.ndarray]
EPSILON = 1e-5
NORM = {"gamma": "weight", "beta": "bias", "mean": "running_mean", "variance": "running_var"}
IGNORED = "num_batches_tracked"
NORMALIZATION = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}
"""What torchvision's networks expect of pixels: (pixel / 255 - mean) / std."""

_OLD_BLOCK = re.compile(r"features\.(\d+)\.conv\.(\d+)\.(\w+)")
_THREE_LAYERS = {"0": "0.0", "1": "0.1", "3": "1.0", "4": "1.1", "6": "2", "7": "3"}
_TWO_LAYERS = {"0": "0.0", "1": "0.1", "3": "1", "4": "2"}
"""Numbers in a block of the older files -> those of today; block 1 does not expand."""


def read(weights: Weights | str | Path) -> tuple[dict[str, np.ndarray], str]:
    """Arrays by today's names, and what to call their source.

    weights   a mapping, or the path of a .npz, .safetensors or .h5 file of arrays
    raises    ModelError when the file is none of them, or an array is not of real numbers
    """
    if isinstance(weights, Mapping):
        name, arrays = "weights", {key: np.asarray(value) for key, value in weights.items()}
    else:
        name, arrays = Path(weights).name, read_arrays(weights)
    arrays = {k: v for k, v in arrays.items() if not k.endswith(IGNORED)}
    for key, values in arrays.items():
        if values.dtype.kind != "f" or not values.size or not np.isfinite(values).all():
            got = f"{values.dtype} {values.shape}"
            raise ModelError(f"{name}: {key}: must hold finite real numbers, got {got}")
    return _renamed(arrays), name


def layer(
    draft: Draft,
    x: int,
    weights: dict[str, np.ndarray],
    names: tuple[str, str],
    stride: int = 1,
    activation: str = "none",
) -> int:
    """Append a convolution with what follows it, taking its arrays out of `weights`.

    names     of the convolution and of its batch norm; a folded norm is not in the file
    stride    of rows and columns; the padding is half the kernel on every side
    returns   the tensor behind norm and activation
    raises    ModelError naming the array that is missing or does not fit
    """
    conv, norm = names
    w = _taken(weights, f"{conv}.weight", 4)
    depthwise = w.shape[1] == 1 and len(w) == draft.tensors[x].shape[3] > 1
    constants = {"weight": w.transpose((1, 2, 3, 0) if depthwise else (0, 2, 3, 1))}
    if f"{conv}.bias" in weights:
        constants["bias"] = _taken(weights, f"{conv}.bias", 1)
    folded = "bias" in constants and f"{norm}.weight" not in weights
    high, wide = (size // 2 for size in w.shape[2:])
    attributes = {"stride": (stride, stride), "dilation": (1, 1),
                  "padding": (high, high, wide, wide),
                  "activation": activation if folded else "none"}  # fmt: skip
    op = "depthwise_conv2d" if depthwise else "conv2d"
    y = draft.add(op, conv, (x,), constants, attributes)
    if folded:
        return y
    arrays = {key: _taken(weights, f"{norm}.{name}", 1) for key, name in NORM.items()}
    options = {"epsilon": EPSILON, "activation": activation}
    return draft.add("batch_norm", norm, (y,), arrays, options)


def classifier(
    draft: Draft, x: int, weights: dict[str, np.ndarray], name: str, classes: int | None
) -> int:
    """Append the head `name`: the one of the file, an empty one of `classes`, or none.

    returns   the logits, or x where there is no head
    """
    options = {"activation": "none", "keep_dims": False}
    w, bias = weights.pop(f"{name}.weight", None), weights.pop(f"{name}.bias", None)
    if classes is not None and (w is None or len(w) != classes):
        w = np.zeros((classes, draft.tensors[x].shape[1]), np.float32)
        bias = np.zeros(classes, np.float32)
    if w is None:
        return x
    constants = {"weight": w} if bias is None else {"weight": w, "bias": bias}
    return draft.add("fully_connected", name, (x,), constants, options)


def refuse_rest(weights: dict[str, np.ndarray], architecture: str) -> None:
    """ModelError when arrays are left that the architecture has no place for."""
    if weights:
        raise ModelError(
            f"{architecture}: every array must have a place in the network, got "
            f"{len(weights)} without one such as {min(weights)}"
        )


def _taken(weights: dict[str, np.ndarray], name: str, rank: int) -> np.ndarray:
    if name not in weights:
        raise ModelError(f"{name}: must be in the file, got others; {closest_names(name, weights)}")
    values = weights.pop(name)
    if values.ndim != rank:
        raise ModelError(f"{name}: must have rank {rank}, got {values.shape}")
    return values


def _renamed(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Today's names for those of older MobileNetV2 files; others as they are."""
    if "features.1.conv.0.weight" not in arrays:
        return dict(arrays)

    def renamed(match: re.Match[str]) -> str:
        block, number, rest = match.groups()
        numbers = _TWO_LAYERS if block == "1" else _THREE_LAYERS
        return f"features.{block}.conv.{numbers.get(number, number)}.{rest}"

    return {_OLD_BLOCK.sub(renamed, key): values for key, values in arrays.items()}
