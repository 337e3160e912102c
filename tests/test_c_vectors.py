"""Test vectors in C: they compile strictly, find wrong kernels, and pass right ones."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from graphs import Draft, codes

from npusim import golden, models
from npusim.golden.c_vectors import write_c_vectors
from npusim.parameters import bind

COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
STRICT = ("-std=c99", "-O1", "-Wall", "-Wextra", "-Wconversion", "-Wsign-conversion", "-pedantic",
          "-Werror", "-fsanitize=undefined", "-fno-sanitize-recover")  # fmt: skip
NOTHING = """
#include "vectors.h"
void device_conv2d(const struct conv2d_layer *l, const int8_t *x, int8_t *y)
{ (void)l; (void)x; (void)y; }
void device_depthwise_conv2d(const struct conv2d_layer *l, const int8_t *x, int8_t *y)
{ (void)l; (void)x; (void)y; }
void device_fully_connected(const struct fully_connected_layer *l, const int8_t *x, int8_t *y)
{ (void)l; (void)x; (void)y; }
"""
KERNELS = """
#include "vectors.h"

static int64_t half(int32_t bits) { return bits > 0 ? (int64_t)1 << (bits - 1) : 0; }

static int8_t code(int64_t acc, int32_t multiplier, int32_t shift, int32_t zero, int32_t low,
                   int32_t high)
{
    const int64_t left = acc * ((int64_t)1 << (shift > 0 ? shift : 0));
    const int32_t right = shift < 0 ? -shift : 0;
    const int64_t product = (left * multiplier + ((int64_t)1 << 30)) >> 31;
    const int64_t size = product < 0 ? -product : product;
    const int64_t rounded = (size + half(right)) >> right;
    int64_t y = zero + (product < 0 ? -rounded : rounded);
    y = y < low ? low : y > high ? high : y;
    return (int8_t)y;
}

static void convolve(const struct conv2d_layer *l, const int8_t *x, int8_t *y, int depthwise)
{
    const int32_t inputs = depthwise ? 1 : l->c / l->groups;
    for (int32_t n = 0; n < l->n; n++)
    for (int32_t i = 0; i < l->oh; i++)
    for (int32_t j = 0; j < l->ow; j++)
    for (int32_t o = 0; o < l->o; o++) {
        const int32_t first = depthwise ? o / (l->o / l->c) : o / (l->o / l->groups) * inputs;
        int64_t acc = l->bias[o];
        for (int32_t a = 0; a < l->kh; a++)
        for (int32_t b = 0; b < l->kw; b++)
        for (int32_t c = 0; c < inputs; c++) {
            const int32_t row = i * l->stride_h - l->pad_top + a * l->dilation_h;
            const int32_t column = j * l->stride_w - l->pad_left + b * l->dilation_w;
            if (row < 0 || row >= l->h || column < 0 || column >= l->w)
                continue;
            const int32_t at = ((n * l->h + row) * l->w + column) * l->c + first + c;
            const int32_t w = depthwise ? (a * l->kw + b) * l->o + o
                                        : ((o * l->kh + a) * l->kw + b) * inputs + c;
            acc += (int64_t)(x[at] - l->x_zero_point) * l->weights[w];
        }
        y[((n * l->oh + i) * l->ow + j) * l->o + o] =
            code(acc, l->multiplier[o], l->shift[o], l->y_zero_point, l->act_min, l->act_max);
    }
}

void device_conv2d(const struct conv2d_layer *l, const int8_t *x, int8_t *y)
{ convolve(l, x, y, 0); }

void device_depthwise_conv2d(const struct conv2d_layer *l, const int8_t *x, int8_t *y)
{ convolve(l, x, y, 1); }

