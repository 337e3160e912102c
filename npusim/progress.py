"""What long work tells of how far it is."""

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called with what is done and how much there is."""
