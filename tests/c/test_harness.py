"""The harness itself: what goes in comes out, and what is wrong is seen."""

import numpy as np
import pytest

from c.agreement import differences
from c.headers import read_headers
from c.records import MAGIC, Case, decode, encode
from c.toolchain import EACH_TARGET, Runner, code

HEADER = """
#include <stddef.h>
#include <stdint.h>
enum kind { SMALL, LARGE = 5, LARGER };
struct inner { int16_t *values; uint8_t low; };
struct outer { struct inner first; const struct inner *others; size_t n; int64_t sum; };
struct pair { int32_t a; uint64_t b; };
struct real { float value; };
typedef int32_t (*unary)(int32_t);
int64_t add(int64_t a, uint64_t b);
float halve(double value, struct real *whole, float *values, size_t n);
enum kind next(enum kind kind);
struct pair swap(const struct pair *pair);
/* values (n,) += 1 of every type */
void count(int8_t *a, uint16_t *b, int32_t *c, uint64_t *d, size_t n);
void visit(struct outer *outer, const uint8_t *none);
void overrun(int8_t *values, size_t n);
void underrun(int32_t *values, size_t n);
"""

SOURCE = """
#include "sample.h"
int64_t add(int64_t a, uint64_t b) { return (int64_t)((uint64_t)a + b); }
float halve(double value, struct real *whole, float *values, size_t n)
{
    whole->value /= 2.0f;
    for (size_t i = 0; i < n; i++) {
        values[i] /= 2.0f;
    }
    return (float)(value / 2.0);
}
enum kind next(enum kind kind) { return kind == SMALL ? LARGE : LARGER; }
struct pair swap(const struct pair *pair)
{
    const struct pair swapped = {(int32_t)pair->b, (uint64_t)pair->a};
    return swapped;
}
void count(int8_t *a, uint16_t *b, int32_t *c, uint64_t *d, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        a[i]++;
        b[i]++;
        c[i]++;
        d[i]++;
    }
}
void visit(struct outer *outer, const uint8_t *none)
{
    outer->sum = none == NULL;
    outer->first.values[0] = (int16_t)outer->first.low;
    for (size_t i = 0; i < outer->n; i++) {
        outer->sum += outer->others[i].values[0] * outer->others[i].low;
        outer->others[i].values[0] = 0;
    }
}
void overrun(int8_t *values, size_t n) { values[n] = 1; }
void underrun(int32_t *values, size_t n) { values[-1 - (int)(n - n)] = 1; }
"""


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sample")
    (folder / "sample.h").write_text(f"#ifndef S\n#define S\n{HEADER}\n#endif\n")
    (folder / "sample.c").write_text(SOURCE)
    return code([folder / "sample.c", folder / "sample.h"])


@pytest.fixture(scope="module", params=EACH_TARGET)
def programs(request, sample, tmp_path_factory):
    return Runner(request.param, sample, tmp_path_factory.mktemp(request.param.name))


def calls():
    inner = {"values": np.array([-3, 9], np.int16), "low": 200}
    other = {"values": np.array([-(2**15)], np.int16), "low": 255}
    outer = {"first": inner, "others": [other, other], "n": 2, "sum": 77}
    ends = [np.array([limits.min, limits.max - 1], limits.dtype)
            for limits in map(np.iinfo, (np.int8, np.uint16, np.int32, np.uint64))]  # fmt: skip
    arrays = dict(zip("abcd", ends, strict=True))
    reals = np.array([-0.0, 0.1, 1e-44], np.float32)
    return [
        Case("add", {"a": -(2**63), "b": 2**64 - 1}, {"return": 2**63 - 1}),
        Case(
            "halve",
            {"value": 0.1, "whole": {"value": 3.0}, "values": reals, "n": 3},
            {"return": float(np.float32(0.05)), "whole.value": 1.5, "values": reals / 2},
        ),
        Case("next", {"kind": 0}, {"return": 5}),
        Case("swap", {"pair": {"a": -7, "b": 9}}, {"return.a": 9, "return.b": 2**64 - 7}),
        Case("count", {**arrays, "n": 2}, {key: v + v.dtype.type(1) for key, v in arrays.items()}),
        Case(
            "visit",
            {"outer": outer, "none": None},
            {
                "outer.first.values": np.array([200, 9]), "outer.first.low": 200, "outer.n": 2,
                "outer.others.0.values": np.array([0]), "outer.others.1.values": np.array([0]),
                "outer.sum": 1 - 2 * 2**15 * 255,
            },
        ),
    ]  # fmt: skip


