"""The C headers of npusim say what the Python kernels say: names, order, types, fields, numbers."""

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import npusim
from c.headers import read_headers
from npusim.kernels import structs

HEADERS = [path for path in npusim.c_sources() if path.suffix == ".h" and "_mve" not in path.stem]
DECLARED = read_headers(HEADERS)
KERNELS = Path(structs.__file__).parent

# modules with no C file: what computes in float, what only calls kernels from a plan, and what
# counts overflows for `npusim check`
LEFT_OUT = {"float_arith", "softmax_x86", "executor", "steps", "neural_art_steps", "operands",
            "table", "tally", "__init__"}  # fmt: skip

# C functions with no namesake: unsigned arithmetic, the choice of a rule by its number, sizes of
# scratch, what a plan does itself, and the inner loops that have a Helium twin
C_ONLY = {
    "npu_add_wrapping", "npu_subtract_wrapping", "npu_multiply_wrapping",
    "npu_shift_left_wrapping", "npu_requantize",
    "npu_is_pointwise", "npu_conv2d_depth", "npu_conv2d_patch", "npu_conv2d_acc",
    "npu_first_tap", "npu_end_tap", "npu_start_sums", "npu_dot_block", "npu_dot_row",
    "npu_fill_codes", "npu_copy_codes",
    "npu_depthwise_sums", "npu_add_codes", "npu_total_of_codes", "npu_raise_codes",
    "npu_scaled_code", "npu_scale_operand", "npu_add_operand", "npu_multiply", "npu_move",
    "npu_neural_art_dot",
}  # fmt: skip
C_ONLY_STRUCTS = {"npu_window", "npu_operand"}
# Python functions with no namesake, by module: one loop for each rule, which C chooses inside;
# inner loops that C writes for several positions at once, or as static functions; what is in float
PYTHON_ONLY = {
    "conv2d": {"dot", "gather_patch"},
    "depthwise_conv2d": {"accumulate"},
    "elementwise": {"differences", "shift_left"},
    "ordered": {"limits", "span", "begin", "add_products", "finish"},
    "requantize": {
        f"{what}_{rule}" for what in ("row", "tensor") for rule in structs.REQUANTIZE
    },
    "quantize": {
        *(f"quantize_{rule}" for rule in ("by", *structs.QUANTIZE)),
        *(f"dequantize_{rule}" for rule in ("by", *structs.DEQUANTIZE)), "within",
    },
    "softmax": {"exp_of_quarter", "saturating_shift", "leading_zeros32"},
    "xnnpack": {"mean_xnnpack"},
    "neural_art": {"add_products", "reduced_sum", "folded", "reduced", "code", "sat16"},
    "neural_art_units": {"sum_code", "mean_code"},
}  # fmt: skip
# structs of what has no C file, and rules that compute in float
PYTHON_STRUCTS = {"SoftmaxX86", "MeanXnnpack", "Tallies"}
FLOAT_RULES = {"FLOAT32_EVEN", "FLOAT64_AWAY"}
# a type in a C function's name where Python takes any
TYPE = re.compile(r"(?:_u?int(?:8|16|32|64)|_float32)+$")
# what C knows by its length, and what it is given a length for
SIZES = {"size_t"}
NARROWER = {"int64": "int32_t"}


def module_of(header):
    return import_module(f"npusim.kernels.{header.removesuffix('.h')}")


def kernels_of(module):
    """Functions of a kernel module, by name."""
    own = {name: getattr(value, "py_func", None) for name, value in vars(module).items()}
    return {name: f for name, f in own.items() if f and f.__module__ == module.__name__}


def namesake(function):
    """The Python kernel of a C function, or None; Neural-ART's have the names of the plain ones."""
    found = kernels_of(module_of(function.header))
    name = function.name.removeprefix("npu_").removeprefix("neural_art_")
    return found.get(name) or found.get(TYPE.sub("", name))


# scratch that C does without: it reads x itself, or makes one element after the other
PYTHON_ARGUMENTS = {"npu_fully_connected": {"patch"}, "npu_add_xnnpack": {"scratch"}}

PAIRS = {name: f for name, f in DECLARED.functions.items() if name not in C_ONLY}


