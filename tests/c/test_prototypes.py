"""The C headers of zo say what the Python signatures say: names, order, types, fields, numbers."""

import inspect
import re
import typing
from importlib import import_module

import numpy as np
import pytest

import zo
from c.headers import read_headers
from zo import estimate, evidence, metric, options, prng, rate, update
from zo.export import settings

HEADERS = [path for path in zo.c_sources() if path.suffix == ".h" and "_mve" not in path.stem]
DECLARED = read_headers(HEADERS)
# sampling.h holds the tensors under training too, run.h what a run tells
MODULES = {
    "sampling": ("sampling", "trainable"),
    "run": ("run", "history", "options"),
    "status": (),
    "wide": (),
}

# functions with no namesake: Python slices arrays, has // and min and max and wide integers, keeps
# prefixes when they are first asked for, and makes a session and a run of what its loop is given
C_ONLY = {
    "zo_outer_product_part", "zo_update_part", "zo_clamp", "zo_floor_divide", "zo_source_keep",
    "zo_train", "zo_train_epoch", "zo_product_exceeds", "zo_sign_words",
    "zo_wide_set", "zo_wide_add", "zo_wide_subtract", "zo_wide_multiply", "zo_wide_exceeds",
}  # fmt: skip
# NumPy functions with no namesake: inside zo_shuffle, and for the matrix of signs of a laptop
PYTHON_ONLY = {"swap_down", "fill_sign_bits"}
# text for messages, and what only watches
PYTHON_PARAMETERS = {"where", "progress", "seconds"}
# C is narrower where the range allows it
NARROWER = {
    "labels": "int32_t", "targets": "int32_t", "counts": "int32_t", "crowded": "int32_t",
    "order": "int32_t", "rows": "int32_t",
}  # fmt: skip
# fields of one side alone: tables and memory C must be given, names and scales only Python needs
FIELDS = {
    "zo_cross_entropy": {"log"},
    "zo_update_rule": {"function"},
    "zo_rates": {"rungs", "cosine"},
    "zo_trainable": {"rates", "original", "name", "node", "scales"},
    "zo_batch": {"context", "features"},
    "zo_step": {
        "tensors", "estimator", "perturbation", "user_loss", "feature_zero_point", "losses", "c",
        "error", "multiplier", "right_shift",
        "session", "group", "rates", "method", "classifier", "head_alone",
    },
    "zo_early_stopping": {"best", "stagnant", "q"},
    "zo_source": {
        "network", "images", "labels", "kept", "memory", "rows",
        "session", "dataset", "classifier", "reuse",
    },
    "zo_epoch": {
        "found",
        "correct", "total", "loss", "images", "cost", "seconds", "events",
    },
    "zo_hooks": {"context"},
    "zo_run": {
        "scaled", "logit_shift", "declared", "gate", "cost_aware", "hooks", "seed", "epochs",
        "batch", "order",
        "options", "work", "moved", "cost", "history",
    },
}  # fmt: skip
# not a class with these fields in Python: a fraction, counts, callables, memory, a protocol, and
# classes with private fields
PLAIN = {"zo_fraction", "zo_metric", "zo_loss_now", "zo_user_loss", "zo_q_scheduler", "zo_declared",
         "zo_gate", "zo_cost_aware", "zo_watcher", "zo_network", "zo_batch_memory",
         "zo_scaled"}  # fmt: skip
# C has one of those that a protocol of Python admits
IMPLEMENTATION = {"zo_loss": "zo_cross_entropy"}


def modules_of(header):
    stem = header.removesuffix(".h")
    return [import_module(f"zo.{name}") for name in MODULES.get(stem, (stem,))]


def snake(name):
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def classes(module):
    own = (c for c in vars(module).values() if inspect.isclass(c))
    return {snake(c.__name__): c for c in own if c.__module__ == module.__name__}


def namesake(function):
    """The Python function, method or property of a C function, or None."""
    name = function.name.removeprefix("zo_")
    for module in modules_of(function.header):
        own = vars(module).get(name)
        if inspect.isfunction(own):
            return inspect.unwrap(own)
        for prefix, owner in classes(module).items():
            if name == prefix and not issubclass(owner, tuple):
                return owner.__call__
            method = vars(owner).get(name.removeprefix(f"{prefix}_"))
            if name.startswith(f"{prefix}_") and method is not None:
                return method.fget if isinstance(method, property) else method
    return None


def compiled(function):
    """The numba function of the same name, whose arguments come before NumPy's, or None."""
    (module, *_) = modules_of(function.header) or (None,)
    try:
        kernels = import_module(f"zo.kernels.{module.__name__.rpartition('.')[2]}")
    except ModuleNotFoundError:
        return None
    found = getattr(kernels, function.name.removeprefix("zo_"), None)
    return None if found is None else found.py_func


