"""Rules for ties of Neural-ART's stages, for people: many combinations as one."""

from collections.abc import Sequence
from math import prod

OPEN = "any"
"""Stands for every rule there is: no tie was met that tells them apart."""


def stages_in_words(combinations: Sequence[tuple[str, ...]]) -> str:
    """ "away or up / away / any": the rules of each stage; "away" where every stage has this one.

    Where not every combination of what is named is meant, "some of" stands in front.
    """
    found = [list(dict.fromkeys(stage)) for stage in zip(*combinations, strict=True)]
    if len({tuple(sorted(rules)) for rules in found}) == 1 and len(found[0]) == 1:
        return found[0][0]
    some = "" if len(set(combinations)) == prod(map(len, found)) else "some of "
    return some + " / ".join(OPEN if len(rules) == 3 else " or ".join(rules) for rules in found)
