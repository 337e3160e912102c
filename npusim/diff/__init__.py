"""Compare what a device computed with what it should have: where it departs first, and why."""

from .compare import diff
from .report import Judged, Party, Report
from .sides import Dump, Side, of_golden, open_path

__all__ = ["Dump", "Judged", "Party", "Report", "Side", "diff", "of_golden", "open_path"]
