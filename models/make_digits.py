"""Make ``models/digits.h5`` from the copy of the UCI digits inside the scikit-learn wheel.

    pip download --no-deps scikit-learn -d wheel
    python models/make_digits.py wheel/scikit_learn-*.whl

The wheel is only read as a zip archive: nothing of scikit-learn is installed or imported. The
table it holds is the test part of the UCI set (1,797 images by 13 writers), unchanged since 2011;
its digest is checked, and the file written is the same bytes on every run.
"""

import argparse
import gzip
import hashlib
import sys
import zipfile
from pathlib import Path

import h5py
import numpy as np

MEMBER = "sklearn/datasets/data/digits.csv.gz"
MEMBER_SHA256 = "09f66e6debdee2cd2b5ae59e0d6abbb73fc2b0e0185d2e1957e9ebb51e23aa22"
ATTRIBUTES = {
    "title": "Optical Recognition of Handwritten Digits",
    "creators": "E. Alpaydin and C. Kaynak, 1998; UCI Machine Learning Repository",
    "source": "https://doi.org/10.24432/C50P49",
    "licence": "CC BY 4.0, https://creativecommons.org/licenses/by/4.0/",
    "changes": "the 1,797 images of the test part, stored as uint8 in HDF5; values unchanged",
    "images": "(1797, 8, 8) uint8, row by row, ink per 4x4 block of a 32x32 scan, 0..16",
    "labels": "(1797,) uint8, the digit 0..9",
}


def read_table(wheel: Path) -> tuple[np.ndarray, np.ndarray]:
    """The images and labels inside a scikit-learn wheel.

    wheel     path of the .whl file, any version that ships the table
    returns   images (1797, 8, 8) uint8 in 0..16, labels (1797,) uint8 in 0..9
    raises    ValueError if the wheel's table is not the known one
    """
    with zipfile.ZipFile(wheel) as archive:
        packed = archive.read(MEMBER)
    digest = hashlib.sha256(packed).hexdigest()
    if digest != MEMBER_SHA256:
        raise ValueError(
            f"{wheel}: {MEMBER} must have sha256 {MEMBER_SHA256}, got {digest}; take another "
            "release of scikit-learn"
        )
    lines = gzip.decompress(packed).decode("ascii").split()
    table = np.array([[int(cell) for cell in line.split(",")] for line in lines], np.uint8)
    return table[:, :-1].reshape(-1, 8, 8), table[:, -1]


def write(images: np.ndarray, labels: np.ndarray, path: Path) -> None:
    """Write images and labels, uncompressed, with the attribution as attributes.

    images   (N, 8, 8) uint8
    labels   (N,) uint8
    path     the file to make; replaced if it exists
    """
    with h5py.File(path, "w", libver=("earliest", "v108")) as file:
        for name, text in ATTRIBUTES.items():
            file.attrs[name] = text
        file.create_dataset("images", data=images, track_times=False)
        file.create_dataset("labels", data=labels, track_times=False)


def main(arguments: list[str] | None = None) -> int:
    """Read the wheel named on the command line and write the .h5 file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path, help="a scikit-learn wheel, as pip downloads it")
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name("digits.h5"))
    options = parser.parse_args(arguments)
    images, labels = read_table(options.wheel)
    write(images, labels, options.output)
    digest = hashlib.sha256(options.output.read_bytes()).hexdigest()
    print(f"{options.output}: {len(images)} images, sha256 {digest}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