def test_every_module_has_a_header_or_is_left_out_by_name():
    modules = {path.stem for path in KERNELS.glob("*.py")}
    headers = {path.stem for path in HEADERS}
    assert headers | LEFT_OUT == modules
    assert not headers & LEFT_OUT


def test_every_function_has_a_namesake():
    assert {name for name, function in PAIRS.items() if namesake(function) is None} == set()
    assert set(DECLARED.functions) >= C_ONLY


def test_every_kernel_has_a_namesake():
    mirrored = {}
    for function in PAIRS.values():
        mirrored.setdefault(function.header, set()).add(namesake(function).__name__)
    for path in HEADERS:
        left = set(kernels_of(module_of(path.name))) - mirrored.get(path.name, set())
        assert left == PYTHON_ONLY.get(path.stem, set()), path.name


@pytest.mark.parametrize("name", PAIRS)
def test_arguments_have_the_same_names_and_order(name):
    function = DECLARED.functions[name]
    without = PYTHON_ARGUMENTS.get(name, set())
    python = [p for p in inspect.signature(namesake(function)).parameters if p not in without]
    actual = [p.name for p in function.parameters if p.name in python or p.type not in SIZES]

    assert actual == python


@pytest.mark.parametrize("name", PAIRS)
def test_arguments_have_the_types_of_the_docstring(name):
    function = DECLARED.functions[name]
    said = documented(namesake(function))
    differing = {
        p.name: (p.type, said[p.name])
        for p in function.parameters
        if p.name in said and p.type not in said[p.name]
    }

    assert differing == {}


def documented(kernel):
    """C types that a docstring allows, by argument; nothing of scratch, which is C's own."""
    found = {}
    for line in (inspect.getdoc(kernel) or "").splitlines():
        match = re.match(r"    (\w+(?:, \w+)*) {2,}(.*)", line)
        if match and "scratch" not in match[2]:
            types = {NARROWER.get(t, f"{t}_t") for t in re.findall(r"u?int\d+", match[2])}
            types |= {f"{t}_t" for t in re.findall(r"int64", match[2])}
            types |= {f"struct npu_{snake(t)}" for t in re.findall(r"\b[A-Z]\w+[a-z]\w*", match[2])}
            found |= dict.fromkeys(match[1].split(", "), types) if types else {}
    return found


def snake(name):
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


CLASSES = {
    name: value
    for name, value in vars(structs).items()
    if inspect.isclass(value) and hasattr(value, "_fields") and name not in PYTHON_STRUCTS
}


def test_every_struct_has_a_class():
    assert set(DECLARED.structs) - C_ONLY_STRUCTS == {f"npu_{snake(name)}" for name in CLASSES}


@pytest.mark.parametrize("name", CLASSES)
def test_structs_have_the_fields_of_the_class(name):
    fields = DECLARED.structs[f"npu_{snake(name)}"]
    hints = {k: v for k, v in CLASSES[name].__annotations__.items() if k != "scale" or v != ARRAY}
    actual = {field.name: field for field in fields if field.type not in SIZES}

    assert list(actual) == list(hints)
    assert {k: c_type(actual[k]) for k in hints} == {k: expected(v) for k, v in hints.items()}


ARRAY = structs.np.ndarray


def c_type(field):
    return field.type + (" const *" if field.pointer and field.const else "")


def expected(hint):
    """The C type of a field: int32_t, const int32_t *, float, or a struct."""
    if hint is ARRAY:
        return "int32_t const *"
    if hint is structs.np.float32:
        return "float"
    return "int32_t" if hint is int else f"struct npu_{snake(hint.__name__)}"


@pytest.mark.parametrize(
    "names",
    [structs.REQUANTIZE, structs.QUANTIZE, structs.DEQUANTIZE, structs.OVERFLOW, structs.TIES],
    ids=("requantize", "quantize", "dequantize", "overflow", "ties"),
)
def test_enumerators_have_the_numbers_of_python(names):
    python = {name.upper() for name in names}
    found = {name for name in python if f"NPU_{name}" in DECLARED.enums}

    assert python - found == python & FLOAT_RULES
    for name in found:
        assert DECLARED.enums[f"NPU_{name}"] == getattr(structs, name)
