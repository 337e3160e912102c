"""A process of test_search: search the database until its trials are done, and write them.

    python search_together.py s.db LOG

LOG gets a line for each run that began, LOG.json the trials of each method.
"""

import json
import sys
import time
from pathlib import Path

from zo.cost import Cost
from zo.history import Epoch
from zo.reproduce import search
from zo.reproduce.cell import Cell, Outcome
from zo.reproduce.experiment import Experiment, Plan

search.HEARTBEAT, search.GRACE = 1, 5


class Bank:
    """All that a search asks of a bank."""

    digest = "bank"


def main(database, log):
    """Trials of two methods that take 0.2 s each."""

    def run(cells):
        with log.open("a") as file:
            file.writelines(f"{cell.label} {cell.rate!r}\n" for cell in cells)
        time.sleep(0.2)
        history = tuple(Epoch(i, i, 500, 1000, 0, 0, 64, Cost(i), 0.0) for i in range(2))
        return [(cell, Outcome(history, None, 0.0)) for cell in cells]

    rules = ("nearest", "sign")
    rows = [Cell(rule, samples={"q": 1}, method={"rule": rule}) for rule in rules]
    asked = search.Search(Experiment("X", "", "", lambda plan: rows), Plan(), 12)
    found = search.search_rates(asked, Bank(), database, run)
    trials = [[trial._asdict() for trial in one.trials] for one in found]
    log.with_suffix(".json").write_text(json.dumps(trials))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
