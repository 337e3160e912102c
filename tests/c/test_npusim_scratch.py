"""What a plan sets aside for a node is enough for its kernel in C."""

import pytest
from graphs import Draft

from c.npu_cases.weighted import POSITIONS
from npusim import parameters
from npusim.kernels import table
from npusim.plan import build_plan


def draft(inputs, outputs, kernel, width):
    """One convolution of a map 5 high."""
    made = Draft(seed=inputs)
    x = made.input((1, 5, width, inputs))
    return made.graph(made.conv2d(x, outputs, kernel=kernel))


def test_c_sums_as_many_positions_as_the_tests_know(npusim_code):
    assert npusim_code.declarations.enums["NPU_POSITIONS"] == POSITIONS


@pytest.mark.parametrize("width", [1, 2, 9])
@pytest.mark.parametrize("kernel", [(1, 1), (3, 3)])
@pytest.mark.parametrize(("inputs", "outputs"), [(1, 1), (3, 7), (64, 2)])
def test_a_plan_holds_the_scratch_of_conv2d(inputs, outputs, kernel, width):
    graph = draft(inputs, outputs, kernel, width)
    plan = build_plan(graph)
    g = parameters.bind(graph, graph.nodes[0])[0]

    assert planned(plan, table.SCRATCH) >= POSITIONS * g.kh * g.kw * inputs
    assert planned(plan, table.SUMS) >= 4 * (1 + POSITIONS) * outputs


@pytest.mark.parametrize("width", [1, 2, 9])
def test_a_plan_holds_the_scratch_of_depthwise_conv2d(width):
    made = Draft()
    x = made.input((1, 5, width, 6))
    graph = made.graph(made.depthwise_conv2d(x))

    assert planned(build_plan(graph), table.SUMS) >= 4 * (1 + POSITIONS) * 6


def planned(plan, slot):
    """Bytes of an operand of the first node."""
    return int(plan.table[0, table.OPERANDS + slot * table.OPERAND_COLUMNS + 2])
