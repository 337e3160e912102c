"""Outcomes on disk, one file a cell, so that a second call only runs what is missing."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from ..atomic import replace_bytes


class Keyed(Protocol):
    """A run as plain data."""

    def key(self, material: str, /) -> str:
        """Names its outcome on a material of this digest."""
        ...


class Plain(Protocol):
    """An outcome that JSON can hold."""

    def to_plain(self) -> dict[str, Any]:
        """What JSON holds."""
        ...

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Any:
        """The outcome again; LookupError, TypeError or ValueError for anything else."""
        ...


Kept = TypeVar("Kept", bound=Plain)


class Store(Generic[Kept]):
    """A folder of outcomes.

    folder     made when the first outcome is kept
    material   digest of what cells run on
    kind       class of the outcomes
    """

    def __init__(self, folder: Path, material: str, kind: type[Kept]) -> None:
        self._folder, self._material, self._kind = folder, material, kind

    def find(self, cell: Keyed) -> Kept | None:
        """The cell's outcome, None where it is absent or damaged."""
        try:
            found: Kept = self._kind.from_plain(json.loads(self._path(cell).read_text("utf-8")))
            return found
        except (OSError, ValueError, LookupError, TypeError):
            return None

    def keep(self, cell: Keyed, outcome: Kept) -> None:
        """Write the outcome, whole or not at all."""
        self._folder.mkdir(parents=True, exist_ok=True)
        data = json.dumps(outcome.to_plain()).encode()
        replace_bytes(self._path(cell), data)

    def _path(self, cell: Keyed) -> Path:
        return self._folder / f"{cell.key(self._material)}.json"
