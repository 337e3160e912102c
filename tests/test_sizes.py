"""House rules on size: what does not fit is two things."""

import ast
from pathlib import Path

CLONE = Path(__file__).resolve().parents[1]
FILE_LINES, BODY_LINES, LOOP_NEST_LINES, PARAMETERS = 400, 25, 60, 6

# the signature that the field knows from PyTorch's schedulers
SIGNATURES_OF_OTHERS = {"zo/schedule.py: QScheduler.__init__"}


def sources():
    for folder in ("npusim", "zo", "models", "benchmarks", "docs"):
        for path in sorted((CLONE / folder).rglob("*.py")):
            yield path.relative_to(CLONE).as_posix(), path.read_text("utf-8")


def functions(tree, prefix=""):
    """(qualified name, node) of every function and method."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            yield prefix + node.name, node
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield from functions(node, f"{prefix}{node.name}.")


def body_lines(function):
    """Lines from the first statement after the docstring to the last."""
    first = function.body[1 if ast.get_docstring(function) and len(function.body) > 1 else 0]
    return function.body[-1].end_lineno - first.lineno + 1


def parameters(function):
    """Parameters a caller may give."""
    listed = function.args
    names = [a.arg for a in (*listed.posonlyargs, *listed.args, *listed.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")])


def test_files_are_short():
    long = {name: text.count("\n") for name, text in sources() if text.count("\n") > FILE_LINES}
    assert long == {}


def test_functions_are_short():
    long = {
        f"{name}: {function}": body_lines(node)
        for name, text in sources()
        for function, node in functions(ast.parse(text))
        if body_lines(node) > (LOOP_NEST_LINES if "/kernels/" in name else BODY_LINES)
    }
    assert long == {}


def test_functions_take_few_parameters():
    """Kernels, and their NumPy twins, take arrays one by one."""
    many = {
        f"{name}: {function}": parameters(node)
        for name, text in sources()
        if "/kernels/" not in name
        for function, node in functions(ast.parse(text))
        if parameters(node) > PARAMETERS and "twin" not in map(ast.unparse, node.decorator_list)
    }
    assert many.keys() - SIGNATURES_OF_OTHERS == set()
