"""Public data sets by name: downloaded once, checked against a SHA-256, kept beside the features.

EuroSAT (RGB): P. Helber, B. Bischke, A. Dengel, D. Borth, EuroSAT: A Novel Dataset and Deep
Learning Benchmark for Land Use and Land Cover Classification, 2019; MIT licence; Zenodo record
7711810, which states 94,658,721 bytes and MD5 f46e308c4d50d4bf32fedad2d3d62f3b.
STL-10: see `stl10`; 2,640,397,119 bytes.

Neither publisher states a SHA-256. Those below are what public projects pin that download the same
files independently of one another; they were not computed here. A file that is not that one is
refused, so a wrong one could only keep a right file out.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ..cache import cache_folder
from .dataset import DataError


class Remote(NamedTuple):
    """A file to download: where from, and its SHA-256 in hex."""

    url: str
    sha256: str

    @property
    def file_name(self) -> str:
        """The URL's last part."""
        return self.url.rpartition("/")[2]


REMOTE: Mapping[str, Remote] = {
    "eurosat": Remote(
        "https://zenodo.org/records/7711810/files/EuroSAT_RGB.zip",
        "b4f5b234ecb7d7ff9c6cddb046543b4717c53fd6e9815be6c0e80cc614f51b90",
    ),
    "stl10": Remote(
        "https://ai.stanford.edu/~acoates/stl10/stl10_binary.tar.gz",
        "f31fd99273a1acb8609c8db427cebb1de3f71de77758cdc0e22956e1289b9866",
    ),
}


def fetch(name: str, folder: Path | None = None) -> Path:
    """The file of a public data set, downloaded unless it is there already.

    name      "eurosat" or "stl10"
    folder    where files are kept; `data` in NPUSIM_CACHE_DIR, or in ~/.cache/npusim, if None
    returns   its path, to be opened by `load`
    raises    ImportError that names the extra when pooch is missing; DataError (a ValueError) for
              an unknown name, a failed download, or a file that is not the expected one
    """
    if name not in REMOTE:
        raise DataError(f"data: name must be one of {', '.join(REMOTE)}, got {name!r}")
    try:
        import pooch
    except ImportError as error:
        raise ImportError(
            f"{name}: pooch must be installed to download data, got none; "
            'pip install "npusim[data]"'
        ) from error
    remote = REMOTE[name]
    try:
        path = pooch.retrieve(
            remote.url, f"sha256:{remote.sha256}", remote.file_name, folder or cache_folder("data")
        )
    except (OSError, ValueError) as error:
        raise DataError(
            f"{name}: must be downloaded from {remote.url} with SHA-256 {remote.sha256}, "
            f"got {error}"
        ) from error
    return Path(path)
