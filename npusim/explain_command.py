"""`npusim explain`: one element of a run, step by step."""

import argparse
import json
import sys
import textwrap
from shutil import get_terminal_size

from .command_line import DONE, JSON, MODEL, PIXELS, SOURCES, Command, load_model
from .commands import check_source, model_inputs
from .describe_page import TIE
from .explain import Explanation, explain
from .explain_rule import Step
from .headroom import WEIGHTED

PAGE_WIDTH, NARROWEST, GAP = 80, 30, 2

MANUAL = """\
Show how one element of a convolution, fully connected layer, add or softmax
comes about: bias, sum of products and accumulator, or operands, or exponential
and sum of a row; multiplier and shift, each rounding of the rule that the
profile has for it, and its code; then what other rules make of the same.
docs/arithmetic.md has every rule by hand.

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
    names, values = [s.name for s in e.steps], [_shown(s) for s in e.steps]
    first, second = max(map(len, names)), max(map(len, values))
    indent = " " * (first + second + 2 * GAP)
    _print_wrapped(f"{e.node}/{e.op}: element {e.element} of {e.tensor}", "  ")
    _print_wrapped(_arithmetic(e), "  ")
    print()
    for step, value in zip(e.steps, values, strict=True):
        _print_wrapped(f"{step.name:<{first}}  {value:>{second}}  {step.how}", indent)
    if e.others:
        print()
        _print_wrapped(_others(e), "  ")


def _print_wrapped(line: str, indent: str) -> None:
    """A line as wide as the terminal, or as a page of text where there is none."""
    width = get_terminal_size().columns if sys.stdout.isatty() else PAGE_WIDTH
    text = textwrap.fill(
        line,
        max(width, len(indent) + NARROWEST),
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    print(text.replace(TIE, " "))


def _arithmetic(e: Explanation) -> str:
    """ "profile tflm, rule double_rounding, accumulator 32 bits, wrap" """
    profile, rule = (text + " of its own" * (e.own == what) for what, text in
                     (("profile", e.profile), ("rule", e.rule)))  # fmt: skip
    known = f"profile {profile}, rule {rule}"
    if e.op not in WEIGHTED:
        return known
    a = e.accumulator
    return f"{known}, {'exact sums' if a is None else f'accumulator {a.bits} bits, {a.overflow}'}"


def _others(e: Explanation) -> str:
    """The rules that make another code of the same sum."""
    what = {"add": "of these operands", "softmax": "of this row"}.get(e.op, "of this sum")
    codes = [f"{rule}{TIE}{code}" for rule, code in e.others.items() if code != e.code]
    if not codes:
        return f"every other rule makes the same code {what}"
    return f"other codes {what}: {', '.join(codes)}"


def _shown(step: Step) -> str:
    return f"{step.value:.12g}" if isinstance(step.value, float) else str(step.value)
