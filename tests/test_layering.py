"""House rules that a program can check: who imports whom, and what kernels must not do."""

import ast
import re
from pathlib import Path

CLONE = Path(__file__).resolve().parents[1]
FOLDERS = {"npusim": CLONE / "npusim", "npusim.models": CLONE / "models", "zo": CLONE / "zo"}

# each module of npusim may import only what stands above it; a package's modules each other too
ORDER = [
    "jit",
    "plurals",
    "progress",
    "kernels.structs",
    "kernels.table",
    "kernels.arith",
    "kernels",
    "graph",
    "digest",
    "multiplier",
    "affine",
    "profiles",
    "delegation",
    "rules",
    "shapes",
    "fivefold",
    "requantization",
    "neural_art",
    "parameters",
    "neural_art.given",
    "neural_art.settle",
    "headroom",
    "channels",
    "lost",
    "cost",
    "operators",
    "check_nodes",
    "check",
    "resize",
    "reference",
    "codes",
    "formats",
    "floats",
    "calibrate",
    "head",
    "constants",
    "strides",
    "arena",
    "binding",
    "plan",
    "backend",
    "tally",
    "clamps",
    "engine",
    "explain_rule",
    "explain_add",
    "explain_softmax",
    "explain",
    "headroom_check",
    "images",
    "picture_files",
    "stl10",
    "origin",
    "ranking",
    "layer_error",
    "tensor_files",
    "describe",
    "columns",
    "describe_page",
    "sources",
    "progress_bar",
    "headroom_page",
    "layer_error_page",
    "__init__",
    "models",
    "c_syntax",
    "page",
    "golden",
    "diff",
    "identify",
    "export",
    "demo",
    "blob",
    "command_line",
    "commands",
    "golden_command",
    "export_command",
    "diff_command",
    "identify_command",
    "explain_command",
    "demo_command",
    "locate_command",
    "check_command",
    "multiplier_command",
    "quantize_command",
    "cli",
]

# real numbers in and out (quantize, dequantize), and the float warm-up of a new head
WITH_FLOATS = {
    "npusim.kernels.quantize",
    "npusim.kernels.float_arith",
    "npusim.kernels.xnnpack",
    "npusim.kernels.softmax_x86",
    "npusim.kernels.structs",
    "npusim.kernels.operands",
    "npusim.kernels.steps",
    "zo.kernels.warm_up",
    "zo.warm_up",
}
# modules of zo that are integer throughout, and not only in what kernels of the same name compute
INTEGER_MODULES = {
    "zo.adapt",
    "zo.estimate",
    "zo.evidence",
    "zo.fixed_point",
    "zo.moments",
    "zo.perturb",
    "zo.prng",
    "zo.recalibrate",
    "zo.sampled_head",
    "zo.sampling",
    "zo.step",
    "zo.update",
}
# what a training step and the end of an epoch run of modules that read real settings elsewhere
STEP_FUNCTIONS = {
    "zo.batch": ("Source.batch", "Source._prefix", "Source._outputs"),
    "zo.bias": ("write_bias", "rebase"),
    "zo.cost_aware": ("CostAware.observe", "CostAware.step", "cheapest"),
    "zo.declared": ("Declared.step", "Declared.q"),
    "zo.early_stopping": ("EarlyStopping.step",),
    "zo.evaluate": ("evaluate",),
    "zo.exact_head": ("head_error", "head_gradient", "doubled_scale"),
    "zo.gate": ("Gate.observe", "Gate.step"),
    "zo.ladder": ("next_rung",),
    "zo.loss": (
        "CrossEntropy.__call__", "CrossEntropy.each", "CrossEntropy.exp", "CrossEntropy.loss",
        "CrossEntropy.doubled", "SquaredError.__call__", "ErrorCount.__call__",
        "UserLoss.__call__", "check_labels", "ln_q16", "each",
    ),
    "zo.metric": ("Plateau.better",),
    "zo.rate": ("Rates.at",),
    "zo.run": ("Run.batches", "Run.draw", "Run.train_step", "Run._recalibrate"),
    "zo.schedule": ("QScheduler.step", "QScheduler._smooth", "QScheduler._raise_q"),
    "zo.trainable": ("Trainable.write",),
}  # fmt: skip
ALLOCATING = {f"np.{name}" for name in ("empty", "zeros", "ones", "full", "array", "arange")}


def modules():
    """Name -> syntax tree of every module of the project."""
    found = {}
    for package, folder in FOLDERS.items():
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            found[".".join((package, *parts))] = ast.parse(path.read_text("utf-8"))
    return found


MODULES = modules()


