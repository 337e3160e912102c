"""Outcomes on disk, one file a cell, so that a second call only runs what is missing."""

import json
from pathlib import Path
from typing import Any

from ..atomic import replace_file
from ..history import from_plain, to_plain
from .cell import Cell, Outcome


class Store:
    """A folder of outcomes.

    folder   made when the first outcome is kept
    bank     digest of the bank that cells run on
    """

    def __init__(self, folder: Path, bank: str) -> None:
        self._folder, self._bank = folder, bank

    def find(self, cell: Cell) -> Outcome | None:
        """The cell's outcome, None where it is absent or damaged."""
        try:
            plain = json.loads(self._path(cell).read_text("utf-8"))
            history = tuple(from_plain(epoch) for epoch in plain["history"])
            test = plain["test"] and (int(plain["test"][0]), int(plain["test"][1]))
            return Outcome(history, test, float(plain["seconds"]))
        except (OSError, ValueError, LookupError, TypeError):
            return None

    def keep(self, cell: Cell, outcome: Outcome) -> None:
        """Write the outcome, whole or not at all."""
        self._folder.mkdir(parents=True, exist_ok=True)
        plain: dict[str, Any] = {
            "history": [to_plain(epoch) for epoch in outcome.history],
            "test": outcome.test,
            "seconds": outcome.seconds,
        }
        data = json.dumps(plain).encode()
        replace_file(self._path(cell), lambda file: file.write(data))

    def _path(self, cell: Cell) -> Path:
        return self._folder / f"{cell.key(self._bank)}.json"
