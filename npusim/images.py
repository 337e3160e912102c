"""Pictures -> what a network's image input takes.

    code = pixel + zero_pixel                        default: black to white is the input's range
    code = quantize((pixel / 255 - mean) / std)      with mean and std, as torchvision normalises

By default pixels 0..255 become the 256 codes in order, whatever the scale: exact, and right for
every network that was trained on the full range of its input.
Of 16 bits a channel the upper 8 are taken. A picture is turned as its EXIF orientation says; EXIF
that cannot be read says nothing. Transparent pixels are refused: no background is guessed.
Letters: H W C height, width and channels (1 or 3) of a picture.
"""

import io
import struct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from .codes import input_codes
from .engine import input_label
from .graph import Graph, ModelError, Tensor
from .plurals import counted

SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".webp", ".ppm", ".pgm")
MAX_FILE_BYTES = 64 << 20
"""A picture file larger than this is refused unread."""
FIRST_CODE = {"int8": -128, "uint8": 0}
WHITE = 255
OPAQUE = 255
_ORIENTATION = 0x0112
_TURNED: Mapping[int, Callable[[np.ndarray], np.ndarray]] = {
    2: lambda pixels: pixels[:, ::-1],
    3: lambda pixels: pixels[::-1, ::-1],
    4: lambda pixels: pixels[::-1],
    5: lambda pixels: pixels.swapaxes(0, 1),
    6: lambda pixels: pixels.swapaxes(0, 1)[:, ::-1],
    7: lambda pixels: pixels[::-1, ::-1].swapaxes(0, 1),
    8: lambda pixels: pixels.swapaxes(0, 1)[::-1],
}
"""EXIF orientation -> the upright picture; every other number says that it is upright."""


class Normalization(NamedTuple):
    """`(pixel / 255 - mean) / std`, one value or one per channel; fractions, as torchvision's."""

    mean: tuple[float, ...]
    std: tuple[float, ...]


def pillow() -> ModuleType:
    """Pillow's Image module; an ImportError that names the extra when it is missing."""
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError(
            'pictures: need Pillow, which is not installed; pip install "npusim[images]"'
        ) from error
    return Image


def read(path: Path) -> np.ndarray:
    """The picture of a file as uint8 (H, W, C); ValueError and OSError as `decode` and `open`."""
    size = path.stat().st_size
    if size > MAX_FILE_BYTES:
        raise ValueError(f"{path}: must be {MAX_FILE_BYTES} bytes at most, got {size}")
    return decode(path.read_bytes(), str(path))


def decode(data: bytes, where: str) -> np.ndarray:
    """The picture, upright, as uint8 (H, W, 3), or (H, W, 1) when it is grey.

    raises   ValueError naming `where` when it is not a whole picture, has transparent pixels, or
             neither 8 nor 16 bits a channel
    """
    image_module = pillow()
    try:
        with image_module.open(io.BytesIO(data)) as picture:
            turned = _TURNED.get(_orientation(picture), np.asarray)
            pixels = turned(_pixels(picture))
    except _UnfitError as error:
        raise ValueError(f"{where}: {error}") from None
    except (OSError, ValueError, SyntaxError, image_module.DecompressionBombError) as error:
        raise ValueError(
            f"{where}: must decode as a picture, got {type(error).__name__}; "
            "remove or replace the file"
        ) from error
    return np.ascontiguousarray(pixels.reshape(*pixels.shape[:2], -1))


def resize(pixels: np.ndarray, height: int, width: int) -> np.ndarray:
    """uint8 (H, W, C) -> (height, width, C) by Pillow's bilinear filter."""
    if pixels.shape[:2] == (height, width):
        return pixels
    image_module = pillow()
    picture = image_module.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    resized = picture.resize((width, height), image_module.Resampling.BILINEAR)
    return np.asarray(resized).reshape(height, width, pixels.shape[2])


def grey(pixels: np.ndarray) -> np.ndarray:
    """uint8 (H, W, 3) -> (H, W, 1): luminance by ITU-R 601-2, as Pillow rounds it."""
    return np.asarray(pillow().fromarray(pixels).convert("L"))[..., np.newaxis]


def image_shape(graph: Graph) -> tuple[int, int, int]:
    """(H, W, C) of the graph's one image input.

    raises   ModelError unless the graph has one input of rank 4
    """
    shapes = [graph.tensors[i].shape for i in graph.inputs]
    if len(shapes) != 1 or len(shapes[0]) != 4:
        raise ModelError(f"{graph.name}: must have one input of images, got shapes {shapes}")
    _, a, b, c = shapes[0]
    return (b, c, a) if graph.layout == "NCHW" else (a, b, c)


