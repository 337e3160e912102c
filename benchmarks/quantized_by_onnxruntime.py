"""The rival of quantized_features.py: quantize_static of onnxruntime, and its features."""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnxruntime import quantization
from onnxruntime.quantization.shape_inference import quant_pre_process

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from floats.onnx_twin import to_nchw, to_onnx

CALIBRATION = 256
BATCH = 32
HELD = 100
"""Images whose tensors it holds at once. It fails on an empty rest: no divisor of CALIBRATION."""


class _Images(quantization.CalibrationDataReader):
    """One image after the other, as the input that the model names."""

    def __init__(self, name: str, images: np.ndarray) -> None:
        self._feeds: Iterator[dict[str, np.ndarray]] = (
            {name: to_nchw(images[i : i + 1])} for i in range(len(images))
        )

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self._feeds, None)


def rival_features(graph: Any, images: Sequence[np.ndarray], method: str) -> list[np.ndarray]:
    """float64 (N, C) of every array of images.

    graph    float, batch norms folded
    images   calibrated on the first 256 of the first array
    method   of calibration: MinMax, Percentile or Entropy
    """
    (output,) = (graph.tensors[i].name for i in graph.outputs)
    with tempfile.TemporaryDirectory() as folder:
        plain, prepared, int8 = (f"{folder}/{n}.onnx" for n in ("plain", "prepared", "int8"))
        onnx.save(to_onnx(graph, [output]), plain)
        quant_pre_process(plain, prepared, skip_symbolic_shape=True)
        name = graph.tensors[graph.inputs[0]].name
        quantization.quantize_static(
            prepared,
            int8,
            _Images(name, images[0][:CALIBRATION]),
            quant_format=quantization.QuantFormat.QDQ,
            per_channel=True,
            activation_type=quantization.QuantType.QInt8,
            weight_type=quantization.QuantType.QInt8,
            calibrate_method=getattr(quantization.CalibrationMethod, method),
            extra_options={"CalibMaxIntermediateOutputs": HELD},
        )
        session = onnxruntime.InferenceSession(int8, providers=["CPUExecutionProvider"])
        return [_features(session, name, x) for x in images]


def _features(session: onnxruntime.InferenceSession, name: str, images: np.ndarray) -> np.ndarray:
    parts = [
        session.run(None, {name: to_nchw(images[i : i + BATCH])})[0]
        for i in range(0, len(images), BATCH)
    ]
    return np.concatenate(parts).astype(np.float64)