void device_fully_connected(const struct fully_connected_layer *l, const int8_t *x, int8_t *y)
{
    for (int32_t n = 0; n < l->n; n++)
    for (int32_t o = 0; o < l->o; o++) {
        int64_t acc = l->bias[o];
        for (int32_t i = 0; i < l->i; i++)
            acc += (int64_t)(x[n * l->i + i] - l->x_zero_point) * l->weights[o * l->i + i];
        y[n * l->o + o] =
            code(acc, l->multiplier[o], l->shift[o], l->y_zero_point, l->act_min, l->act_max);
    }
}
"""


@pytest.fixture(params=COMPILERS or [None])
def compiler(request):
    if request.param is None:
        pytest.skip("no C compiler is installed: gcc or clang")
    return request.param


def every_layer(seed=0):
    """Strided, dilated, grouped, depthwise and fully connected layers, one without a bias."""
    draft = Draft(seed)
    x = draft.input((1, 9, 8, 4))
    y = draft.conv2d(x, 6, groups=2, stride=(2, 1), activation="relu")
    y = draft.depthwise_conv2d(y, multiplier=2, dilation=(1, 2), bias=False)
    y = draft.conv2d(y, 5, (2, 3), padding=(1, 0, 2, 1), activation="relu6")
    y = draft.node("mean", (y,), axes=(1, 2), keep_dims=False)
    return draft.graph(draft.fully_connected(y, 7))


def vectors(folder, graph=None, count=2):
    graph = graph or every_layer()
    run = golden.record(graph, codes(graph, count), threads=1)
    return write_c_vectors(folder, graph, run), run


def check(compiler, folder, kernels):
    """(exit status, lines) of main.c with these kernels."""
    (folder / "kernels.c").write_text(kernels)
    program = folder / "check"
    sources = [str(folder / "main.c"), str(folder / "kernels.c")]
    subprocess.run([compiler, *STRICT, *sources, "-o", str(program)], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def test_right_kernels_pass(compiler, tmp_path):
    (layers, left_out), run = vectors(tmp_path)
    status, lines = check(compiler, tmp_path, KERNELS)
    sizes = [run.tensors[n.outputs[0]].values.size for n in run.nodes if n.name in layers]
    assert left_out == []
    assert (status, lines) == (0, [f"{n:24} {size} codes equal"
                                   for n, size in zip(layers, sizes, strict=True)])  # fmt: skip


def test_kernels_that_do_nothing_fail_in_every_code(compiler, tmp_path):
    (layers, _), run = vectors(tmp_path)
    status, lines = check(compiler, tmp_path, NOTHING)
    assert status == 1
    for name, line in zip(layers, lines, strict=True):
        size = run.tensors[
            run.nodes[[n.name for n in run.nodes].index(name)].outputs[0]
        ].values.size
        assert line.startswith(
            f"{name:24} {size} of {size} codes differ, first at n 0 h 0 w 0 c 0: "
        )


def test_wrong_kernels_fail_where_they_are_wrong(compiler, tmp_path):
    vectors(tmp_path)
    wrong = KERNELS.replace("(row < 0 ||", "(row < 1 ||")
    status, lines = check(compiler, tmp_path, wrong)
    verdicts = ["equal" in line for line in lines]
    assert status == 1
    assert verdicts == [False, False, False, True]


def test_shipped_model_has_vectors_of_all_its_layers(compiler, tmp_path):
    graph = models.digits_cnn()
    (layers, _), _ = vectors(tmp_path, graph, 1)
    assert layers == ["conv2d_0", "conv2d_1", "depthwise_conv2d_0", "conv2d_2", "fully_connected_0"]
    assert check(compiler, tmp_path, KERNELS)[0] == 0


def test_names_of_a_model_cannot_leave_comments_and_strings(compiler, tmp_path):
    graph = every_layer()
    names = ['*/ int x = "', "a b", "a_b", "9", *(n.name for n in graph.nodes[4:])]
    nodes = tuple(replace(n, name=name) for n, name in zip(graph.nodes, names, strict=True))
    hostile = replace(graph, name='*/ #error "', nodes=nodes)
    vectors(tmp_path, hostile)
    assert check(compiler, tmp_path, KERNELS)[0] == 0
    headers = {path.name for path in tmp_path.glob("*.h")}
    assert headers == {"vectors.h", "layer____int_x____.h", "a_b.h", "a_b_2.h",
                       "fully_connected_0.h"}  # fmt: skip


def test_files_are_reproducible(tmp_path):
    first, second = tmp_path / "a", tmp_path / "b"
    vectors(first)
    vectors(second)
    names = {path.name for path in first.iterdir()}
    assert names == {path.name for path in second.iterdir()} >= {"main.c", "vectors.h"}
    assert all((first / n).read_bytes() == (second / n).read_bytes() for n in names)


def test_folder_that_holds_files_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="folder must be empty; remove its files or name another"):
        vectors(tmp_path)


@pytest.mark.parametrize("profile", ["tflm", "xnnpack"])
def test_factors_stand_there_as_real_numbers_too(compiler, tmp_path, profile):
    graph = replace(every_layer(), profile=profile)
    vectors(tmp_path, graph)
    text = (tmp_path / "conv2d_0.h").read_text()
    found = re.search(r"double conv2d_0_scale\[6\] = \{(.*?)\};", text, re.S)[1]
    actual = [float.fromhex(number) for number in found.replace(",", " ").split()]
    r = bind(graph, graph.nodes[0])[1]
    rule = "float32_even" if profile == "xnnpack" else "double_rounding"
    assert actual == r.scale.tolist()
    assert f'.rounding = "{rule}",' in text
    assert check(compiler, tmp_path, NOTHING)[0] == 1


def test_smallest_int32_is_written_so_that_c_can_read_it(compiler, tmp_path):
    graph = every_layer()
    node = graph.nodes[0]
    tensors = list(graph.tensors)
    bias = np.full(6, -(2**31), np.int32)
    tensors[node.inputs[2]] = replace(tensors[node.inputs[2]], data=bias)
    vectors(tmp_path, replace(graph, tensors=tuple(tensors)))
    assert "INT32_MIN" in (tmp_path / "conv2d_0.h").read_text()
    assert check(compiler, tmp_path, NOTHING)[0] == 1
