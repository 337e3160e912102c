"""One door for every kind of data set."""

import zipfile
from pathlib import Path

from npusim import stl10

from . import arrays, pictures
from .dataset import DataError, Dataset, in_memory
from .fetch import REMOTE, fetch

DIGITS = {
    "digits": "train",
    "digits/train": "train",
    "digits/validation": "validation",
    "digits/test": "test",
}
"""Parts of the shipped set by the word that names them."""
KINDS = (
    "a folder or .zip of class folders, STL-10's .tar.gz or <part>_X.bin, .npz, .h5, "
    "the word digits, digits/validation or digits/test, or eurosat or stl10, downloaded once"
)
_HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"


def load(source: str | Path) -> Dataset:
    """Open a data set; images are decoded when they are used.

    source   a folder or .zip of class folders, STL-10's .tar.gz or <part>_X.bin, a .npz or .h5
             with arrays `images` and `labels`, or the set shipped with the package: "digits", its
             training part, "digits/validation" or "digits/test", or "eurosat" or "stl10" (its
             training part), see `fetch`, unless a file or folder is called so; files are told
             apart by their first bytes
    raises   DataError (a ValueError) when the source is missing, damaged or of another kind; as
             `fetch` for what it downloads
    """
    return _load(source, labelled=True)


def load_unlabelled(source: str | Path) -> Dataset:
    """Open images that need no labels; all labels are 0.

    source   what `load` takes, where labels may be absent and are not read: any folder or .zip of
             pictures, a .npz or .h5 with an array `images`
    raises   as `load`
    """
    return _load(source, labelled=False)


def _load(source: str | Path, labelled: bool) -> Dataset:
    if str(source) in DIGITS:
        return arrays.shipped_digits(DIGITS[str(source)])
    path = Path(source)
    if str(source) in REMOTE and not path.exists():
        path = fetch(str(source))
    if path.is_dir():
        return pictures.from_folder(path) if labelled else pictures.all_of_folder(path)
    if not path.is_file():
        raise DataError(f"{path}: data must be {KINDS}, got no such file or folder")
    with path.open("rb") as file:
        magic = file.read(8)
    if magic == _HDF5_MAGIC:
        return arrays.from_h5(path, labelled)
    if stl10.is_stl10(path):
        return in_memory(str(path), *stl10.read(path), stl10.CLASSES)
    if path.suffix.lower() == ".npz":
        return arrays.from_npz(path, labelled)
    if magic.startswith(b"PK") or zipfile.is_zipfile(path) or path.suffix.lower() == ".zip":
        return pictures.from_zip(path) if labelled else pictures.all_of_zip(path)
    raise DataError(f"{path}: data must be {KINDS}, got a file that starts {magic!r}")
