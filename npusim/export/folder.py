"""Writing a folder whole, where nothing is in the way."""

from collections.abc import Mapping
from pathlib import Path

EXECUTABLE = 0o755


def require_empty(folder: Path) -> None:
    """Refuse a folder that holds anything, or that is none.

    raises   ValueError
    """
    if folder.is_symlink() or folder.exists():
        if not folder.is_dir():
            raise ValueError(f"{folder}: output must be a folder, got a file; name another")
        if any(folder.iterdir()):
            raise ValueError(
                f"{folder}: output folder must be empty or new, got one with files; "
                "remove them or name another"
            )


def write_folder(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files by their path in the folder, texts in UTF-8; shell scripts may be executed.

    folder   made when missing, with those above it; ValueError when it holds anything
    """
    require_empty(folder)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content.encode() if isinstance(content, str) else content
        path.write_bytes(data)
        if data.startswith(b"#!"):
            path.chmod(EXECUTABLE)
