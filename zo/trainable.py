"""Tensors under training: what a session's arrays are to the step.

Weights are int8 codes in place. A bias is int8 codes in units of its own (see `bias`), written back
after every change.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from npusim import Graph, Node, Session

from .bias import BiasCodes, bias_codes, write_bias
from .classifier import Classifier
from .options import Method
from .perturb import FULL_RANGE, clip_to_rails, rails
from .rate import LearningRate, Rates
from .update import State, UpdateRule, new_state


@dataclass(frozen=True, eq=False)
class Trainable:
    """One tensor under training.

    name     of the tensor, canonical
    node     of the layer
    stream   number of its random stream
    scales   real value of one code per channel (C,) when training starts
    k        perturbation in codes
    exact    trained by the exact gradient of the head
    rule     how it is updated
    state    codes and what is kept beside them, changed in place
    form     base and unit of a bias, None for weights
    array    the session's int32 bias that `form` and codes are written to, None for weights
    """

    name: str
    node: str
    stream: int
    scales: tuple[float, ...]
    k: int
    exact: bool
    rule: UpdateRule
    state: State
    form: BiasCodes | None = None
    array: NDArray[np.int32] | None = None

    def write(self) -> None:
        """Bring the codes into effect; weights are in effect at once."""
        if self.form is not None and self.array is not None:
            write_bias(self.array, self.form, self.state.codes)


class Group(NamedTuple):
    """Everything one run trains.

    tensors   in the session's order
    moved     codes that had to be clipped to their rails, by tensor name
    """

    tensors: tuple[Trainable, ...]
    moved: dict[str, int]

    @property
    def perturbed(self) -> tuple[Trainable, ...]:
        """Those trained by zeroth order."""
        return tuple(t for t in self.tensors if not t.exact)

    @property
    def exact(self) -> tuple[Trainable, ...]:
        """Those trained by the head's exact gradient."""
        return tuple(t for t in self.tensors if t.exact)


def make_group(session: Session, method: Method, classifier: Classifier | None) -> Group:
    """Bring the session's trainable tensors into the form training needs; clips codes once.

    classifier   the graph's head, or None when it has none
    raises       ValueError when nothing is trainable, or exact_head finds no head to train
    """
    if not session.trainable:
        raise ValueError(
            "train: the session must have trainable tensors, got none; "
            'build it with Session(graph, trainable=["head"])'
        )
    names = tuple(dict.fromkeys(session.trainable))
    _check_names(method, names)
    head = () if classifier is None else (classifier.weights, classifier.bias)
    if method.exact_head and not set(head) & set(names):
        raise ValueError(
            f"train: exact_head needs the head's weights or bias among the trainable, "
            f"got {', '.join(names)}"
        )
    tensors, moved = [], {}
    for name in names:
        made = _trainable(session, name, method, method.exact_head and name in head)
        if method.perturbation == "clip":
            moved[name] = clip_to_rails(made.state.codes, made.rule.rails)
        tensors.append(made)
    return Group(tuple(tensors), moved)


def make_rates(
    group: Group, rate: Mapping[str, LearningRate], rungs: tuple[int, ...], steps: int
) -> dict[str, Rates]:
    """The integer rates of every tensor for every q of the schedule; the first q is the reference.

    An exact gradient does not get better with q, so its rate does not follow it.
    """
    made = {}
    for t in group.tensors:
        ladder = (rungs[0],) if t.exact else rungs
        made[t.name] = rate[t.name].rates(t.scales, ladder, rungs[0], steps)
    return made


def setting(value: float | Mapping[str, float], name: str, default: float) -> float:
    """A setting that holds for all tensors or is given by name."""
    return value.get(name, default) if isinstance(value, Mapping) else value


def _check_names(method: Method, names: tuple[str, ...]) -> None:
    """Settings by name must name tensors that are trained."""
    for setting_name, value in (("k", method.k), ("lr", method.lr)):
        unknown = [] if not isinstance(value, Mapping) else sorted(set(value) - set(names))
        if unknown:
            raise ValueError(
                f"method: {setting_name} must name trained tensors ({', '.join(names)}), "
                f"got {unknown[0]!r}"
            )


def _trainable(session: Session, name: str, method: Method, exact: bool) -> Trainable:
    node = _user(session.graph, name)
    tensor = session.graph.tensor(name)
    k = int(setting(method.k, name, 1))
    between = FULL_RANGE if method.perturbation == "saturate" else rails(k)
    rule = UpdateRule(method.rule, between, min(round(method.momentum * 32768), 32767))
    weight_scale = _weight_scales(session.graph, node)
    channels = len(weight_scale)
    array = session.weights[name]
    if array.dtype == np.int8:
        inner = 1 if node.op == "depthwise_conv2d" else array.size // channels
        state = new_state(array, channels, inner, rule)
        return Trainable(name, node.name, tensor.stream, tuple(weight_scale), k, exact, rule, state)
    input_scale = _scale(session.graph, node.inputs[0])
    output_scale = _scale(session.graph, node.outputs[0])
    flat = array.reshape(-1)
    form, codes = bias_codes(flat, weight_scale * input_scale / output_scale, name)
    scales = tuple(weight_scale * input_scale * form.unit)
    state = new_state(codes, channels, 1, rule)
    return Trainable(name, node.name, tensor.stream, scales, k, exact, rule, state, form, flat)


def _user(graph: Graph, name: str) -> Node:
    """The node that reads the constant."""
    return next(n for n in graph.nodes if any(graph.tensors[i].name == name for i in n.inputs))


def _scale(graph: Graph, tensor: int) -> float:
    q = graph.tensors[tensor].quantization
    assert q is not None, graph.tensors[tensor].name
    return float(q.scale[0])


def _weight_scales(graph: Graph, node: Node) -> NDArray[np.float64]:
    """S_w (C,), repeated when the weights have one scale."""
    weights = graph.tensors[node.inputs[1]]
    assert weights.quantization is not None
    channels = weights.shape[3] if node.op == "depthwise_conv2d" else weights.shape[0]
    return np.broadcast_to(weights.quantization.scale.astype(np.float64), (channels,))
