"""What a comparison found: one verdict per tensor, and what was assumed on the way."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..columns import LONGEST_NAME
from .causes import Cause
from .figures import Figures
from .heat import Map
from .histogram import Bar
from .likelier import Likelier
from .places import Place

EQUAL = "equal"
INHERITED = "inherited"
DEPARTS = "departs"
FOLLOWS = "follows"
UNFIT = "unfit"
VERDICTS = {
    EQUAL: "every element is the same on both sides",
    INHERITED: "differs, and is what A's model makes of B's inputs: an earlier tensor's fault",
    DEPARTS: "differs from what A's model makes of B's inputs: a fault of its own",
    FOLLOWS: "differs, behind a tensor that departs; without the model nobody knows whose fault",
    UNFIT: "has another shape or type on side B",
}


def label(tensor: str, node: str) -> str:
    """What people call a tensor: a long name makes way for that of the node that makes it."""
    return node or tensor if len(tensor) > LONGEST_NAME else tensor


@dataclass(frozen=True)
class Judged:
    """One tensor.

    name, node, op   of the tensor and the node that makes it; "" for inputs and where not known
    shape, dtype     on side A
    matched          "name" or "order"
    file, read_as    where side B's values are from, and how they were read if not as they are
    verdict          one of VERDICTS
    total            B against A; None when unfit
    own              B against what A's model makes of B's inputs; None where that is not known
    judged_from      whose inputs `own` was computed from; "" without
    cause            of a departure; None for other verdicts
    stated           what the two sides say about the node that is not the same
    place            where B differs, by `own` where it departs, else by `total`
    maps             pictures of that
    histogram        of the same differences
    reason           why it is unfit; "" otherwise
    """

    name: str
    node: str
    op: str
    shape: tuple[int, ...]
    dtype: str
    matched: str
    file: str
    read_as: str
    verdict: str
    total: Figures | None = None
    own: Figures | None = None
    judged_from: str = ""
    cause: Cause | None = None
    stated: tuple[str, ...] = ()
    place: Place | None = None
    maps: tuple[Map, ...] = ()
    histogram: tuple[Bar, ...] = ()
    reason: str = ""

    @property
    def label(self) -> str:
        """What it is called for people."""
        return label(self.name, self.node)

    @property
    def judged(self) -> Figures | None:
        """The figures that the verdict rests on: `own` where they are known, else `total`."""
        return self.total if self.own is None else self.own


@dataclass(frozen=True)
class Party:
    """A side, as a reader is told of it: kind, profile and accumulator where they are known."""

    path: str
    kind: str
    profile: str
    accumulator: str
    tensors: int


@dataclass(frozen=True)
class Report:
    """A comparison.

    model     name of the model that judged; "" without
    tensors   those compared, in the order of execution
    missing   tensors of side A that side B does not have
    absent    the same -> what they are called for people
    extra     tensors or files of side B that are no tensor of side A
    notes     what was assumed
    likelier  profiles that explain B better than A's; None where there are none
    again     the command that compares by a likelier profile; "" without
    """

    a: Party
    b: Party
    model: str
    tensors: tuple[Judged, ...]
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    notes: tuple[str, ...]
    absent: Mapping[str, str] = field(default_factory=dict)
    likelier: Likelier | None = None
    again: str = ""

    @property
    def first(self) -> Judged | None:
        """The first tensor that departs; None when all are equal."""
        at_fault = (t for t in self.tensors if t.verdict in (DEPARTS, FOLLOWS, UNFIT))
        return next(at_fault, None)

    @property
    def equal(self) -> bool:
        """Whether no compared tensor differs."""
        return all(t.verdict == EQUAL for t in self.tensors)

    def in_short(self, text: str) -> str:
        """A text with every tensor called by its label."""
        labels = {t.name: t.label for t in self.tensors} | dict(self.absent)
        for name in sorted(labels, key=len, reverse=True):
            text = text.replace(name, labels[name]) if len(name) > LONGEST_NAME else text
        return text

    @property
    def reasons(self) -> dict[str, tuple[str, ...]]:
        """Why tensors depart by their own fault -> their names, the first departure's first."""
        found: dict[str, tuple[str, ...]] = {}
        for t in self.departures:
            text = t.reason or (t.cause.sentence if t.cause else "")
            found[text] = (*found.get(text, ()), t.name)
        return found

    @property
    def departures(self) -> tuple[Judged, ...]:
        """Tensors with a fault of their own."""
        return tuple(t for t in self.tensors if t.verdict in (DEPARTS, UNFIT))
