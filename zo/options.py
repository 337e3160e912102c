"""How to train: everything that may be chosen, and what is chosen by default."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from .data import Progress
from .estimate import ESTIMATORS, UserEstimator
from .history import Epoch
from .loss import CrossEntropy, Loss
from .perturb import MAX_STEP
from .rate import DECAYS, SCALINGS, SPACES
from .update import RULES, UserRule

BY_FUNCTION = ("estimator", "rule")
PERTURBATIONS = ("clip", "saturate")
_CHOICES = {
    "estimator": ESTIMATORS,
    "perturbation": PERTURBATIONS,
    "rule": RULES,
    "lr_scaling": SCALINGS,
    "decay": DECAYS,
    "space": SPACES,
}


def _each(setting: Any) -> Iterable[Any]:
    """The values of a setting for all tensors, or for some by name; none for None."""
    if isinstance(setting, Mapping):
        return setting.values()
    return () if setting is None else (setting,)


def name_of(choice: Any) -> str:
    """A choice's name; of a user's function, or another object, its module and its own."""
    if not callable(choice):
        return str(choice)
    named = choice if hasattr(choice, "__qualname__") else type(choice)
    return f"{named.__module__}.{named.__qualname__}"


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"method: {name} must be one of {', '.join(allowed)}, got {value!r}")


@dataclass(frozen=True)
class Method:
    """The training step.

    estimator      of everything trained by zeroth order: one_sided, centred, central, sign or
                   hadamard; or a function of one-sided losses, see `estimate.UserEstimator`
    exact_head     train the head's own weights and bias by their exact gradient; layers below it,
                   if any are trained, by zeroth order at the same time
    k              perturbation in weight steps, for all or by tensor name
    perturbation   "clip": codes live where nothing saturates, restoring is exact; "saturate":
                   codes are clamped while perturbed and restored from a copy
    rule           error_feedback, nearest, stochastic, threshold or sign; or a function of codes
                   and steps, see `update.UserRule`
    threshold      of rule threshold: a code moves by one where its step would be so long, in codes
    momentum       0 <= beta < 1, rounded to 2^-15; 0 saves its buffer
    lr             step in real units per unit of gradient at the schedule's first q, for all or by
                   tensor name; None: see `default_rates`
    lr_scaling     "linear": the rate follows q; "none": one rate
    decay          "cosine" or "constant"
    space          "real", or "integer": one rate in code units for all channels
    recalibrate    double a channel's scale when its codes crowd at the rails
    loss           any `loss.Loss`; None: cross-entropy of the logits
    """

    estimator: str | UserEstimator = "one_sided"
    exact_head: bool = False
    k: int | Mapping[str, int] = 1
    perturbation: str = "clip"
    rule: str | UserRule = "error_feedback"
    threshold: float = 0.5
    momentum: float = 0.9
    lr: float | Mapping[str, float] | None = None
    lr_scaling: str = "linear"
    decay: str = "cosine"
    space: str = "real"
    recalibrate: bool = True
    loss: Loss | None = None

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            value = getattr(self, name)
            if not (callable(value) and name in BY_FUNCTION):
                _one_of(name, value, allowed)
        if not 0 <= self.momentum < 1:
            raise ValueError(f"method: momentum must be in 0..1, below 1, got {self.momentum}")
        highest = MAX_STEP // 2 if self.estimator == "central" else MAX_STEP
        for k in _each(self.k):
            if not 1 <= k <= highest:
                raise ValueError(f"method: k must be 1..{highest} weight steps, got {k}")
        for lr in _each(self.lr):
            if not 0 < lr < math.inf:
                raise ValueError(f"method: lr must be finite and above 0, got {lr}")
        if self.perturbation == "saturate" and self.estimator != "one_sided":
            raise ValueError(
                f"method: perturbation saturate needs one_sided, got {name_of(self.estimator)}; "
                "what was clamped on one side is not what was clamped on the other"
            )
        self._check_loss()

    def _check_loss(self) -> None:
        if self.loss is not None and not hasattr(self.loss, "bound"):
            raise TypeError(
                f"method: loss must have a bound, got {name_of(self.loss)}; a function goes into "
                "UserLoss"
            )
        if self.exact_head and not isinstance(self.loss, CrossEntropy | None):
            raise ValueError(
                "method: exact_head is the gradient of cross-entropy, got loss "
                f"{type(self.loss).__name__}; train the head by zeroth order"
            )

    def k_of(self, tensor: str) -> int:
        """The perturbation of a tensor; 1 where k is given by name and not for this one."""
        return self.k.get(tensor, 1) if isinstance(self.k, Mapping) else self.k

    def lr_of(self, tensor: str) -> float | None:
        """The learning rate given for a tensor, None where it is to be chosen."""
        return self.lr.get(tensor) if isinstance(self.lr, Mapping) else self.lr


PAPER = Method(
    estimator="one_sided", lr_scaling="none", decay="cosine", space="integer", recalibrate=False
)
"""The choices of "QScheduler" (arXiv 2607.18802): one-sided, shared rate, cosine, integer space,
fixed scales."""
POLICIES: Mapping[str, Method] = MappingProxyType({"ours": Method(), "paper": PAPER})


@dataclass(frozen=True)
class Reuse:
    """What may be computed once instead of q times; no choice changes a bit.

    prefix   outputs of the layers before the first trained one, once per image
    signs    a head alone: x*W + k*x*z_i instead of x*(W + k*z_i)
    folder   where prefixes are kept between runs; None: nowhere
    """

    prefix: bool = True
    signs: bool = True
    folder: Path | None = None


@dataclass(frozen=True)
class Hooks:
    """Callables that watch a run; they run between steps, so weights are never perturbed then.

    on_epoch   called with each Epoch, the one before training included
    on_step    called with the steps done and all steps
    """

    on_epoch: Callable[[Epoch], None] | None = None
    on_step: Progress | None = None


@dataclass(frozen=True)
class Options:
    """A run.

    epochs       passes over the training images, at most
    batch        images per step; the last partial batch of an epoch is dropped
    seed         of signs, stochastic rounding and shuffling, 0..2^64-1
    stop_after   epochs without a better accuracy until the run stops; 0: never. A rise of q starts
                 the count anew
    method       the training step
    reuse        what is computed once
    checkpoint   file that is replaced after each epoch; with the suffix .zor in the form that C
                 reads and writes, which has no history (see `run_state`); None: no checkpoint
    resume       continue from the checkpoint when it is there
    hooks        callables that watch
    """

    epochs: int = 60
    batch: int = 64
    seed: int = 0
    stop_after: int = 30
    method: Method = field(default_factory=Method)
    reuse: Reuse = field(default_factory=Reuse)
    checkpoint: Path | None = None
    resume: bool = False
    hooks: Hooks = field(default_factory=Hooks)

    def __post_init__(self) -> None:
        for name, least in (("epochs", 1), ("batch", 1), ("seed", 0), ("stop_after", 0)):
            value = getattr(self, name)
            if value < least:
                raise ValueError(f"options: {name} must be {least} or more, got {value}")

    def steps_per_epoch(self, images: int) -> int:
        """Whole batches in so many training images."""
        return images // self.batch


def choose(options: Options, policy: str | None, changes: Mapping[str, Any]) -> Options:
    """The options with a policy's method, then with other fields changed.

    raises   ValueError for an unknown policy, or one beside a method; TypeError for unknown fields
    """
    if policy is None:
        return replace(options, **changes)
    _one_of("policy", policy, tuple(POLICIES))
    if "method" in changes:
        raise ValueError(f"method: is set by policy {policy}, got both; give one of them")
    return replace(options, method=POLICIES[policy], **changes)
