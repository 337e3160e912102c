"""The arithmetics a node may be computed in, and the structs they give."""

import pickle
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..graph import Graph, Node
from ..kernels.structs import Requantization, Rounding
from ..neural_art.stored import RULE as NEURAL_ART
from ..parameters import Structs, bind
from ..profiles import BOUNDS, PROFILES, SCALES, USUAL_SCALE, Arithmetic
from ..reference.requantize import requantize
from ..requantization import clamp_of
from ..rules import arithmetic, choices, is_silent, variant
from .hypothesis import SCALE

SCALED = ("conv2d", "depthwise_conv2d", "fully_connected", "mul", "mean", "relu", "relu6")
"""Operators whose M may be computed in more than one way."""
FAR = 16
"""Elements behind which a row's end does not matter: the longest block."""


class Bound(NamedTuple):
    """Structs, and the names of all arithmetics that give them."""

    names: tuple[str, ...]
    structs: Structs


def bound(graph: Graph, node: Node) -> list[Bound]:
    """Every arithmetic the node may have, Neural-ART's left out; equal structs once."""
    found: dict[bytes, Bound] = {}
    for a in _arithmetics(graph, node):
        name, structs = name_of(graph, node, a), bind(graph, node, a)
        key = pickle.dumps(tuple((type(s).__name__, *s) for s in structs))
        names = found[key].names if key in found else ()
        found[key] = Bound((*names, *([] if name in names else [name])), structs)
    return [b._replace(names=_plainest_first(b.names)) for b in found.values()]


def name_of(graph: Graph, node: Node, a: Arithmetic) -> str:
    """An arithmetic in words; what makes no difference to the node is not said."""
    name = str(a)
    if _scaled(graph, node) and a.scale != USUAL_SCALE.get(a.rule, "double"):
        name += f"{SCALE}{SCALES[a.scale]}"
    if a.bounds != "away" and _bounds_matter(graph, node, a):
        name += ", bounds to even"
    return name


def profile_arithmetic(graph: Graph, node: Node, profile: str) -> Arithmetic | None:
    """The node's arithmetic under a profile; None where that says nothing of it."""
    of_profile = replace(node, rule=profile)
    return None if is_silent(graph, of_profile) else arithmetic(graph, of_profile)


def behind_blocks(left: np.ndarray, length: int, block: int) -> np.ndarray:
    """Which elements stand behind the last whole block of a row.

    left   elements from here to the row's end, this one included; FAR where there are more
    """
    return left <= length % block


def distance_to_end(length: int, rows: int) -> np.ndarray:
    """`left` of every element of rows of a length, flat; of those in whole blocks FAR."""
    left = np.arange(length, 0, -1)
    return np.tile(np.where(left > length % FAR, FAR, left), rows)


def requantized(
    acc: np.ndarray, r: Requantization, rest: np.ndarray | bool, channel: np.ndarray | None = None
) -> np.ndarray:
    """Accumulators (n,) as int64 codes.

    rest      which of them stand behind the last whole block
    channel   of each, where r has a multiplier for every channel
    """
    if channel is not None and len(r.multiplier) > 1:
        arrays = {f: getattr(r, f)[channel] for f in ("multiplier", "shift", "scale")}
        r = r._replace(**arrays)
    main, last = r.rounding.rule, r.rounding.rest
    codes = requantize(acc, r._replace(rounding=Rounding(main, 1, main)), np.int64)
    if r.rounding.block == 1 or main == last:
        return codes
    others = requantize(acc, r._replace(rounding=Rounding(last, 1, last)), np.int64)
    return np.where(rest, others, codes)


def _arithmetics(graph: Graph, node: Node) -> Iterator[Arithmetic]:
    """Those of profiles; every rule the node may be given, with every scale."""
    for profile in PROFILES:
        a = profile_arithmetic(graph, node, profile)
        if a is not None and a.rule != NEURAL_ART:
            yield a
    for rule in choices(graph, node):
        scales = SCALES if _scaled(graph, node) else (USUAL_SCALE.get(rule, "double"),)
        for scale in scales:
            for bounds in BOUNDS:
                if rule != NEURAL_ART:
                    yield Arithmetic(rule, scale, bounds)


def _scaled(graph: Graph, node: Node) -> bool:
    return node.op in SCALED or variant(graph, node).startswith("requantize")


def _bounds_matter(graph: Graph, node: Node, a: Arithmetic) -> bool:
    if "activation" not in node.attributes and node.op not in ("relu", "relu6"):
        return False
    ways = (clamp_of(graph, node, replace(a, bounds=bounds)) for bounds in BOUNDS)
    return len(set(ways)) > 1


def _plainest_first(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(names, key=len))
