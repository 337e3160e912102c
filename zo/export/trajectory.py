"""The golden trajectory: what training on a device must be after every step."""

import zlib
from typing import NamedTuple

import numpy as np

from npusim.export.checksums import checksum_rows
from npusim.export.model import Model

from ..history import Epoch
from ..run import Run


class Step(NamedTuple):
    """A step: checksum of the state behind it, and the loss of its batch before it."""

    state: int
    loss: int


class Trajectory(NamedTuple):
    """The first epochs of a run, the one before training included, and all their steps."""

    epochs: tuple[Epoch, ...]
    steps: tuple[Step, ...]


def record(run: Run, epochs: int) -> Trajectory:
    """Train the first epochs of a run that has not been started."""
    run.start()
    steps: list[Step] = []
    while run.epoch < epochs and not (run.done or run.stagnates):
        first = len(steps)
        for number, rows in run.batches():
            loss = run.train_step(number, rows)
            steps.append(Step(state(run), loss))
        run.finish_epoch(sum(step.loss for step in steps[first:]), 0.0)
    return Trajectory(tuple(run.history), tuple(steps))


def state(run: Run) -> int:
    """CRC-32 of codes, residuals and momentum of every tensor, numbers little-endian."""
    crc = 0
    for t in run.step.group.tensors:
        for array in (t.state.codes, t.state.residual, t.state.momentum):
            little = array.astype(array.dtype.newbyteorder("<"), copy=False)
            crc = zlib.crc32(np.ascontiguousarray(little).tobytes(), crc)
    return crc


def self_test_header(found: Trajectory, model: Model) -> str:
    """self_test.h: checksums of the model's constants, and the trajectory."""
    return _HEADER.format(
        constants="\n".join(checksum_rows(model)),
        epochs=len(found.epochs) - 1,
        steps=len(found.steps),
        epoch_rows="\n".join(f"    {{{e.q}, {e.correct}, {e.loss}}}," for e in found.epochs),
        step_rows="\n".join(f"    {{0x{s.state:08X}u, {s.loss}}}," for s in found.steps),
    )


_HEADER = """\
/* The checksums that the model's constants must have, and what training must be after each of its
 * first steps and epochs. */
#ifndef SELF_TEST_H
#define SELF_TEST_H

#include <stdint.h>

{constants}

#define SELF_TEST_EPOCHS {epochs}
#define SELF_TEST_STEPS {steps}

/* q of an epoch; correct validation images and their loss at its end. */
struct self_test_epoch {{
    int32_t q;
    int32_t correct;
    int64_t loss;
}};

static const struct self_test_epoch self_test_epochs[SELF_TEST_EPOCHS + 1] = {{
{epoch_rows}
}};

/* CRC-32 of codes, residuals and momentum behind a step; the batch's loss before it. */
struct self_test_step {{
    uint32_t state;
    int64_t loss;
}};

static const struct self_test_step self_test_steps[SELF_TEST_STEPS] = {{
{step_rows}
}};

#endif
"""