PAIRS = {
    name: namesake(function) for name, function in DECLARED.functions.items() if name not in C_ONLY
}


def test_every_function_has_a_namesake():
    assert {name for name, python in PAIRS.items() if python is None} == set()
    assert set(DECLARED.functions) >= C_ONLY


@pytest.mark.parametrize("name", PAIRS)
def test_arguments_have_the_same_names_and_order(name):
    function = DECLARED.functions[name]
    python = [*inspect.signature(compiled(function) or PAIRS[name]).parameters]
    parameters = list(function.parameters)
    if python and python[0] == "self":
        python, parameters = python[1:], parameters[1:]
    sizes = {p.name for p in parameters if p.type == "size_t"}
    results = {p.name for p in parameters if p.pointer and not p.const} - set(python)
    actual = [p.name for p in parameters if p.name not in sizes | results]

    assert actual == [n for n in python if n not in sizes | PYTHON_PARAMETERS]


@pytest.mark.parametrize("name", PAIRS)
def test_arguments_have_the_same_types(name):
    hints = typing.get_type_hints(PAIRS[name])
    differing = {
        p.name: (p.type, hints[p.name])
        for p in DECLARED.functions[name].parameters
        if p.name in hints and not agrees(p, hints[p.name])
    }

    assert differing == {}


def agrees(parameter, hint):
    arguments = typing.get_args(hint)
    if arguments and typing.get_origin(hint) is np.ndarray:
        dtype = typing.get_args(arguments[1])[0]
        expected = f"{np.dtype(dtype).name}_t" if isinstance(dtype, type) else parameter.type
        if expected in ("int64_t", "bool_t"):
            expected = NARROWER.get(parameter.name, expected)
        return parameter.type == expected  # a pointer, or one number at a time
    if hint is int:
        return not parameter.pointer and parameter.type.endswith("_t")
    if inspect.isclass(hint) and hint.__module__.startswith("zo."):
        name = f"zo_{snake(hint.__name__)}"
        return parameter.struct == IMPLEMENTATION.get(name, name)
    return True


def test_every_numpy_function_has_a_namesake():
    expected = set()
    for path in HEADERS:
        for module in modules_of(path.name):
            functions = vars(module).values()
            expected |= {
                f.__name__
                for f in functions
                if inspect.isfunction(f) and hasattr(f, "__wrapped__")
                and f.__module__ == module.__name__ and not hasattr(f, "cache_info")
            }  # fmt: skip
    assert expected > PYTHON_ONLY
    assert {f"zo_{name}" for name in expected - PYTHON_ONLY} - set(DECLARED.functions) == set()


def owners():
    return {
        f"zo_{name}": owner
        for path in HEADERS
        for module in modules_of(path.name)
        for name, owner in classes(module).items()
    }


@pytest.mark.parametrize("name", sorted(set(DECLARED.structs) - PLAIN))
def test_structs_have_the_fields_of_the_class(name):
    own = owners().get(name) or vars(import_module("zo.batch"))[name.removeprefix("zo_").title()]
    python = [*getattr(own, "_fields", getattr(own, "__dataclass_fields__", ()))]
    if not python:
        python = [*inspect.signature(own).parameters]
    sizes = {field.name for field in DECLARED.structs[name] if field.type == "size_t"}
    actual = [field.name for field in DECLARED.structs[name] if field.name not in sizes]
    both = set(actual) & set(python)

    assert set(actual) ^ (set(python) - sizes) == FIELDS.get(name, set())
    assert [f for f in actual if f in both] == [f for f in python if f in both and f not in sizes]


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("estimator", estimate.ESTIMATORS),
        ("perturbation", options.PERTURBATIONS),
        ("rule", update.RULES),
        ("threshold", metric.THRESHOLD_MODES),
        ("measure", evidence.MEASURES),
        ("decay", rate.DECAYS),
        ("purpose", ("signs", "rounding", "shuffling", "augmentation")),
    ],
)
def test_enumerators_number_the_names_of_python(kind, names):
    found = {k: v for k, v in DECLARED.enums.items() if k.startswith(f"ZO_{kind.upper()}_")}
    assert found == {f"ZO_{kind}_{name}".upper(): i for i, name in enumerate(names)}


def test_purposes_have_the_numbers_of_python():
    for name in ("SIGNS", "ROUNDING", "SHUFFLING", "AUGMENTATION"):
        assert DECLARED.enums[f"ZO_PURPOSE_{name}"] == getattr(prng, name)


def test_wide_numbers_have_the_limbs_that_python_gives_them():
    assert DECLARED.enums["ZO_WIDE_LIMBS"] == settings.LIMBS
