"""House rules of the C code that a program can check."""

import re
import subprocess
from pathlib import Path

import pytest

import npusim
import zo
from c.headers import without_comments
from c.toolchain import RULES, require
from npusim.export.targets import FOLDER

PACKAGES = {"zo": zo.c_sources(), "npu": npusim.c_sources()}
"""Files by the prefix of their public names."""
FILES = [path for files in PACKAGES.values() for path in files]
SOURCES = [path for path in FILES if path.suffix == ".c"]
HEADERS = [path for path in FILES if path.suffix == ".h"]
PORTABLE = [path for path in HEADERS if "_mve" not in path.stem]
FILE_LINES, BODY_LINES = 400, 40

# compilers make calls of these two from loops and initialisers
ALLOWED = {"memset", "memcpy"}
FORBIDDEN = r"malloc|free|alloca|printf|assert|setjmp|goto|restrict|__asm__|#\s*pragma"
REAL = r"float|double"
# what takes or gives real numbers; everything else is integers
WITH_REALS = {"structs", "quantize"}
CONDITION = re.compile(r"#if (!?)defined\(__ARM_FEATURE_MVE\)")


def name_of(path):
    """A file by its package and name."""
    return f"{path.parents[1].name}/{path.name}"


def compile_to(folder, source, *options):
    output = folder / f"{source.stem}.o"
    command = [
        "gcc",
        *RULES,
        "-Wmissing-prototypes",
        *options,
        "-c",
        str(source),
        "-o",
        str(output),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return output


@pytest.fixture(scope="module")
def symbols(tmp_path_factory):
    """(kind, name) of every symbol of every object, by source; kinds as in nm."""
    require("gcc", "nm")
    folder = tmp_path_factory.mktemp("objects")
    found = {}
    for source in SOURCES:
        output = compile_to(folder, source)
        lines = subprocess.run(["nm", str(output)], capture_output=True, text=True, check=True)
        found[source] = [tuple(line.split()[-2:]) for line in lines.stdout.splitlines()]
    return found


def test_there_are_no_variables_outside_functions(symbols):
    kinds = {(path.name, name) for path, all_of in symbols.items() for kind, name in all_of
             if kind in "bBdDcCsSgG"}  # fmt: skip
    assert kinds == set()


def test_nothing_outside_is_called(symbols):
    defined = {name for all_of in symbols.values() for kind, name in all_of if kind == "T"}
    called = {name for all_of in symbols.values() for kind, name in all_of if kind == "U"}
    foreign = {name for name in called - defined if not name.startswith("_")}
    assert foreign <= ALLOWED


@pytest.mark.parametrize("prefix", PACKAGES)
def test_public_names_have_the_prefix(symbols, prefix):
    defined = {name for path in PACKAGES[prefix] for kind, name in symbols.get(path, ())
               if kind == "T"}  # fmt: skip
    assert defined
    assert {name for name in defined if not name.startswith(f"{prefix}_")} == set()


@pytest.mark.parametrize("header", PORTABLE, ids=name_of)
def test_headers_stand_alone(tmp_path, header):
    require("gcc")
    alone = tmp_path / "alone.c"
    alone.write_text(f'#include "{header.name}"\n#include "{header.name}"\ntypedef int some;\n')
    compile_to(tmp_path, alone, f"-I{header.parent}")


# what an example's file declares before it
PROTOTYPES = {
    "step.h": "enum zo_status train_batch(void *, const int32_t *, size_t, uint32_t, int32_t,\n"
    "    int64_t *);",
    "fully_connected.h": "void run_head(const int8_t *, int8_t *);",
}


def test_the_plugin_that_counts_compiles_without_warnings(tmp_path):
    require("gcc")
    source, plugin = FOLDER / "count_instructions.c", tmp_path / "libcount.so"
    command = ["gcc", *RULES, "-shared", "-fPIC", str(source), "-o", str(plugin)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_examples_of_the_page_compile(tmp_path):
    require("gcc")
    page = (Path(__file__).resolve().parents[2] / "docs" / "c.md").read_text("utf-8")
    examples = re.findall(r"```c\n(.*?)```", page, re.S)
    assert len(examples) == len(PROTOTYPES)
    folders = [f"-I{path}" for path in sorted({header.parent for header in HEADERS})]
    for (header, prototype), example in zip(PROTOTYPES.items(), examples, strict=True):
        source = tmp_path / "example.c"
        source.write_text(f'#include "{header}"\n{prototype}\n{example}')
        compile_to(tmp_path, source, *folders)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_nothing_forbidden_is_used(path):
    words = FORBIDDEN if path.stem in WITH_REALS else f"{FORBIDDEN}|{REAL}"
    text = without_comments(path.read_text("utf-8"))
    assert re.findall(rf"(?<!\w)(?:{words})(?!\w)", text) == []


@pytest.mark.parametrize("source", SOURCES, ids=name_of)
def test_conditions_choose_whole_functions(source):
    """#if stands outside functions, and asks only whether there is Helium."""
    depth, offences = 0, []
    for number, line in enumerate(without_comments(source.read_text("utf-8")).splitlines(), 1):
        if re.match(r"\s*#\s*(?:if|el|endif)", line):
            known = CONDITION.match(line) or line.strip() in ("#else", "#endif")
            if depth or not known:
                offences.append((number, line))
        depth += line.count("{") - line.count("}")
    assert offences == []


def test_a_loop_with_a_helium_twin_has_one_of_either_kind():
    """What is left out for Helium is in the file for Helium, and nothing else is."""
    for source in SOURCES:
        text = without_comments(source.read_text("utf-8"))
        match = re.search(r"#if !defined\(__ARM_FEATURE_MVE\)(.*?)#endif", text, re.S)
        if match:
            twin = without_comments(source.with_name(f"{source.stem}_mve.c").read_text("utf-8"))
            assert public_functions(match[1]) == public_functions(twin) - {"zo_four_blocks"}


def public_functions(text):
    return set(re.findall(r"^(?!static)\w[\w ]* \*?((?:zo|npu)_\w+)\(", text, re.M))


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_files_and_functions_are_short(path):
    lines = path.read_text("utf-8").splitlines()
    assert len(lines) <= FILE_LINES
    starts = [i for i, line in enumerate(lines) if line == "{"]
    ends = [i for i, line in enumerate(lines) if line == "}"]
    long = [lines[a - 1] for a, b in zip(starts, ends, strict=True) if b - a - 1 > BODY_LINES]
    assert long == []


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_lines_are_short_and_clean(path):
    lines = path.read_text("utf-8").splitlines()
    assert [
        line for line in lines if len(line) > 100 or line != line.rstrip() or "\t" in line
    ] == []
