"""Pictures with Pillow: decoding, resizing, folders and zip archives of class folders."""

import io
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath
from types import ModuleType

import numpy as np

from .dataset import DataError, Dataset

SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".webp", ".ppm", ".pgm")
MAX_FILE_BYTES = 64 << 20
"""A picture file larger than this is refused unread."""


def pillow() -> ModuleType:
    """Pillow's Image module; an ImportError that names the extra when it is missing."""
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError(
            'pictures: need Pillow, which is not installed; pip install "npusim[images]"'
        ) from error
    return Image


def decode(data: bytes, where: str) -> np.ndarray:
    """The picture as uint8 (H, W, 3), or (H, W, 1) when it is grey.

    raises   DataError naming `where` when it is not a whole picture
    """
    image_module = pillow()
    try:
        with image_module.open(io.BytesIO(data)) as picture:
            mode = "L" if picture.mode in ("1", "L") else "RGB"
            pixels = np.asarray(picture.convert(mode))
    except (OSError, ValueError, SyntaxError, image_module.DecompressionBombError) as error:
        raise DataError(
            f"{where}: must decode as a picture, got {type(error).__name__}; "
            "remove or replace the file"
        ) from error
    return pixels.reshape(*pixels.shape[:2], -1)


def resize(pixels: np.ndarray, height: int, width: int) -> np.ndarray:
    """uint8 (H, W, C) -> (height, width, C), C of 1 or 3, by Pillow's bilinear filter."""
    if pixels.shape[:2] == (height, width):
        return pixels
    image_module = pillow()
    picture = image_module.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    resized = picture.resize((width, height), image_module.Resampling.BILINEAR)
    return np.asarray(resized).reshape(height, width, pixels.shape[2])


def grey(pixels: np.ndarray) -> np.ndarray:
    """uint8 (H, W, 3) -> (H, W, 1): luminance by ITU-R 601-2, as Pillow rounds it."""
    return np.asarray(pillow().fromarray(pixels).convert("L"))[..., np.newaxis]


def from_folder(path: Path) -> Dataset:
    """A folder that holds one folder of pictures per class.

    Classes and pictures are in the order of their names; files with other endings are ignored.
    raises   DataError when there are no class folders or one has no picture
    """
    classes = sorted(entry.name for entry in path.iterdir() if entry.is_dir())
    members = [
        (name, file.relative_to(path).as_posix())
        for name in classes
        for file in sorted((path / name).iterdir())
        if file.suffix.lower() in SUFFIXES
    ]

    def read(member: str) -> bytes:
        file = path / member
        _limit(file.stat().st_size, f"{path}/{member}")
        return file.read_bytes()

    return _dataset(str(path), classes, members, read)


def from_zip(path: Path) -> Dataset:
    """A zip archive of class folders, as EuroSAT's: `anything/<class>/<picture>`.

    Pictures are read from the archive when needed; nothing is unpacked to disk.
    raises   DataError when the archive is damaged or a class folder is empty
    """
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise DataError(
            f"{path}: must be a whole zip archive, got {error}; download it again"
        ) from error
    paths = [(PurePosixPath(info.filename), info.is_dir()) for info in archive.infolist()]
    members = sorted(
        (p.parent.name, str(p)) for p, folder in paths if not folder and _is_picture(p)
    )
    classes = sorted({name for name, _ in members} | _leaf_folders(paths))

    def read(member: str) -> bytes:
        _limit(archive.getinfo(member).file_size, f"{path}/{member}")
        try:
            return archive.read(member)
        except (zipfile.BadZipFile, OSError, EOFError, RuntimeError, ValueError) as error:
            raise DataError(
                f"{path}/{member}: must unpack whole, got {error}; download the archive again"
            ) from error

    return _dataset(str(path), classes, members, read)


def _is_picture(path: PurePosixPath) -> bool:
    hidden = any(part.startswith((".", "__MACOSX")) for part in path.parts)
    return path.suffix.lower() in SUFFIXES and len(path.parts) > 1 and not hidden


def _leaf_folders(paths: Iterable[tuple[PurePosixPath, bool]]) -> set[str]:
    """Names of the folders stated in an archive that hold no other folder."""
    folders = {p for p, is_folder in paths if is_folder}
    inner = {p.parent for p in folders}
    return {p.name for p in folders - inner if not p.name.startswith((".", "__MACOSX"))}


def _limit(size: int, where: str) -> None:
    if size > MAX_FILE_BYTES:
        raise DataError(f"{where}: must be {MAX_FILE_BYTES} bytes at most, got {size}")


def _dataset(
    name: str,
    classes: list[str],
    members: list[tuple[str, str]],
    read: Callable[[str], bytes],
) -> Dataset:
    """The data set of (class, member) pairs, decoded through `read`."""
    filled = {label for label, _ in members}
    if not classes:
        raise DataError(f"{name}: must hold a folder of pictures per class, got none")
    empty = [label for label in classes if label not in filled]
    if empty:
        raise DataError(
            f"{name}/{empty[0]}: must hold a picture ({', '.join(SUFFIXES)}), got none; "
            "remove the folder or fill it"
        )
    number = {label: i for i, label in enumerate(classes)}

    def frame(row: int) -> np.ndarray:
        member = members[row][1]
        return decode(read(member), f"{name}/{member}")

    labels = np.array([number[label] for label, _ in members], np.int64)
    return Dataset(name, frame, labels, tuple(classes))
