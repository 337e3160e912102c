"""`npusim identify`, told nothing but a model and a dump, names the program that made the dump.

The dumps are of 20 random inputs, by TFLite Micro, by LiteRT in its three modes, and by npusim
under profiles that have no program here. What explains a dump holds the truth; after the input that
`suggest` makes, what is left is the truth and what is proven to be equal to it on every input.
Deep layers of a chain cannot be brought to every state, so of chains only the first is asked.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from oracles import litert, networks, tflm

import npusim
from npusim.diff.sides import Dump, Side
from npusim.formats import tflite
from npusim.identify import identify, suggest
from npusim.tensor_files import random_inputs

IMAGES = 20
MODES = {"litert-ref": "ref", "litert-x86": "x86", "xnnpack": "xnnpack"}
OWN = ("single-rounding", "neural-art")
DEVICES = ("tflm", *MODES, *OWN)
FANS, CHAINS = range(4), range(6)
LIGHT = {("xnnpack", 1)}


def images(graph):
    drawn = [random_inputs(graph, seed) for seed in range(IMAGES)]
    return {name: np.concatenate([d[name] for d in drawn]) for name in drawn[0]}


def traced(device, model, image):
    """Every activation of one image by its index in the file."""
    if device == "tflm":
        return tflm.trace(model, [image])
    return litert.trace(model, [image], MODES[device])


def dump(device, model, inputs):
    """What a device computes, and nothing of how."""
    graph = tflite.parse(model, "network")
    if device in OWN:
        tensors = dict(npusim.Session(replace(graph, profile=device)).trace(inputs))
    else:
        (x,) = inputs.values()
        batch = graph.tensors[graph.inputs[0]].shape[0]
        runs = [traced(device, model, x[k : k + batch]) for k in range(0, len(x), batch)]
        names = {t.stream: t.name for t in graph.tensors}
        tensors = {names[i]: np.concatenate([run[i] for run in runs]) for i in runs[0]}
    return Side("dump", "folder", tuple(Dump(name, "", x) for name, x in tensors.items()))


def cases():
    for device in DEVICES:
        for seed in FANS:
            marks = [] if (device, seed) in LIGHT else [pytest.mark.full]
            yield pytest.param(device, seed, marks=marks, id=f"{device}-{seed}")


@pytest.mark.parametrize(("device", "seed"), list(cases()))
def test_answer_holds_the_truth_and_is_unique_after_the_suggested_input(device, seed):
    network = networks.fan(seed)
    graph = tflite.parse(network.model, "network")
    report = identify(dump(device, network.model, images(graph)), graph)
    assert report.explained
    assert device in report.consistent, network.description

    suggestion = suggest(graph, report)
    if suggestion is not None:
        report = identify(dump(device, network.model, suggestion.inputs), graph)
    assert report.explained
    (unique,) = report.distinct
    assert device in unique, network.description


@pytest.mark.parametrize("device", ["tflm", *MODES])
@pytest.mark.parametrize(
    "seed", [s if s == 3 else pytest.param(s, marks=pytest.mark.full) for s in CHAINS]
)
def test_answer_about_a_chain_holds_the_truth(device, seed):
    network = networks.network(seed, biased=True)
    graph = tflite.parse(network.model, "network")
    report = identify(dump(device, network.model, images(graph)), graph)
    assert report.explained
    assert device in report.consistent, network.description
