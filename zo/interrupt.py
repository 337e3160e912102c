"""Ctrl-C between two steps instead of in the middle of one."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol, TypeVar


class Ended(Protocol):
    """What a run gives."""

    @property
    def stopped(self) -> str:
        """Why it ended, see `Result`."""


Run = TypeVar("Run", bound=Ended)


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Gives a function that tells whether Ctrl-C was pressed; pressed twice, it raises as usual.

    Outside the main thread signals cannot be caught, and none arrive: the function says False.
    """
    pressed: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return

    def note(number: int, frame: FrameType | None) -> None:
        if pressed:
            raise KeyboardInterrupt
        pressed.append(number)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(pressed)
    finally:
        signal.signal(signal.SIGINT, before)


def whole(result: Run) -> Run:
    """The result of a run to its end; KeyboardInterrupt where Ctrl-C ended it, as if at once.

    For runs that nobody sees: of a cut one nothing may be kept.
    """
    if result.stopped == "interrupted":
        raise KeyboardInterrupt
    return result
