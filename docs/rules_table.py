"""The tables of docs/arithmetic.md: who rounds how, made from the code.

    python docs/rules_table.py              # rewrites docs/arithmetic.md in place

Each table stands in the page between `<!-- name -->` and `<!-- end -->`.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from pages import markdown, rewrite

from npusim.neural_art.stored import PROFILE as NEURAL_ART
from npusim.profiles import PROFILES, SCALES, Profile, find_profile

PAGE = Path(__file__).resolve().parents[1] / "docs" / "arithmetic.md"


def profiles() -> str:
    """What each profile reproduces, and what it sums in."""
    rows = [
        (f"`{p.name}`", p.reference, _accumulator(p), f"`{p.fallback}`" if p.fallback else "")
        for p in PROFILES.values()
    ]
    return markdown(("profile", "reproduces", "accumulator", "leaves nodes to"), rows)


def rules() -> str:
    """Operator x profile: the rule."""
    operators = dict.fromkeys(op for p in PROFILES.values() for op in p.operators)
    rows = _merged((op, [_rule(p, op) for p in PROFILES.values()]) for op in operators)
    return markdown(("operator", *(f"`{name}`" for name in PROFILES)), rows)


def multipliers() -> str:
    """Operator x profile: how M is computed where it is not in double."""
    words = {**SCALES, "double": ""}
    found = {p.name: {op: words[a.scale] for op, a in p.operators.items()}
             for p in PROFILES.values()}  # fmt: skip
    narrow = [name for name, cells in found.items() if any(cells.values())]
    operators = dict.fromkeys(op for name in narrow for op, cell in found[name].items() if cell)
    rows = _merged((op, [found[name].get(op, "") for name in narrow]) for op in operators)
    return markdown(("operator", *(f"`{name}`" for name in narrow)), rows)


def _accumulator(profile: Profile) -> str:
    if profile.name == NEURAL_ART:
        return "exact sums"
    return f"{profile.accumulator.bits} bits, {profile.accumulator.overflow}"


def _rule(profile: Profile, op: str) -> str:
    """The rule of an operator, that of the fallback in italics; refused where there is none."""
    own = profile.operators.get(op)
    if own is not None:
        return f"`{own}`"
    if not profile.fallback:
        return "refused"
    return f"*`{find_profile(profile.fallback).operators[op]}`*"


def _merged(rows: Iterable[tuple[str, Sequence[str]]]) -> list[tuple[str, ...]]:
    """One row for all operators with equal cells, in the order of the first of them."""
    names: dict[tuple[str, ...], list[str]] = {}
    for op, cells in rows:
        names.setdefault(tuple(cells), []).append(f"`{op}`")
    return [(", ".join(operators), *cells) for cells, operators in names.items()]


TABLES = {"profiles": profiles, "rules": rules, "multipliers": multipliers}

if __name__ == "__main__":
    rewrite(PAGE, TABLES)
