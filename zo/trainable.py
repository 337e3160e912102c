"""Tensors under training: what a session's arrays are to the step.

Weights are int8 codes in place. A bias is int8 codes in units of its own (see `bias`), written back
after every change.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from npusim import Graph, Node, Session

from .bias import BiasCodes, bias_codes, write_bias
from .classifier import Classifier
from .exact_head import head_scale
from .fixed_point import Ratio
from .options import Method, name_of
from .perturb import FULL_RANGE, clip_to_rails, rails
from .update import State, UpdateRule, new_state


@dataclass(frozen=True, eq=False)
class Trainable:
    """One tensor under training.

    name          of the tensor, canonical
    node          of the layer
    stream        number of its random stream
    scales        real value of one code per channel (C,) when training starts
    k             perturbation in codes
    rule          how it is updated
    state         codes and what is kept beside them, changed in place
    form          base and unit of a bias, None for weights
    array         the session's int32 bias that `form` and codes are written to, None for weights
    exact_scale   `exact_head.head_scale` of its gradient, None where zeroth order trains it
    """

    name: str
    node: str
    stream: int
    scales: tuple[float, ...]
    k: int
    rule: UpdateRule
    state: State
    form: BiasCodes | None = None
    array: NDArray[np.int32] | None = None
    exact_scale: Ratio | None = None

    @property
    def exact(self) -> bool:
        """Whether the head's exact gradient trains it."""
        return self.exact_scale is not None

    def write(self) -> None:
        """Bring the codes into effect; weights are in effect at once."""
        if self.form is not None and self.array is not None:
            write_bias(self.array, self.form, self.state.codes)


class Group(NamedTuple):
    """Everything one run trains, in the session's order."""

    tensors: tuple[Trainable, ...]

    @property
    def perturbed(self) -> tuple[Trainable, ...]:
        """Those trained by zeroth order."""
        return tuple(t for t in self.tensors if not t.exact)

    @property
    def exact(self) -> tuple[Trainable, ...]:
        """Those trained by the head's exact gradient."""
        return tuple(t for t in self.tensors if t.exact)


def make_group(
    session: Session, method: Method, classifier: Classifier | None, batch: int
) -> Group:
    """The session's trainable tensors in the form that training needs; changes nothing yet.

    classifier   the graph's head, or None when it has none
    batch        images per step, which exact gradients are divided by
    raises       ValueError when nothing is trainable, a tensor has two readers, or exact_head finds
                 no head to train
    """
    head = () if classifier is None else classifier.constants
    check_names(method, session.trainable, head)
    tensors = []
    for name in session.trainable:
        made = _trainable(session, name, method)
        if method.exact_head and classifier is not None and name in head:
            input_scale = classifier.feature_scale if made.form is None else 1.0
            made = replace(made, exact_scale=head_scale(input_scale, made.scales, batch))
        tensors.append(made)
    return Group(tuple(tensors))


def clip_codes(group: Group) -> dict[str, int]:
    """Clamp codes to their rails, in place; how many moved, by the names of tensors that had any.

    Where perturbations saturate, every code lies between the rails.
    """
    moved = {t.name: clip_to_rails(t.state.codes, t.rule.rails) for t in group.tensors}
    return {name: count for name, count in moved.items() if count}


def check_names(method: Method, names: tuple[str, ...], head: tuple[str, ...]) -> None:
    """Something is trained, the head if its gradient is to be, and settings by name name it.

    names    canonical, of what is trained
    head     of the head's weights and bias
    raises   ValueError if not
    """
    if not names:
        raise ValueError(
            "train: the session must have trainable tensors, got none; "
            'build it with Session(graph, trainable=["head"])'
        )
    if method.exact_head and not set(head) & set(names):
        raise ValueError(
            f"train: exact_head needs the head's weights or bias among the trainable, "
            f"got {', '.join(names)}"
        )
    for setting, value in (("k", method.k), ("lr", method.lr)):
        unknown = sorted(set(value) - set(names)) if isinstance(value, Mapping) else []
        if unknown:
            raise ValueError(
                f"method: {setting} must name trained tensors ({', '.join(names)}), "
                f"got {unknown[0]!r}"
            )


def _trainable(session: Session, name: str, method: Method) -> Trainable:
    node = _user(session.graph, name)
    tensor = session.graph.tensor(name)
    k, rule = method.k_of(name), _rule(method, name)
    weight_scale = _weight_scales(session.graph, node)
    channels = len(weight_scale)
    array = session.weights[name]
    if array.dtype == np.int8:
        inner = 1 if node.op == "depthwise_conv2d" else array.size // channels
        state = new_state(array, channels, inner, rule)
        return Trainable(name, node.name, tensor.stream, tuple(weight_scale), k, rule, state)
    input_scale = _scale(session.graph, node.inputs[0])
    output_scale = _scale(session.graph, node.outputs[0])
    flat = array.reshape(-1)
    form, codes = bias_codes(flat, weight_scale * input_scale / output_scale, name)
    scales = tuple(weight_scale * input_scale * form.unit)
    state = new_state(codes, channels, 1, rule)
    return Trainable(name, node.name, tensor.stream, scales, k, rule, state, form, flat)


def _rule(method: Method, name: str) -> UpdateRule:
    """The method's rule in integers: momentum in Q15, threshold in 2^-16 code."""
    between = FULL_RANGE if method.perturbation == "saturate" else rails(method.k_of(name))
    beta = min(round(method.momentum * 32768), 32767)
    threshold = round(method.threshold * 65536)
    if isinstance(method.rule, str):
        return UpdateRule(method.rule, between, beta, threshold)
    return UpdateRule(name_of(method.rule), between, beta, threshold, method.rule)


def _user(graph: Graph, name: str) -> Node:
    """The node that reads the constant; ValueError where two do, whose scales would part."""
    users = [n for n in graph.nodes if any(graph.tensors[i].name == name for i in n.inputs)]
    if len(users) > 1:
        raise ValueError(
            f"train: {name} must be read by one node, got {', '.join(n.name for n in users)}"
        )
    return users[0]


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
