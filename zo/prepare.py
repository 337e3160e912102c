"""Before the first step: what is trained, how fast, and the proof that nothing overflows."""

from dataclasses import replace

from npusim import Graph, ModelError, Session
from npusim.graph import ABSENT
from npusim.headroom import accumulator_bound, accumulator_of, order_matters
from npusim.neural_art.stored import PROFILE as NEURAL_ART
from npusim.neural_art.stored import on_hardware
from npusim.plurals import counted

from .batch import Source
from .budget import RunShape
from .classifier import Classifier, find_classifier
from .cost import Cost, Work
from .data import Dataset
from .default_rates import choose_rates
from .early_stopping import EarlyStopping
from .estimate import RANGE_BITS, check_halves, check_range, check_rows, largest_sum
from .evidence import Starter, Watcher
from .loss import EXPONENTS, ONE_NAT, CrossEntropy, Loss, cross_entropy_loss
from .options import Method, Options, name_of
from .recalibrate import check_profile
from .run import Run
from .schedule import QScheduler, Schedule
from .step import Step
from .trainable import Group, clip_codes, make_group


def prepare(
    session: Session,
    train: Dataset,
    validation: Dataset,
    scheduler: Schedule | None,
    options: Options,
) -> Run:
    """A run that stands before its first step; codes outside the rails are clipped at the end.

    raises   ValueError, TypeError, ModelError when something does not fit
    """
    method, schedule = options.method, _schedule(scheduler)
    classifier = _classifier(session.graph, method)
    if method.recalibrate:
        _check_recalibration(session, classifier)
    loss = _loss(method, classifier)
    _check_data(train, validation, loss, options.batch)
    group = make_group(session, method, classifier, options.batch)
    head_alone = _is_head_alone(session.graph, group, classifier, options)
    watcher = schedule if isinstance(schedule, Watcher) else None
    work = _work(session, group, options, head_alone, watcher)
    _begin(schedule, work, train.originals, options)
    _prove(group, method, schedule, loss, options.batch)
    learned, held_out = (
        Source(session, part, classifier, options.reuse) for part in (train, validation)
    )
    if group.exact and not learned.frozen_head:
        _check_features(session.graph, classifier)
    moved = clip_codes(group)
    rates = choose_rates(group, learned, loss, schedule, options)
    step = Step(session, group, rates, method, classifier, loss, head_alone, watcher)
    cost = Cost(macs=_frozen_macs(session, options) * len(train))
    stopping = EarlyStopping(options.stop_after) if options.stop_after else None
    return Run(step, learned, held_out, schedule, options, work, moved, cost, stopping)


def _begin(schedule: Schedule, work: Work, images: int, options: Options) -> None:
    """Tell a schedule the shape of the run, if it asks; ValueError where it does not fit."""
    if isinstance(schedule, Starter):
        estimator = name_of(options.method.estimator)
        steps = options.epochs * options.steps_per_epoch(images)
        schedule.start(RunShape(steps, lambda q: work.step_cost(estimator, q), estimator))


def _schedule(scheduler: Schedule | None) -> Schedule:
    """QScheduler unless another is given; TypeError for what is none."""
    schedule = QScheduler() if scheduler is None else scheduler
    if not isinstance(schedule, Schedule):
        raise TypeError(
            "train: scheduler must have q, rungs, step, state_dict and load_state_dict, got "
            f"{name_of(schedule)}; a function goes into UserSchedule"
        )
    return schedule


def _classifier(graph: Graph, method: Method) -> Classifier | None:
    """The graph's head; None where the loss is the user's and needs none."""
    try:
        return find_classifier(graph)
    except ModelError:
        if method.loss is None or method.exact_head:
            raise
        return None


def _check_recalibration(session: Session, classifier: Classifier | None) -> None:
    """Scales of trained nodes and of the head may double: none of these is on Neural-ART."""
    graph, head = session.graph, classifier.node if classifier is not None else None
    for node in graph.nodes:
        names = {graph.tensors[i].name for i in node.inputs if i != ABSENT}
        doubles = node.name == head or not names.isdisjoint(session.trainable)
        if doubles and on_hardware(graph, node):
            check_profile(NEURAL_ART, "train")