def to_input(
    pixels: np.ndarray, graph: Graph, normalization: Normalization | None, where: str
) -> np.ndarray:
    """One picture as an image of the graph's input: its size, channels, type and layout.

    pixels    uint8 (H, W, C); made grey or grey made colour, resized, then mapped as above
    returns   one image without the batch axis, of the input's type
    raises    ValueError naming `where` when channels or the normalisation do not fit
    """
    shape = image_shape(graph)
    table = code_table(
        graph.tensors[graph.inputs[0]], shape[2], normalization, where, graph.profile
    )
    codes = table[np.arange(shape[2]), fit(pixels, shape, where)]
    return np.ascontiguousarray(codes.transpose(2, 0, 1)) if graph.layout == "NCHW" else codes


def fit(pixels: np.ndarray, shape: tuple[int, int, int], where: str) -> np.ndarray:
    """uint8 pixels (H, W, C) as `shape` = (height, width, channels): grey or colour, resized.

    raises   ValueError naming `where` when the channels cannot be made to fit
    """
    height, width, channels = shape
    if pixels.shape[2] == 3 and channels == 1:
        pixels = grey(pixels)
    if pixels.shape[2] == 1 and channels == 3:
        pixels = np.repeat(pixels, 3, axis=2)
    if pixels.shape[2] != channels:
        wanted = counted(channels, "channel")
        raise ValueError(f"{where}: images must have {wanted} for this network, got {pixels.shape}")
    return resize(pixels, height, width)


def code_table(
    tensor: Tensor,
    channels: int,
    normalization: Normalization | None,
    where: str,
    profile: str = "tflm",
) -> np.ndarray:
    """(channels, 256) of the input's type: what every pixel value becomes in every channel.

    profile   by whose rule real numbers become codes
    """
    pixels = np.arange(WHITE + 1)
    if normalization is None:
        if tensor.dtype == "float32":
            real = pixels.astype(np.float32) / np.float32(WHITE)
            return np.tile(real, (channels, 1))
        codes = (pixels + _first_code(tensor)).astype(tensor.dtype)
        return np.tile(codes, (channels, 1))
    mean = _per_channel(normalization.mean, channels, f"{where}: mean")
    std = _per_channel(normalization.std, channels, f"{where}: std")
    if not (std > 0).all():
        raise ValueError(f"{where}: std must be above 0, got {normalization.std}")
    real = ((pixels / WHITE - mean[:, np.newaxis]) / std[:, np.newaxis]).astype(np.float32)
    if tensor.dtype == "float32" or tensor.quantization is None:
        return real
    return input_codes(real, tensor, profile)


class _UnfitError(Exception):
    """A whole picture that is not taken; the message lacks the file's name."""


def _pixels(picture: Any) -> np.ndarray:
    """uint8 (H, W) or (H, W, 3) of a Pillow image."""
    mode = picture.mode
    sixteen = mode.startswith("I;16") or (mode == "I" and picture.format in ("PNG", "PPM"))
    if mode in ("I", "F") and not sixteen:
        raise _UnfitError(f"pixels must have 8 or 16 bits a channel, got Pillow's mode {mode}; "
                     "scale them to 8 bits")  # fmt: skip
    if sixteen:
        _check_opaque(int("transparency" in picture.info))
        return (np.asarray(picture) >> 8).astype(np.uint8)
    if picture.has_transparency_data:
        _check_opaque(int((np.asarray(picture.convert("RGBA"))[..., 3] < OPAQUE).sum()))
    return np.asarray(picture.convert("L" if mode in ("1", "L", "LA", "La") else "RGB"))


def _check_opaque(transparent: int) -> None:
    if transparent:
        raise _UnfitError(f"pixels must be opaque, got {transparent} that are transparent; "
                     "flatten the picture onto a background")  # fmt: skip


def _orientation(picture: Any) -> int:
    try:
        return picture.getexif().get(_ORIENTATION, 1)
    except (OSError, SyntaxError, ValueError, TypeError, LookupError, struct.error):
        return 1


def _first_code(tensor: Tensor) -> int:
    if tensor.dtype not in FIRST_CODE:
        raise ModelError(
            f"{input_label(tensor)}: must be int8, uint8 or float32 to take pictures, "
            f"got {tensor.dtype}; give codes instead"
        )
    return FIRST_CODE[tensor.dtype]


def _per_channel(values: Sequence[float], channels: int, where: str) -> np.ndarray:
    if len(values) not in (1, channels):
        raise ValueError(
            f"{where} must be one number or {channels}, one a channel, got {len(values)}"
        )
    if not np.isfinite(values).all():
        raise ValueError(f"{where} must be finite, got {', '.join(map(str, values))}")
    return np.broadcast_to(np.array(values, np.float64), (channels,))
