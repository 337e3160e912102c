"""Every operator as a model of one node: the exported C computes what a session computes."""

from dataclasses import replace

import pytest
from c.toolchain import TARGETS, Target
from c_projects import check_together
from fuzz.agreement import named_inputs, parsed
from oracles import cases

from npusim import Accumulator
from npusim.export import export_c

PROGRAMS = [
    Target("gcc", "gcc", (), "program"),
    *(target for target in TARGETS if target.kind != "library"),
]
FEW = {"gcc": [], "m55-mve": [], "clang-sanitized": pytest.mark.builds}
ARITHMETIC = (
    ("tflm", None),
    ("tflm", Accumulator(18, "saturate")),
    ("single-rounding", Accumulator(14, "wrap")),
    ("neural-art", None),
)
"""Profiles and accumulators, taken in turn."""


def exported(op, seed):
    """One case as a C project, with its inputs and the session's outputs as self-test."""
    case = cases.case(op, seed)
    profile, accumulator = ARITHMETIC[seed % len(ARITHMETIC)]
    graph = replace(parsed(case.model, op, profile), accumulator=accumulator)
    return export_c(graph, f"{op}_{seed}", named_inputs(graph, case.inputs))


@pytest.mark.parametrize(
    ("target", "seeds"),
    [
        pytest.param(target, seeds, marks=marks, id=f"{target.name}-{word}")
        for target in PROGRAMS
        for word, seeds, marks in (
            ("few", range(4), FEW.get(target.name, pytest.mark.full)),
            ("rest", range(4, 60), pytest.mark.full),
        )
    ],
)
def test_operators_match_session(target, seeds, tmp_path):
    projects = [exported(op, seed) for op in cases.OPERATORS for seed in seeds]
    check_together(projects, target, tmp_path)