def test_results_come_back(sample, programs):
    assert differences(sample.declarations, programs, calls()) == []


def test_a_wrong_bit_is_named(sample, programs):
    values = np.array([1, 2, 3], np.int8)
    arrays = {"b": np.zeros(3, np.uint16), "c": np.zeros(3, np.int32), "d": np.zeros(3, np.uint64)}
    case = Case("count", {"a": values, **arrays, "n": 3}, {"a": np.array([2, 3, 5])})

    assert differences(sample.declarations, programs, [case]) == [
        "0 count a: 1 of 3 differ, [2] 4 not 5"
    ]


def test_a_zero_of_the_other_sign_is_wrong(sample, programs):
    given = {"value": 0, "whole": {"value": 0}, "values": np.zeros(1, np.float32), "n": 1}
    expected = {"return": 0, "whole.value": 0, "values": np.array([-0.0])}

    assert differences(sample.declarations, programs, [Case("halve", given, expected)]) == [
        "0 halve values: 1 of 1 differ, [0] 0.0 not -0.0"
    ]


def test_any_nan_is_a_nan(sample, programs):
    values = np.array([0x7FC00000, 0xFFC00000, 0x7FC12345], np.uint32).view(np.float32)
    given = {"value": 0, "whole": {"value": 0}, "values": values, "n": 3}
    expected = {"return": 0, "whole.value": 0, "values": np.array([np.nan, np.nan, 0.0])}

    assert differences(sample.declarations, programs, [Case("halve", given, expected)]) == [
        "0 halve values: 1 of 3 differ, [2] nan not 0.0"
    ]


@pytest.mark.parametrize(("function", "dtype"), [("overrun", np.int8), ("underrun", np.int32)])
def test_a_write_outside_an_array_is_seen(sample, programs, function, dtype):
    case = Case(function, {"values": np.zeros(5, dtype), "n": 5}, {})
    with pytest.raises(AssertionError, match=r"batch error -?6|heap-buffer-overflow"):
        programs.run(encode(sample.declarations, [case]))


def test_a_batch_that_ends_early_is_refused(sample, programs):
    whole = encode(sample.declarations, calls())
    with pytest.raises(AssertionError, match=r"batch error -?3"):
        programs.run(whole[:-8])
    with pytest.raises(AssertionError, match=r"batch error -?1"):
        programs.run(MAGIC.replace(b"1", b"2") + whole[8:])


def test_results_of_another_length_are_refused(sample):
    with pytest.raises(ValueError, match="results: must end at 8, got 16 bytes"):
        decode(sample.declarations, calls()[:1], bytes(16))


def test_arguments_are_checked_by_name_and_type(sample):
    with pytest.raises(ValueError, match=r"add: must be given \['a', 'b'\], got \['a'\]"):
        encode(sample.declarations, [Case("add", {"a": 1}, {})])
    wrong = {name: np.zeros(1) for name in "abcd"}
    with pytest.raises(TypeError, match="a: must be an array of int8, got float64"):
        encode(sample.declarations, [Case("count", {**wrong, "n": 1}, {})])


def test_headers_this_cannot_read_are_refused(tmp_path):
    path = tmp_path / "strange.h"
    path.write_text("void call(int values[4]);\n")
    with pytest.raises(ValueError, match=r"header: cannot read 'int values\[4\]'"):
        read_headers([path])