def _loss(method: Method, classifier: Classifier | None) -> Loss:
    if method.loss is not None:
        return method.loss
    assert classifier is not None
    return cross_entropy_loss(classifier.scale, classifier.classes, classifier.logits)


def _check_data(train: Dataset, validation: Dataset, loss: Loss, batch: int) -> None:
    if train.originals < batch:
        raise ValueError(
            f"train: must have a batch of {counted(batch, 'image')} at least, got {train.originals}"
        )
    if not len(validation):
        raise ValueError("train: validation must have an image at least, got none")
    if validation.variants != 1:
        raise ValueError(f"{validation.name}: must validate with original images, got variants")
    for part in (train, validation):
        top = int(part.labels.max())
        if isinstance(loss, CrossEntropy) and top >= loss.classes:
            raise ValueError(
                f"{part.name}: labels must be 0..{loss.classes - 1} for this head, got "
                f"{top}; replace the head"
            )


def _prove(group: Group, method: Method, schedule: Schedule, loss: Loss, batch: int) -> None:
    """No sum of a step overflows, at the largest q and the widest logits that may come."""
    if not group.perturbed:
        return
    if isinstance(loss, CrossEntropy) and method.recalibrate:
        loss = replace(loss, exponent=EXPONENTS - 1)
    bound = batch * ONE_NAT if method.estimator == "sign" else loss.bound(batch)
    reach = max(t.k for t in group.perturbed) if method.perturbation == "saturate" else 1
    q = max(schedule.rungs)
    largest = 1 << RANGE_BITS
    if isinstance(method.estimator, str):  # of a user's, each step is checked instead
        check_range(method.estimator, q, bound, reach)
        largest = largest_sum(method.estimator, q, bound, reach)
        for t in group.perturbed:
            check_rows(method.estimator, q, t.state.codes.size)
    if isinstance(schedule, Watcher) and schedule.wants_halves:
        check_halves(largest, sum(t.state.codes.size for t in group.perturbed))


def _check_features(graph: Graph, classifier: Classifier | None) -> None:
    """An exact gradient above trained layers needs what the head reads as an output."""
    outputs = [graph.tensors[i].name for i in graph.outputs]
    if classifier is not None and classifier.features not in outputs:
        raise ValueError(
            f"train: exact_head below trained layers needs the head's input {classifier.features} "
            f"as an output, got {outputs}; build the session on npusim.head.with_features(graph)"
        )


def _is_head_alone(
    graph: Graph, group: Group, classifier: Classifier | None, options: Options
) -> bool:
    """Whether a matrix of signs gives the losses: one head, clipped codes, exact sums."""
    if classifier is None or not (options.reuse.signs and options.reuse.prefix):
        return False
    if [t.name for t in group.perturbed] != [classifier.weights] or len(group.tensors) > 1:
        return False
    if options.method.perturbation != "clip":
        return False
    node = graph.node(classifier.node)
    if on_hardware(graph, node):  # its partial sums are rounded, so signs do not add up
        return False
    bound = accumulator_bound(graph, node, frozenset(node.inputs[1:]))
    return not order_matters(bound, accumulator_of(graph, node))


def _work(
    session: Session, group: Group, options: Options, head_alone: bool, watcher: Watcher | None
) -> Work:
    macs = session.macs_from_prefix if options.reuse.prefix else session.macs
    counts = [(t.exact, t.state.codes.size, 4 if t.form is not None else 1) for t in group.tensors]
    return Work(
        options.batch,
        macs,
        sum(n for exact, n, _ in counts if not exact),
        sum(n * size for exact, n, size in counts if not exact),
        sum(n * size for exact, n, size in counts if exact),
        _way(options, head_alone),
        watcher is not None and watcher.wants_halves,
    )


def _way(options: Options, head_alone: bool) -> str:
    if options.method.perturbation == "saturate":
        return "saturated"
    return "signs" if head_alone else "in_place"


def _frozen_macs(session: Session, options: Options) -> int:
    """Of what runs once per training image."""
    return session.macs - session.macs_from_prefix if options.reuse.prefix else 0
