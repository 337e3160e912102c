"""Names of rules as people read them: Neural-ART's many combinations of ties as one."""

from collections.abc import Sequence

from ..neural_art.stored import RULE
from ..neural_art.words import stages_in_words

TIES = f"{RULE}, ties "


def condensed(names: Sequence[str]) -> list[str]:
    """Names without doubles; those that differ in the ties of Neural-ART's stages are one.

    "neural_art, ties away or up / away / any": the rules of each stage. Where not every combination
    of them is meant, "some of" stands in front.
    """
    plain = [name for name in names if not name.startswith(TIES)]
    stages: dict[tuple[str, int], list[tuple[str, ...]]] = {}
    wanted = [
        name.removeprefix(TIES).partition(",")[::2] for name in names if name.startswith(TIES)
    ]
    most = max((ties.count("/") + 1 for ties, _ in wanted), default=1)
    for ties, more in wanted:
        each = tuple(ties.split("/"))
        each = each * most if len(each) == 1 else each
        stages.setdefault((more, len(each)), []).append(each)
    combined = [
        TIES + stages_in_words(combinations) + ("," + more if more else "")
        for (more, _), combinations in stages.items()
    ]
    return list(dict.fromkeys((*plain, *combined)))
