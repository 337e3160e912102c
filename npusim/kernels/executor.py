"""The compiled executor: walks an operation table for a slice of images, without the GIL.

Nothing is specialised per model: one compiled function serves every graph.
"""

from ..jit import jit
from . import table
from .neural_art_steps import neural_art_step
from .operands import copy
from .steps import data_step, elementwise_step, reduction_step, weighted_step


@jit
def execute(rows, arena, constants, loads, source, stores, sink, fault):
    """Run the operations once per image.

    rows        int64 (nodes, WIDTH), the part of the table to run
    arena       int8, this thread's memory
    constants   int8
    loads       int64 (n, 3): column of source, arena offset, bytes; copied in before the first node
    source      int8 (images, ..)
    stores      int64 (n, 3): column of sink, arena offset, bytes; copied out after the last node
    sink        int8 (images, ..), written
    fault       int64 (4,): image, node, output index, sum of the first overflow; image -1 if none
    """
    for image in range(source.shape[0]):
        for i in range(loads.shape[0]):
            copy(source[image], loads[i, 0], arena, loads[i, 1], loads[i, 2])
        for k in range(rows.shape[0]):
            step(rows[k], arena, constants, fault[2:])
            if fault[2] >= 0:
                fault[0] = image
                fault[1] = rows[k, table.NODE]
                return
        for i in range(stores.shape[0]):
            copy(arena, stores[i, 1], sink[image], stores[i, 0], stores[i, 2])


@jit
def step(row, arena, constants, fault):
    """Execute one row of the table."""
    operation = row[table.OPERATION]
    if operation <= table.FULLY_CONNECTED_ORDERED:
        weighted_step(row, arena, constants, fault)
    elif operation <= table.ADD_XNNPACK:
        elementwise_step(row, arena, constants)
    elif operation <= table.SOFTMAX_X86:
        reduction_step(row, arena, constants)
    elif operation <= table.RESCALE_XNNPACK:
        data_step(row, arena, constants)
    else:
        neural_art_step(row, arena, constants)
