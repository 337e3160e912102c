"""What LiteRT computes for float .tflite models, image by image."""

import numpy as np
from ai_edge_litert.interpreter import Interpreter


def litert_outputs(path, x):
    """float32 outputs for a batch x of a model with one input and one output."""
    interpreter = Interpreter(str(path), num_threads=1)
    interpreter.allocate_tensors()
    (source,), (result,) = interpreter.get_input_details(), interpreter.get_output_details()
    rows = []
    for image in x:
        interpreter.set_tensor(source["index"], image[np.newaxis])
        interpreter.invoke()
        rows.append(interpreter.get_tensor(result["index"]).copy())
    return np.concatenate(rows)
