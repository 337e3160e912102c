"""What things are called in the C of an exported model.

Constants are named after the node that reads them first, places in the arena after the node that
writes them: names of tensors can be hundreds of characters long, and stand in comments.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..c_syntax import identifiers
from ..graph import ABSENT, Graph, Node
from ..headroom import WEIGHTED

_ROLES = {"add": ("a", "b"), "mul": ("a", "b")} | dict.fromkeys(WEIGHTED, ("x", "weights", "bias"))


@dataclass(frozen=True)
class Names:
    """C names of one model.

    prefix     in front of every name that other files see
    nodes      identifier of each node
    constants  tensor -> name of its array
    places     tensor -> name of its place in the arena; aliases have that of their owner
    """

    prefix: str
    nodes: tuple[str, ...]
    constants: Mapping[int, str]
    places: Mapping[int, str]

    @property
    def macro(self) -> str:
        """The prefix of macros."""
        return self.prefix.upper()


def names_of(graph: Graph, prefix: str) -> Names:
    """Names for a graph that a session runs."""
    nodes = tuple(identifiers([node.name for node in graph.nodes]))
    constants: dict[int, str] = {}
    places = dict(zip(graph.inputs, _numbered("INPUT", len(graph.inputs)), strict=True))
    for name, node in zip(nodes, graph.nodes, strict=True):
        for role, i in zip(_roles(node), node.inputs, strict=False):
            if i != ABSENT and graph.tensors[i].data is not None:
                constants.setdefault(i, f"{prefix}_{name}_{role}")
        places[node.outputs[0]] = f"{name}_y".upper()
    return Names(prefix, nodes, constants, places)


def _roles(node: Node) -> Iterable[str]:
    return _ROLES.get(node.op, ("x",))


def _numbered(name: str, count: int) -> list[str]:
    """The name alone, or with numbers where there are several."""
    return [name] if count == 1 else [f"{name}_{k}" for k in range(count)]