def imports(name, tree):
    """(line, module) of every import of the project's own modules, wherever it stands."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(node.lineno, resolve(alias.name)) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            package = name.rsplit(".", node.level)[0] if node.level else ""
            base = ".".join(filter(None, (package, node.module)))
            found += [(node.lineno, resolve(f"{base}.{alias.name}")) for alias in node.names]
    return [(line, module) for line, module in found if module]


def resolve(dotted):
    """The project's module that an imported name lives in; None for anything foreign."""
    while dotted:
        for candidate in (dotted, f"{dotted}.__init__"):
            if candidate in MODULES:
                return candidate
        dotted = dotted.rpartition(".")[0]
    return None


def position(module):
    """Place of a module of npusim in ORDER, by the longest entry that covers it."""
    inner = module.removeprefix("npusim.").removesuffix(".__init__")
    while inner:
        if inner in ORDER:
            return ORDER.index(inner)
        inner = inner.rpartition(".")[0]
    raise LookupError(f"{module}: must stand in ORDER of {Path(__file__).name}")


NPUSIM = [name for name in MODULES if name.startswith("npusim.")]
ZO = [name for name in MODULES if name.startswith("zo.")]
KERNELS = [name for name in NPUSIM if name.startswith("npusim.kernels.")]


def test_modules_import_only_what_stands_before_them():
    offences = [
        f"{name}:{line} imports {target}"
        for name in NPUSIM
        for line, target in imports(name, MODULES[name])
        if target.startswith("zo.") or not may_import(name, target)
    ]
    assert offences == []


def may_import(name, target):
    inside = ORDER[position(name)] == ORDER[position(target)]
    return inside or position(target) < position(name)


def test_order_names_only_modules_that_exist():
    assert {ORDER[position(name)] for name in NPUSIM} == set(ORDER)


def test_imports_have_no_cycle():
    edges = {name: {t for _, t in imports(name, tree)} - {name} for name, tree in MODULES.items()}
    while free := {name for name, targets in edges.items() if not targets}:
        edges = {n: targets - free for n, targets in edges.items() if n not in free}
    assert edges == {}


def test_zo_uses_public_names_of_npusim():
    offences = [
        f"{name}:{node.lineno} imports {node.module}.{alias.name}"
        for name in ZO
        for node in ast.walk(MODULES[name])
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("npusim")
        for alias in node.names
        if re.search(r"\._(?!_)", f".{node.module}.{alias.name}")
    ]
    assert offences == []


def test_kernels_never_raise_allocate_or_print():
    offences = [
        f"{name}:{node.lineno} {ast.unparse(node)}"
        for name in KERNELS
        for node in ast.walk(MODULES[name])
        if isinstance(node, ast.Raise | ast.Try | ast.Assert)
        or (isinstance(node, ast.Call) and ast.unparse(node.func) in {"print", *ALLOCATING})
    ]
    assert offences == []


def test_integer_code_has_no_float():
    kernels = {
        name: [tree]
        for name, tree in MODULES.items()
        if ".kernels." in name or name in INTEGER_MODULES
    }
    specifications = {name: twins(MODULES[name]) for name in ZO}
    offences = [
        f"{name}:{line} {what}"
        for name, trees in {**specifications, **kernels}.items()
        if name not in WITH_FLOATS
        for tree in trees
        for line, what in floats(tree)
    ]
    assert offences == []


def test_a_training_step_has_no_float():
    offences = [
        f"{name}:{line} {what}"
        for name, wanted in STEP_FUNCTIONS.items()
        for function in wanted
        for line, what in floats(definition(MODULES[name], function))
    ]
    assert offences == []


def definition(tree, dotted):
    """The syntax tree of a function, or of a method `Class.method`."""
    for part in dotted.split("."):
        named = (ast.FunctionDef, ast.ClassDef)
        tree = next(n for n in tree.body if isinstance(n, named) and n.name == part)
    return tree


def test_integer_training_does_not_know_its_float_reference():
    assert importers("zo.float_reference") == {"zo.__init__", "zo.reproduce.execute"}
    assert all(name.startswith("zo.commands.") for name in importers("zo.reproduce"))


def importers(package):
    """The modules of zo outside a package that import something of it."""
    return {
        name
        for name in ZO
        for _, target in imports(name, MODULES[name])
        if target.startswith(package) and not name.startswith(package)
    }


def twins(tree):
    """The functions that specify, in NumPy, what a compiled kernel of zo computes."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return [f for f in functions if "twin" in map(ast.unparse, f.decorator_list)]


def floats(tree):
    """(line, what) of float literals, true divisions and float types."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, float):
            yield node.lineno, f"holds {node.value}"
        elif isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Div):
            yield node.lineno, "divides with /"
        elif isinstance(node, ast.Attribute) and node.attr.startswith("float"):
            yield node.lineno, f"names {node.attr}"
        elif isinstance(node, ast.Name) and node.id == "float":
            yield node.lineno, "names float"
