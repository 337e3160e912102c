"""What long work tells while it lasts: the seconds of each phase, one line per epoch."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ..history import Epoch


@contextmanager
def timed(seconds: dict[str, float], phase: str) -> Iterator[None]:
    """Adds what the work inside takes to the phase's seconds."""
    start = time.perf_counter()
    try:
        yield
    finally:
        seconds[phase] = seconds.get(phase, 0.0) + time.perf_counter() - start


def print_epoch(epoch: Epoch) -> None:
    """The state after one epoch, on one line."""
    samples = f"q {epoch.q:4d}" if epoch.q else "      "
    print(
        f"epoch {epoch.epoch:3d}  {samples}  accuracy {epoch.accuracy:.4f}"
        f"  loss {epoch.mean_loss:.4f}  forwards {epoch.cost.forwards:9,}"
        f"  {epoch.seconds:7.1f} s"
    )
    for event in epoch.events:
        print(f"           {event}")
    sys.stdout.flush()
