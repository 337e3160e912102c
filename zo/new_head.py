"""A new classifier on an int8 graph: float warm-up, then int8 with head-room.

    S_w[c] = 8*max|w_c| / 126          room for three doublings of the weights
    s_y    = k * mean(S_w) * rms(||x||) / delta,   delta = 1

delta is the change of a logit, in output codes, by one perturbation of k steps: about one keeps
loss differences above the rounding noise, and logits at their rails are harmless until about half
of them are. Letters: O classes, I features.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from npusim import Graph, ModelError, Session
from npusim.calibrate.scales import channel_scales
from npusim.head import Head, replace_head, until_features, with_head

from .data import Dataset, Progress
from .features import frozen_rows
from .perturb import rails
from .warm_up import DEFAULT, Features, FloatHead, WarmUp, mean_square_norm, warm_up

HEADROOM = 8.0
CALIBRATION_BATCHES = 25
INT32_MAX = 2**31 - 1


class Reading(NamedTuple):
    """How features are computed: on how many threads, kept in which folder, reported to whom."""

    threads: int | None = None
    folder: Path | None = None
    progress: Progress | None = None


class HeadOptions(NamedTuple):
    """How a head is made.

    seed     of its first weights and of the order of images
    warm_up  when the float stage stops
    k        perturbation in weight steps, which the logit scale is made for
    delta    change of a logit by one perturbation, in output codes
    """

    seed: int = 0
    warm_up: WarmUp = DEFAULT
    k: int = 1
    delta: float = 1.0


READ = Reading()
HEAD = HeadOptions()


def attach_head(
    graph: Graph,
    train: Dataset,
    validation: Dataset,
    options: HeadOptions = HEAD,
    reading: Reading = READ,
) -> tuple[Graph, FloatHead]:
    """Put a new classifier for the classes of `train` on the graph, warmed up and int8.

    graph               with a classifier, which is replaced, or one that ends at its features
    train, validation   images as the graph takes them, see `data.to_input`
    returns             the graph that ends at the new head's int8 logits, and the float head
    raises              ModelError when the graph is neither or its features are not int8
    """
    graph = with_head(graph, len(train.classes))
    body = until_features(graph)
    learned, held_out = (_features(body, part, reading) for part in (train, validation))
    float_head = warm_up(learned, held_out, len(train.classes), options.seed, options.warm_up)
    count = CALIBRATION_BATCHES * options.warm_up.batch
    seen = learned._replace(codes=learned.codes[:count], labels=learned.labels[:count])
    head = quantize_head(float_head, seen, options.k, options.delta)
    return replace_head(graph, head), float_head


def quantize_head(
    head: FloatHead,
    features: Features,
    k: int = 1,
    delta: float = 1.0,
    headroom: float = HEADROOM,
) -> Head:
    """Per-channel int8 weights with head-room, and the logit scale by the delta rule.

    features   of the calibration images
    k          perturbation in weight steps; codes are clipped to its rails
    delta      change of a logit by one perturbation, in output codes
    headroom   the codes of a channel reach so many times its largest weight
    """
    weight_scale = channel_scales(head.weights, 0, headroom)
    real = weight_scale.astype(np.float64)
    codes = np.clip(np.rint(head.weights / real[:, None]), *rails(k)).astype(np.int8)
    bias = np.clip(np.rint(head.bias / (real * features.scale)), -INT32_MAX, INT32_MAX)
    norm = np.sqrt(mean_square_norm(features))
    return Head(codes, weight_scale, bias.astype(np.int32), k * _mean(real) * float(norm) / delta)


def _mean(values: np.ndarray) -> float:
    """The mean, summed from the first value on: the same bits everywhere."""
    return sum(values.tolist()) / len(values)


def _features(body: Graph, dataset: Dataset, reading: Reading) -> Features:
    """What the head reads of each image."""
    tensor = body.tensors[body.outputs[0]]
    if tensor.dtype != "int8" or tensor.quantization is None:
        raise ModelError(f"{body.name}: the head must read int8 features, got {tensor.dtype}")
    session = Session(body, threads=reading.threads)
    rows = frozen_rows(session, dataset, reading.folder, reading.progress).rows
    q = tensor.quantization
    return Features(rows, float(q.scale[0]), int(q.zero_point[0]), dataset.labels)
