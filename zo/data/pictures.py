"""Pictures of a folder or zip archive of class folders."""

from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath

import numpy as np

from npusim.images import SUFFIXES, decode
from npusim.picture_files import is_picture, opened, reader, unpacker

from .dataset import NO_CLASSES, DataError, Dataset


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

    return _dataset(str(path), classes, members, reader(path))


def all_of_folder(path: Path) -> Dataset:
    """Every picture in a folder and the folders in it, without labels, in the order of names.

    raises   DataError when there is none
    """
    inside = sorted(file.relative_to(path) for file in path.rglob("*"))
    members = [file.as_posix() for file in inside if is_picture(PurePosixPath(file))]
    return _unlabelled(str(path), members, reader(path))


def from_zip(path: Path) -> Dataset:
    """A zip archive of class folders, as EuroSAT's: `anything/<class>/<picture>`.

    Pictures are read from the archive when needed; nothing is unpacked to disk.
    raises   DataError when the archive is damaged or a class folder is empty
    """
    archive = opened(path)
    paths = [(PurePosixPath(info.filename), info.is_dir()) for info in archive.infolist()]
    members = sorted(
        (p.parent.name, str(p))
        for p, folder in paths
        if not folder and is_picture(p) and len(p.parts) > 1
    )
    classes = sorted({name for name, _ in members} | _leaf_folders(paths))
    return _dataset(str(path), classes, members, unpacker(path, archive))


def all_of_zip(path: Path) -> Dataset:
    """Every picture in a zip archive, without labels; DataError when there is none."""
    archive = opened(path)
    paths = (PurePosixPath(info.filename) for info in archive.infolist() if not info.is_dir())
    members = sorted((p.parent.name, str(p)) for p in paths if is_picture(p))
    return _unlabelled(str(path), [member for _, member in members], unpacker(path, archive))


def _leaf_folders(paths: Iterable[tuple[PurePosixPath, bool]]) -> set[str]:
    """Names of the folders stated in an archive that hold no other folder."""
    folders = {p for p, is_folder in paths if is_folder}
    inner = {p.parent for p in folders}
    return {p.name for p in folders - inner if not p.name.startswith((".", "__MACOSX"))}


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


def _unlabelled(name: str, members: list[str], read: Callable[[str], bytes]) -> Dataset:
    if not members:
        raise DataError(f"{name}: must hold a picture ({', '.join(SUFFIXES)}), got none")
    return _dataset(name, list(NO_CLASSES), [(NO_CLASSES[0], member) for member in members], read)
