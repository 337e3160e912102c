"""A float run from outside."""

from dataclasses import dataclass, replace
from math import prod
from typing import Any, cast

from npusim import Graph, Session
from npusim.head import until_logits

from ..batch import Source
from ..data import Examples, as_dataset
from ..evaluate import Evaluation, evaluate
from ..evidence import Watcher
from ..history import Epoch, best_accuracy, final_accuracy
from ..loss import Loss
from ..options import Method, Options, choose, name_of
from ..prepare import prepare
from ..schedule import Schedule
from ..step import Step
from ..train import DEFAULT, run_epochs, tell
from .network import FloatNetwork
from .step import FloatCrossEntropy, FloatSource, FloatStep


@dataclass(frozen=True)
class FloatResult:
    """A finished float run.

    history   one entry per epoch, the first before training; losses are rounded to 2^-16 nat, and
              costs are those of the int8 run
    network   the trained one
    stopped   as in `Result`
    """

    history: tuple[Epoch, ...]
    network: FloatNetwork
    stopped: str

    @property
    def graph(self) -> Graph:
        """The trained float network, which `npusim.floats.run` executes."""
        return self.network.trained()

    @property
    def accuracy(self) -> float:
        """Of the last whole epoch, on the validation images."""
        return self.history[-1].accuracy

    @property
    def final(self) -> float:
        """Mean accuracy of the last ten epochs."""
        return final_accuracy(self.history)

    @property
    def best(self) -> float:
        """The highest accuracy of any epoch."""
        return best_accuracy(self.history)

    def evaluate(self, source: Source) -> Evaluation:
        """Accuracy and loss of the trained network; images as codes, of a session of its graph."""
        graph = self.network.graph
        classes = prod(graph.tensors[graph.outputs[0]].shape[1:])
        inside = cast(Source, FloatSource(source, self.network))
        return evaluate(inside, cast(Loss, FloatCrossEntropy(classes)))


def train_float32(
    session: Session,
    train: Examples,
    validation: Examples,
    *,
    scheduler: Schedule | None = None,
    policy: str | None = None,
    options: Options = DEFAULT,
    **changes: Any,
) -> FloatResult:
    """Train the network that an int8 session stands for in float32; the session stays as it is.

    The arguments are those of `zo.train`, and so are signs, batches, schedule, rates and momentum.
    Perturbations have the size of k weight steps. Rules of rounding, rails, recalibration and reuse
    have no counterpart; epochs of a float run cannot be resumed.
    raises   ValueError for what real numbers have no counterpart of, and as `zo.train` does
    """
    options = choose(options, policy, changes)
    _check(options, scheduler)
    options = replace(options, method=replace(options.method, recalibrate=False))
    graph = until_logits(session.snapshot())
    own = Session(graph, trainable=session.trainable, threads=1)
    learned = as_dataset(train, graph, "train")
    held_out = as_dataset(validation, graph, "validation")
    network = FloatNetwork(graph, own.trainable)
    run = prepare(own, learned, held_out, scheduler, options)
    assert run.step.classifier is not None
    loss = FloatCrossEntropy(run.step.classifier.classes)
    step = FloatStep(
        run.step.group, run.step.rates, name_of(options.method.estimator), loss, network
    )
    # A run asks of its step and its images no more than these stand-ins have.
    run.step = cast(Step, step)
    run.train = cast(Source, FloatSource(run.train, network))
    run.validation = cast(Source, FloatSource(run.validation, network))
    run.start()
    tell(run)
    stopped = run_epochs(run, None)
    return FloatResult(tuple(run.history), network, stopped)


def _check(options: Options, scheduler: Schedule | None) -> None:
    method, plain = options.method, Method()
    for name in ("exact_head", "rule", "perturbation", "loss"):
        value = getattr(method, name)
        if value != getattr(plain, name):
            raise ValueError(
                f"float32: {name} must be {getattr(plain, name)}, got {name_of(value)}; the "
                "reference in real numbers has nothing else"
            )
    if not isinstance(method.estimator, str):
        raise ValueError(f"float32: estimator must be one of zo's, got {name_of(method.estimator)}")
    if options.checkpoint is not None:
        raise ValueError(f"float32: checkpoint must be None, got {options.checkpoint}")
    if isinstance(scheduler, Watcher):
        raise ValueError(
            f"float32: schedule must go by accuracy or epochs, got {type(scheduler).__name__}, "
            "which watches integer steps"
        )
