"""`npusim explain`: one element of a run, step by step."""

import argparse
import json

from .command_line import DONE, JSON, MODEL, PIXELS, SOURCES, Command, load_model
from .commands import check_source, model_inputs
from .explain import Explanation, explain
from .explain_rule import Step

MANUAL = """\
Show how one element of a convolution or fully connected layer comes about:
bias, sum of products, accumulator, multiplier and shift, each rounding of the
rule that the profile has for it, and its code; then what other rules make of
the same sum. docs/arithmetic.md has every rule by hand.

The element is named by its node and its coordinates in the node's output, the
image first: conv2d_0 0 3 4 7 is row 3, column 4, channel 7 of image 0.
"""

EXAMPLES = """\
examples:
  npusim explain model.tflite --input x.npy --element conv2d_0 0 3 4 7
  npusim explain model.tflite --random 1 --element fully_connected_0 0 8 \\
                              --profile xnnpack
  npusim explain model.tflite --random 1 --element conv2d_0 0 3 4 7 --json

"""


def run(arguments: argparse.Namespace) -> int:
    """`npusim explain`"""
    check_source(arguments)
    node, *coordinates = arguments.element
    if not all(text.isascii() and text.isdigit() for text in coordinates):
        raise ValueError("--element: must be a node and whole numbers, got "
                         f"{' '.join(arguments.element)}")  # fmt: skip
    graph = load_model(arguments.model, arguments)
    element = [int(text) for text in coordinates]
    explanation = explain(graph, model_inputs(graph, arguments), node, element)
    if arguments.json:
        print(json.dumps(explanation.as_dict(), indent=1))
    else:
        _print(explanation)
    return DONE


COMMAND = Command(
    "explain",
    "show how one element of a layer comes about, step by step",
    MANUAL,
    EXAMPLES,
    "not used",
    {
        "": {
            "model": MODEL,
            **SOURCES,
            **PIXELS,
            "--element": {"nargs": "+", "required": True, "metavar": ("NODE", "N"),
                          "help": "the node, and its output's coordinates"},
            "--json": JSON,
        }
    },
    run,
)  # fmt: skip


def _print(e: Explanation) -> None:
    a = e.accumulator
    sums = "exact sums" if a is None else f"accumulator {a.bits} bits, {a.overflow}"
    print(f"{e.node}/{e.op}: element {e.element} of {e.tensor}")
    profile, rule = (text + " of its own" * (e.own == what) for what, text in
                     (("profile", e.profile), ("rule", e.rule)))  # fmt: skip
    print(f"profile {profile}, rule {rule}, {sums}\n")
    names, values = [s.name for s in e.steps], [_shown(s) for s in e.steps]
    first, second = max(map(len, names)), max(map(len, values))
    for step, value in zip(e.steps, values, strict=True):
        print(f"{step.name:<{first}}  {value:>{second}}  {step.how}")
    if e.others:
        print(f"\n{_others(e)}")


def _others(e: Explanation) -> str:
    """The rules that make another code of the same sum."""
    codes = [f"{rule} {code}" for rule, code in e.others.items() if code != e.code]
    if not codes:
        return "every other rule makes the same code of this sum"
    return f"other codes of this sum: {', '.join(codes)}"


def _shown(step: Step) -> str:
    return f"{step.value:.12g}" if isinstance(step.value, float) else str(step.value)
