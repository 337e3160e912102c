"""Real numbers to uint8, which TFLite Micro does not have: equal to LiteRT's reference kernel."""

import numpy as np
from oracles import draws, litert, tflite_builder
from oracles.tflite_builder import Tensor

from fuzz.agreement import EXECUTORS, difference, open_session
from npusim.formats import tflite


def test_quantize_to_uint8_matches_litert() -> None:
    for seed in range(100):
        rng = np.random.default_rng(seed)
        scale = draws.float32(draws.simple(rng, draws.log_uniform(rng, 1e-3, 1)))
        zero_point = draws.zero_point(rng, np.uint8)
        halves = rng.integers(-600, 600, (4, 25)) / 2 * scale
        x = np.where(rng.random(halves.shape) < 0.5, halves, halves + rng.normal(0, scale))
        x = x.astype(np.float32)
        tensors = [
            Tensor("x", x.shape, np.float32),
            Tensor("y", x.shape, np.uint8, scale, zero_point),
        ]
        model = tflite_builder.model(tensors, [tflite_builder.quantize(0, 1)])
        (expected,) = litert.run(model, [x], "ref")
        graph = tflite.parse(model, "quantize")
        for executor in EXECUTORS:
            actual = open_session(graph, executor).run(x)
            assert isinstance(actual, np.ndarray)
            assert difference(actual, expected) is None, f"{executor}, seed {seed}"
