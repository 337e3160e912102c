"""Where a graph's logits come from: the layer that makes them, and what that layer reads."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from npusim import Graph, ModelError, Tensor
from npusim.head import find_head


class Classifier(NamedTuple):
    """The head of a graph that ends at its logits.

    node                  name of the head's node
    weights               name of its weights
    bias                  name of its bias, "" if it has none
    features              name of the tensor it reads
    feature_scale         of that tensor, and
    feature_zero_point    its zero point
    logits                name of the graph's first output
    scale                 of the logits
    classes               C
    """

    node: str
    weights: str
    bias: str
    features: str
    feature_scale: float
    feature_zero_point: int
    logits: str
    scale: float
    classes: int

    @property
    def constants(self) -> tuple[str, str]:
        """The names of its weights and its bias."""
        return self.weights, self.bias


def find_classifier(graph: Graph) -> Classifier:
    """The head that makes the graph's first output.

    raises   ModelError unless the first output is the int8 logits of a head, not what follows it
    """
    node = find_head(graph)
    logits = graph.tensors[graph.outputs[0]]
    if node.outputs[0] != graph.outputs[0] or logits.dtype != "int8":
        raise ModelError(
            f"{graph.name}: must end at the int8 logits of {node.name}, got {logits.name}; cut "
            "what follows with npusim.head.until_logits"
        )
    x, weights = graph.tensors[node.inputs[0]], graph.tensors[node.inputs[1]]
    bias = graph.tensors[node.inputs[2]].name if len(node.inputs) > 2 else ""
    return Classifier(
        node.name, weights.name, bias, x.name, *_affine(x), logits.name, *_affine(logits)[:1],
        weights.shape[0],
    )  # fmt: skip


def flat_logits(outputs: NDArray[np.int8], classes: int) -> NDArray[np.int8]:
    """Logits (B, C) of any output (B, 1, .., C)."""
    return outputs.reshape(-1, classes)


def _affine(tensor: Tensor) -> tuple[float, int]:
    q = tensor.quantization
    assert q is not None, tensor.name
    return float(q.scale[0]), int(q.zero_point[0])
