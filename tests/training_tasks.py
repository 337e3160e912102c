"""Small training tasks: a head of random features, and the shipped digit reader."""

import os
import signal
from typing import NamedTuple

import numpy as np

import zo
from npusim import Graph, Node, Quantization, Session, Tensor
from npusim.models import digits_cnn
from zo.data import Dataset, in_memory, load, to_input

CLASSES, FEATURES = 5, 24
FEATURE_SCALE, FEATURE_ZERO_POINT, LOGIT_SCALE = 0.03, -20, 0.05
WEIGHT_SCALES = (0.004, 0.002, 0.003, 0.005, 0.0025)
HEAD_STREAM, BIAS_STREAM = 3, 4


class Task(NamedTuple):
    """A graph that ends at its logits, and images as it takes them."""

    graph: Graph
    train: Dataset
    validation: Dataset


def head_graph(codes: np.ndarray, bias: np.ndarray) -> Graph:
    """x int8 (1, 1, 1, I) -> fully connected, int8 weights (C, I) -> logits."""
    zeros = np.zeros(CLASSES, np.int64)
    weight_scale = np.array(WEIGHT_SCALES, np.float32)
    affine = Quantization(np.array([FEATURE_SCALE]), np.array([FEATURE_ZERO_POINT]))
    tensors = (
        Tensor("x", (1, 1, 1, FEATURES), "int8", "input", affine, stream=0),
        Tensor("head", codes.shape, "int8", "constant", Quantization(weight_scale, zeros, 0),
               codes, HEAD_STREAM),
        Tensor("head/bias", bias.shape, "int32", "constant",
               Quantization(weight_scale * FEATURE_SCALE, zeros, 0), bias, BIAS_STREAM),
        Tensor("logits", (1, CLASSES), "int8", "activation",
               Quantization(np.array([LOGIT_SCALE]), np.array([0])), stream=5),
    )  # fmt: skip
    attributes = {"activation": "none", "keep_dims": False}
    node = Node("fully_connected", "fully_connected_0", (0, 1, 2), (3,), attributes)
    return Graph("head task", tensors, (node,), (0,), (3,))


def head_task(seed: int, rail: int | None = None, images: int = 48) -> Task:
    """Random features around one centre per class.

    rail   80 % of the head's codes are this or its negative; random codes within 40 if None
    """
    rng = np.random.default_rng(seed)
    codes = rng.integers(-40, 41, (CLASSES, FEATURES))
    if rail is not None:
        rails = rng.choice([-rail, rail], codes.shape)
        codes = np.where(rng.random(codes.shape) < 0.8, rails, codes)
    bias = rng.integers(-2000, 2000, CLASSES).astype(np.int32)
    centres = rng.integers(-60, 60, (CLASSES, FEATURES))

    def part(name: str) -> Dataset:
        labels = rng.integers(0, CLASSES, images)
        x = centres[labels] + rng.integers(-40, 41, (images, FEATURES))
        return in_memory(name, x.astype(np.int8)[:, None, None], labels, tuple("abcde"))

    return Task(head_graph(codes.astype(np.int8), bias), part("train"), part("validation"))


def digits_task(train: int = 160, validation: int = 100) -> Task:
    """The digit reader and the first images of its training set, inverted."""
    graph = digits_cnn()
    data = to_input(load("digits"), graph).map(np.invert)
    rows = np.arange(train + validation)
    return Task(graph, data.take(rows[:train]), data.take(rows[train:]))


def interrupt_after(steps: int) -> zo.Hooks:
    """Hooks that press Ctrl-C once so many steps are done."""

    def press(done: int, total: int) -> None:
        if done == steps:
            os.kill(os.getpid(), signal.SIGINT)

    return zo.Hooks(on_step=press)


def run_to_end(task, schedule, trainable=("head",), threads=1, **changes):
    """(Result, Session) of a run."""
    session = Session(task.graph, trainable=trainable, threads=threads)
    result = zo.train(session, task.train, task.validation, scheduler=schedule, **changes)
    return result, session
