"""What training costs, counted and not measured: the same on every machine.

forwards        passes of one batch through the trained part (evaluations are not counted)
macs            multiply-accumulates of training, frozen layers included
random_bits     signs drawn
bytes_written   bytes of weights and biases written by perturbation, restoration and update
"""

from typing import NamedTuple

WAYS = ("in_place", "saturated", "signs")


class Cost(NamedTuple):
    """Totals since the start of a run; the fields are explained above."""

    forwards: int = 0
    macs: int = 0
    random_bits: int = 0
    bytes_written: int = 0

    def plus(self, other: "Cost", times: int = 1) -> "Cost":
        """This and `times` the other."""
        return Cost(*(a + times * b for a, b in zip(self, other, strict=True)))


class Work(NamedTuple):
    """What a step works on.

    batch          images B
    macs           multiply-accumulates of one forward of one image
    signs          trained numbers that are perturbed
    sign_bytes     their bytes: 1 for a weight, 4 for a bias
    exact_bytes    bytes of what the exact gradient trains
    way            how samples are evaluated, one of WAYS
    halves         whether half of a step's samples are estimated from once more
    """

    batch: int
    macs: int
    signs: int
    sign_bytes: int
    exact_bytes: int
    way: str = "in_place"
    halves: bool = False

    def step_cost(self, estimator: str, q: int) -> Cost:
        """Of a step with q samples; with 0, nothing is perturbed."""
        if self.way == "saturated" and q:
            cost = saturated_step_cost(self, q)
        elif self.way == "signs":
            cost = reused_step_cost(self, estimator, q)
        else:
            cost = step_cost(self, estimator, q)
        return cost.plus(Cost(random_bits=self.halves * (q // 2) * self.signs))


def forwards(estimator: str, q: int, exact: bool = False) -> int:
    """Forwards of one step: q + 1, or 2q for central; 1 when nothing is perturbed (q = 0).

    exact   an exact gradient is taken as well, at the unperturbed weights that central skips
    """
    return 2 * q + exact if estimator == "central" and q else q + 1


def step_cost(work: Work, estimator: str, q: int) -> Cost:
    """A step in place: the first perturbation and the restoration are passes over the weights.

    Between two samples one pass draws both signs; the estimate draws every sign again. `central`
    goes there, across and back, each a pass.
    """
    passes = (3 * q if estimator == "central" else q + 1) if q else 0
    drawn = (4 * q if estimator == "central" else 3 * q) if q else 0
    count = forwards(estimator, q, work.exact_bytes > 0)
    written = (passes + (q > 0)) * work.sign_bytes + work.exact_bytes
    return Cost(count, count * work.batch * work.macs, drawn * work.signs, written)


def saturated_step_cost(work: Work, q: int) -> Cost:
    """A step that clamps and restores from a copy: q passes, one copy, one update."""
    written = (q + 2) * work.sign_bytes + work.exact_bytes
    return Cost(q + 1, (q + 1) * work.batch * work.macs, 2 * q * work.signs, written)


def reused_step_cost(work: Work, estimator: str, q: int) -> Cost:
    """A step with a matrix of signs: as many products, one write.

    Signs are drawn for the products, for each direction of `central`, and for the estimate.
    """
    count = forwards(estimator, q)
    drawn = 3 * q if estimator == "central" else 2 * q
    return Cost(count, count * work.batch * work.macs, drawn * work.signs, work.sign_bytes)
