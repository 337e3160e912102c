"""What `zo train` and `zo export-c` refuse before they decode a picture."""

import argparse

from npusim import Graph, Session
from npusim.head import blank_head, find_head, replace_head, until_logits

from ..classifier import find_classifier
from ..data import DataError, Dataset
from ..options import Method
from ..trainable import check_names


def check_trainable(graph: Graph, arguments: argparse.Namespace, method: Method) -> None:
    """The names to train exist, behind a new classifier if there is to be one.

    raises   KeyError, ValueError, ModelError naming what does not fit
    """
    if arguments.classes is not None:
        features = graph.tensors[find_head(graph).inputs[1]].shape[-1]
        graph = replace_head(graph, blank_head(features, arguments.classes))
    elif arguments.warm_up is not None:
        raise ValueError("--warm-up: must be of a new classifier, got no --classes; give both")
    check_own_trainable(until_logits(graph), arguments, method)


def check_own_trainable(graph: Graph, arguments: argparse.Namespace, method: Method) -> None:
    """The same of a graph that keeps its classifier, and ends at its logits."""
    head = find_classifier(graph)
    session = Session(graph, trainable=arguments.trainable or [head.weights], threads=1)
    check_names(method, session.trainable, head.constants)
    if arguments.exact_head and arguments.estimator and set(session.trainable) <= {*head.constants}:
        raise ValueError(
            "--estimator: must be of a tensor that zeroth order trains, got the head alone, by its "
            "exact gradient; leave it out or name a layer below"
        )


def check_classes(dataset: Dataset, graph: Graph, classes: int | None) -> None:
    """The data has as many classes as the classifier to be trained; DataError if not.

    classes   of a new classifier, None where the graph's own is kept
    """
    found = len(dataset.classes)
    if classes is not None and classes != found:
        raise DataError(f"{dataset.name}: --classes must be the {found} of the data, got {classes}")
    own = find_classifier(until_logits(graph)).classes
    if classes is None and own != found:
        raise DataError(
            f"{dataset.name}: must have the {own} classes of the model's classifier, got {found}; "
            f"put a new one on with --classes {found}"
        )
