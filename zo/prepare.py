"""Before the first step: what is trained, how fast, and the proof that nothing overflows."""

from dataclasses import replace
from typing import Any

from npusim import Graph, ModelError, Session
from npusim.headroom import accumulator, accumulator_bound, order_matters

from .batch import Source
from .classifier import Classifier, find_classifier
from .cost import Cost, Work
from .data import Dataset
from .default_rates import learning_rates, loss_difference, mean_square_features
from .digest import content_hash
from .estimate import check_range
from .loss import EXPONENTS, CrossEntropy, Loss, cross_entropy_loss
from .options import Method, Options
from .recalibrate import check_profile
from .run import Run
from .schedule import EarlyStopping, QScheduler, Schedule
from .step import Step
from .trainable import Group, make_group, make_rates


def prepare(
    session: Session,
    train: Dataset,
    validation: Dataset,
    scheduler: Schedule | None,
    options: Options,
) -> tuple[Run, dict[str, int]]:
    """A run that stands before its first step, and how many codes were clipped to the rails.

    raises   ValueError, TypeError, ModelError when something does not fit
    """
    method = options.method
    schedule = QScheduler() if scheduler is None else scheduler
    classifier = _classifier(session.graph, method)
    if method.recalibrate:
        check_profile(session.graph.profile, "train")
    _check_data(train, validation, classifier, options)
    group = make_group(session, method, classifier)
    loss = _loss(method, classifier)
    if group.perturbed:
        _prove(group, method, schedule, loss, options.batch)
    learned, held_out = (
        Source(session, part, classifier, options.reuse) for part in (train, validation)
    )
    head_alone = _is_head_alone(session, group, classifier, options)
    step = Step(session, group, {}, method, classifier, loss, head_alone)
    cost = Cost(macs=_prefix_macs(session, options, len(train)))
    stopping = EarlyStopping(options.stop_after) if options.stop_after else None
    work = _work(session, group, options)
    run = Run(step, learned, held_out, schedule, options, work, cost, stopping)
    _check_features(run)
    _set_rates(run)
    return run, group_moved(group)


def settings_of(run: Run) -> dict[str, Any]:
    """What a run that continues from a checkpoint must have in common with the first."""
    options, step = run.options, run.step
    method = replace(options.method, loss=None)
    return {
        "model": content_hash("model", step.session.snapshot()),
        "trained tensors": [t.name for t in step.group.tensors],
        "epochs": options.epochs,
        "batch": options.batch,
        "seed": options.seed,
        "stop_after": options.stop_after,
        "method": repr(method),
        "loss": type(step.loss).__name__,
        "training images": content_hash("labels", run.train.labels),
        "validation images": content_hash("labels", run.validation.labels),
    }


def group_moved(group: Group) -> dict[str, int]:
    """Codes clipped to their rails, where there were any."""
    return {name: count for name, count in group.moved.items() if count}


def _classifier(graph: Graph, method: Method) -> Classifier | None:
    """The graph's head; None where the loss is the user's and needs none."""
    try:
        return find_classifier(graph)
    except ModelError:
        if method.loss is None or method.exact_head:
            raise
        return None


def _loss(method: Method, classifier: Classifier | None) -> Loss:
    if method.loss is not None:
        return method.loss
    assert classifier is not None
    return cross_entropy_loss(classifier.scale, classifier.classes, classifier.logits)


def _check_data(
    train: Dataset, validation: Dataset, classifier: Classifier | None, options: Options
) -> None:
    if len(train) < options.batch:
        raise ValueError(
            f"train: must have a batch of {options.batch} images at least, got {len(train)}"
        )
    if not len(validation):
        raise ValueError("train: validation must have an image at least, got none")
    for part in (train, validation):
        top = int(part.labels.max())
        if classifier is not None and top >= classifier.classes:
            raise ValueError(
                f"{part.name}: labels must be 0..{classifier.classes - 1} for this head, got "
                f"{top}; replace the head"
            )


def _prove(group: Group, method: Method, schedule: Schedule, loss: Loss, batch: int) -> None:
    """No sum of a step overflows, at the largest q and the widest logits that may come."""
    widest = loss
    if isinstance(loss, CrossEntropy) and method.recalibrate:
        widest = replace(loss, exponent=EXPONENTS - 1)
    reach = max(t.k for t in group.perturbed) if method.perturbation == "saturate" else 1
    check_range(method.estimator, max(schedule.rungs), widest.bound(batch), reach)


def _is_head_alone(
    session: Session, group: Group, classifier: Classifier | None, options: Options
) -> bool:
    """Whether a matrix of signs gives the losses: one head, clipped codes, exact sums."""
    if classifier is None or not (options.reuse.signs and options.reuse.prefix):
        return False
    if [t.name for t in group.tensors] != [classifier.weights]:
        return False
    if group.exact or options.method.perturbation != "clip":
        return False
    graph = session.graph
    node = graph.node(classifier.node)
    bound = accumulator_bound(graph, node, frozenset(node.inputs[1:]))
    return not order_matters(bound, accumulator(graph))


def _work(session: Session, group: Group, options: Options) -> Work:
    macs = session.macs_from_prefix if options.reuse.prefix else session.macs
    counts = [(t.exact, t.state.codes.size, 4 if t.form is not None else 1) for t in group.tensors]
    return Work(
        options.batch,
        macs,
        sum(n for exact, n, _ in counts if not exact),
        sum(n * size for exact, n, size in counts if not exact),
        sum(n * size for exact, n, size in counts if exact),
    )


def _prefix_macs(session: Session, options: Options, images: int) -> int:
    """Frozen layers, once per training image."""
    return images * (session.macs - session.macs_from_prefix) if options.reuse.prefix else 0


def _check_features(run: Run) -> None:
    """An exact gradient needs what the head reads: from the prefix, or as an output."""
    classifier, graph = run.step.classifier, run.step.session.graph
    if not run.step.group.exact or classifier is None or run.train.frozen_head:
        return
    outputs = [graph.tensors[i].name for i in graph.outputs]
    if classifier.features not in outputs:
        raise ValueError(
            f"train: exact_head below trained layers needs the head's input {classifier.features} "
            f"as an output, got {outputs}; build the session on npusim.head.with_features(graph)"
        )


def _set_rates(run: Run) -> None:
    """The integer rates of every tensor, chosen by rule where the user chose none."""
    step, options = run.step, run.options
    group, classifier = step.group, step.classifier
    head = () if classifier is None else (classifier.weights, classifier.bias)
    norm = 1.0
    if classifier is not None:
        norm = mean_square_features(step.session, run.train, classifier)
    difference = {
        t.name: loss_difference(t, run.train, step.loss, options.seed)
        for t in group.perturbed
        if t.name not in head
    }
    rungs = run.scheduler.rungs
    rates = learning_rates(group, options.method, rungs[0], norm, difference)
    step.rates = make_rates(group, rates, rungs, options.epochs * run.steps_per_epoch)
