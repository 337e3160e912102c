"""Where what can be made or downloaded again is kept."""

import os
from pathlib import Path


def cache_folder(kind: str) -> Path:
    """The folder of one kind of files in NPUSIM_CACHE_DIR, or in ~/.cache/npusim."""
    root = os.environ.get("NPUSIM_CACHE_DIR")
    return (Path(root) if root else Path.home() / ".cache" / "npusim") / kind
