"""Random networks: every activation of every layer equals TFLite Micro's, on any thread count."""

import pytest
from oracles import networks, tflm

from fuzz.agreement import EXECUTORS, difference, named_inputs, open_session
from npusim.formats import tflite

TENTH = range(50)
REST = range(50, 500)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize(
    "seeds", [TENTH, pytest.param(REST, marks=pytest.mark.full)], ids=["tenth", "rest"]
)
def test_network_matches_tflm(executor: str, seeds: range) -> None:
    found: list[str] = []
    for network in (networks.network(seed) for seed in seeds):
        expected = tflm.trace(network.model, [network.x])
        graph = tflite.parse(network.model, "network")
        session = open_session(graph, executor, threads=1 + network.seed % 2)
        names = {tensor.name: tensor.stream for tensor in graph.tensors}
        inputs = named_inputs(graph, [network.x])
        traced = dict(session.trace(inputs))
        assert sorted(names[name] for name in traced) == sorted(expected)
        y = session.run(inputs)
        outputs = y if isinstance(y, dict) else {graph.tensors[graph.outputs[0]].name: y}
        for name, actual in (*traced.items(), *outputs.items()):
            fault = difference(actual, expected[names[name]])
            if fault:
                found.append(f"{name}: {fault}; {network.description}")
    assert not found, "\n".join(found)
