"""The program that `oracles.tosa` runs in an environment of its own.

    python tosa_program.py operation.npz output.npy

Prints the status that TOSA's reference model gives the graph.
"""

import sys

import numpy as np
import tosa_reference_model
import tosa_serializer as tosa

PER_CHANNEL = True
UNSIGNED = (False, False)  # input, output


def graph(operation) -> bytes:
    """The graph of one RESCALE; accumulators are a constant, as inputs cannot have 48 bits."""
    wide = operation["acc"].dtype == np.int64
    x_type = tosa.DType.INT48 if wide else tosa.DType.INT32
    y_dtype = str(operation["dtype"])
    y_type = getattr(tosa.DType, y_dtype.upper())
    m_type = tosa.DType.INT16 if wide else tosa.DType.INT32
    channels = len(operation["shift"])
    builder = tosa.TosaSerializer("")
    operands = [
        builder.addConst(list(operation["acc"].shape), x_type, operation["acc"]),
        builder.addConst([channels], m_type, operation["multiplier"]),
        builder.addConst([channels], tosa.DType.INT8, operation["shift"]),
        builder.addConst([1], x_type, np.zeros(1, operation["acc"].dtype)),
        builder.addConst([1], y_type, operation["zero_point"].reshape(1).astype(y_dtype)),
    ]
    y = builder.addOutput(list(operation["acc"].shape), y_type)
    rounding = getattr(tosa.RoundingMode, str(operation["rounding"]))
    attribute = tosa.TosaSerializerAttribute()
    attribute.RescaleAttribute(not wide, rounding, PER_CHANNEL, *UNSIGNED)
    builder.addOperator(tosa.Op.RESCALE, [t.name for t in operands], [y.name], attribute)
    return builder.serialize()


def main(source: str, target: str) -> None:
    with np.load(source) as operation:
        (y,), status = tosa_reference_model.run(graph(operation), [])
    print(status.name)
    np.save(target, y)


main(*sys.argv[1:])
