"""Perturb and restore, again and again: which bits of the weights are not what they were?

clip       w += k z, w -= k z           between rails(k), where nothing saturates
saturate   w = clamp(w0 + k z), w = w0  from a copy
naive      w += k z, w -= 2 k z, w += k z, in place, each clamped to int8
float16    w += mu z, w -= 2 mu z, w += mu z, in place, each rounded to float16
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npusim.digest import content_hash

from ..perturb import FULL_RANGE, clip_to_rails, perturb, rails, restore, saturate
from ..prng import Stream, random_words, rounding_stream, sign_stream, sign_tile

VERSION = 1
WEIGHTS = 1024
STEP = 1
"""k, in codes."""
SCALE, MU = np.float16(2**-8), np.float16(1e-3)
"""Of the float16 weights: real value of a code, and the perturbation."""
START_STEP = 2**32 - 1
"""First codes are the rounding words of a step that no audit reaches."""
STARTS = ("all at the rails", "all codes")
Weights = NDArray[Any]


@dataclass(frozen=True)
class Audit:
    """So many steps of one way.

    label   of its row
    way     a key of WAYS
    start   one of STARTS
    steps   each a perturbation there and back
    seed    of codes and signs
    """

    label: str
    way: str
    start: str
    steps: int
    seed: int = 0

    def key(self, material: str) -> str:
        """Names the outcome; the label does not count."""
        plain = {k: v for k, v in asdict(self).items() if k != "label"}
        return content_hash("audit", json.dumps(plain, sort_keys=True), material, VERSION)


@dataclass(frozen=True)
class Audited:
    """What was not restored, of `weights` numbers.

    first     weights that differ after one step
    changed   weights that differ after all
    bits      of them, all together
    seconds   of the run
    """

    weights: int
    first: int
    changed: int
    bits: int
    seconds: float

    def to_plain(self) -> dict[str, Any]:
        """What JSON holds."""
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Audited":
        """The outcome again; LookupError or TypeError for anything else."""
        return cls(**plain)


def run_audit(audit: Audit, material: object = None) -> Audited:
    """Count what `audit.steps` steps leave changed.

    material   not used
    raises     KeyError for an unknown way
    """
    begin, step = time.perf_counter(), WAYS[audit.way]
    original = start_codes(audit)
    weights, first = original.copy(), 0
    for t in range(audit.steps):
        step(weights, original, sign_stream(audit.seed, t, 1))
        if t == 0:
            first = differing(weights, original)[0]
    changed, bits = differing(weights, original)
    return Audited(weights.size, first, changed, bits, time.perf_counter() - begin)


def start_codes(audit: Audit) -> Weights:
    """The weights before the first step, between the way's own rails: (WEIGHTS,)."""
    words = random_words(rounding_stream(audit.seed, START_STEP, 1), 0, 0, WEIGHTS)
    lo, hi = FULL_RANGE
    codes = (words >> np.uint32(24)).astype(np.int16) + lo
    if audit.start == STARTS[0]:
        codes = np.where(codes < 0, lo, hi)
    result = codes.astype(np.int8)
    if audit.way == "clip":
        clip_to_rails(result, rails(STEP))
    return result if audit.way != "float16" else result.astype(np.float16) * SCALE


def differing(weights: Weights, original: Weights) -> tuple[int, int]:
    """Weights that differ, and their bits that do."""
    width = np.dtype(f"u{weights.itemsize}")
    apart = weights.view(width) ^ original.view(width)
    return int(np.count_nonzero(apart)), int(np.unpackbits(apart.view(np.uint8)).sum())


def _clip(weights: Weights, original: Weights, stream: Stream) -> None:
    perturb(weights, STEP, stream, 0)
    restore(weights, STEP, stream, 0)


def _saturate(weights: Weights, original: Weights, stream: Stream) -> None:
    saturate(weights, original, STEP, stream, 0)
    weights[:] = original


def _naive(weights: Weights, original: Weights, stream: Stream) -> None:
    for k in (STEP, -2 * STEP, STEP):
        saturate(weights, weights, k, stream, 0)


def _float16(weights: Weights, original: Weights, stream: Stream) -> None:
    z = sign_tile(stream, 0, 0, weights.size).astype(np.float16)
    for mu in (MU, np.float16(-2) * MU, MU):
        weights += mu * z


WAYS: Mapping[str, Callable[[Weights, Weights, Stream], None]] = {
    "clip": _clip,
    "saturate": _saturate,
    "naive": _naive,
    "float16": _float16,
}
