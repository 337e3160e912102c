"""Zeroth order in float32, as a reference: what rounding to int8 costs a run.

The same loop with the same signs, batches, schedules and rates, but weights, forward passes, losses
and updates are real numbers: nothing is rounded to codes, and no code has a rail. Nothing in here
is part of an integer run. Its bits may differ between machines, as NumPy's matrix products do.
"""

from .train import FloatResult, train_float32

__all__ = ["FloatResult", "train_float32"]
