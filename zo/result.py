"""The trained network as a graph of its own."""

from dataclasses import replace

import numpy as np

from npusim import Graph, Quantization
from npusim.head import until_logits

from .loss import CrossEntropy
from .run import Run


def trained_graph(run: Run) -> Graph:
    """The session's graph as trained, ending at its logits with their present scale.

    Doublings of the logits' scale are shifts in the session; here they become scales again.
    """
    graph = run.step.session.snapshot()
    loss, classifier = run.step.loss, run.step.classifier
    if classifier is None:
        return graph
    if isinstance(loss, CrossEntropy) and loss.exponent:
        graph = _with_logit_doublings(graph, classifier.node, loss.exponent)
    return until_logits(replace(graph, outputs=graph.outputs[:1]))


def _with_logit_doublings(graph: Graph, node_name: str, doublings: int) -> Graph:
    """Logits and the head's constants at 2^doublings times their scale: the same multipliers."""
    tensors, node = list(graph.tensors), graph.node(node_name)
    for i in (*node.inputs[1:], *node.outputs):
        q = tensors[i].quantization
        if q is not None:
            scale = np.ldexp(q.scale, doublings).astype(np.float32)
            tensors[i] = replace(tensors[i], quantization=Quantization(scale, q.zero_point, q.axis))
    return replace(graph, tensors=tuple(tensors))
