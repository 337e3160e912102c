"""Which rounding rule, accumulator, tie rule or zero-point convention a device uses."""

from .judge import identify
from .report import Report
from .suggest import Suggestion, suggest

__all__ = ["Report", "Suggestion", "identify", "suggest"]
