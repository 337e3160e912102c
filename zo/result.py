"""What a run leaves: its history, and the trained network as a graph of its own."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from npusim import Graph, Quantization
from npusim.head import until_logits

from .evaluate import evaluate
from .history import Epoch, best_accuracy, final_accuracy
from .loss import CrossEntropy
from .run import Run


@dataclass(frozen=True)
class Result:
    """A finished run.

    history   one entry per epoch, the first before training
    graph     the trained network, ending at its logits
    correct   validation images it classifies right; the last epoch's unless interrupted
    stopped   "epochs" all are trained, "stagnant" no better accuracy for `stop_after` epochs, or
              "interrupted" by Ctrl-C, with what was done kept
    moved     how many codes were clipped to their rails at the start, by the names of tensors that
              had any
    schedule  the schedule's `state_dict` at the end: its settings, and the cost table where it
              goes by one
    """

    history: tuple[Epoch, ...]
    graph: Graph
    correct: int
    stopped: str
    moved: dict[str, int]
    schedule: Mapping[str, Any]

    @property
    def accuracy(self) -> float:
        """Of the graph, on the validation images."""
        return self.correct / self.history[-1].total

    @property
    def final(self) -> float:
        """Mean accuracy of the last ten epochs."""
        return final_accuracy(self.history)

    @property
    def best(self) -> float:
        """The highest accuracy of any epoch."""
        return best_accuracy(self.history)


def result_of(run: Run, stopped: str) -> Result:
    """What the run has come to; weights from the middle of an epoch are evaluated."""
    schedule, correct = run.scheduler.state_dict(), run.history[-1].correct
    if stopped == "interrupted":
        correct = evaluate(run.validation, run.step.loss).correct
    return Result(tuple(run.history), trained_graph(run), correct, stopped, run.moved, schedule)


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
