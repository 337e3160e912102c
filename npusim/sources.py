"""The C99 twins of the kernels that come with the package; see `docs/c.md`."""

from pathlib import Path

_FOLDER = Path(__file__).resolve().parent / "c"


def c_sources() -> tuple[Path, ...]:
    """Every C file and header of npusim, in one folder, by name.

    Compile the .c files with the folder on the include path; those named *_mve.c replace loops on
    cores with Helium (Cortex-M55) and are empty elsewhere, so that all may always be compiled.
    """
    return tuple(sorted(path for path in _FOLDER.iterdir() if path.suffix in (".c", ".h")))
