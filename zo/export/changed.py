"""What training changed, as bytes: the file that an exported program writes at its end."""

import numpy as np

from npusim import Session
from npusim.graph import ABSENT

from ..classifier import find_classifier


def changed_bytes(session: Session) -> bytes:
    """Arrays of a trained session in the order of NAME_changed: by node weights, bias, shift.

    session   whose run had scales that follow, so that the head's shift counts as changed
    """
    parts, graph = [], session.graph
    head = find_classifier(graph).node
    for node in graph.nodes:
        names = [graph.tensors[i].name for i in node.inputs[1:] if i != ABSENT]
        if set(names) & set(session.trainable):
            weights = session.weights.get(names[0])
            parts += [] if weights is None else [weights]
            parts += [session.biases[node.name], session.requantization[node.name].shift]
        elif node.name == head:
            parts.append(session.requantization[node.name].shift)
    return b"".join(np.ascontiguousarray(part).tobytes() for part in parts)
