"""Sides of a comparison: folders of dumps, archives, golden files, and what is refused."""

from __future__ import annotations

import io
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from test_golden import recorded, two_inputs

import npusim
from npusim import golden
from npusim.diff import open_path
from npusim.diff.fit import UnfitError, Wanted, fit
from npusim.diff.inputs import inputs_in
from npusim.diff.matching import match
from npusim.diff.sides import Dump, Side, natural
from npusim.graph import Quantization
from npusim.tensor_files import write_trace

IMAGE = np.arange(2 * 3 * 4 * 5, dtype=np.int8).reshape(2, 3, 4, 5)
INFINITE = np.full(IMAGE.shape, np.inf)
SCALE = Quantization(0.5, 3)


def wanted(name="y", shape=(2, 3, 4, 5), dtype="int8", node="", quantization=SCALE):
    return Wanted(name, shape, dtype, quantization, node)


def dump(name, values, raw=False):
    if raw:
        return Dump(name, f"{name}.bin", np.frombuffer(values.tobytes(), np.uint8), True)
    return Dump(name, f"{name}.npy", np.asarray(values))


def test_folder_is_read_in_natural_order(tmp_path):
    for k in (10, 9, 1):
        np.save(tmp_path / f"layer{k}.npy", np.full(3, k, np.int8))
    (tmp_path / "layer2.bin").write_bytes(b"\x02\x02")
    (tmp_path / "notes.txt").write_text("not a dump")
    side = open_path(tmp_path)
    assert [d.name for d in side.dumps] == ["layer1", "layer2", "layer9", "layer10"]
    assert [d.raw for d in side.dumps] == [False, True, False, False]
    assert side.kind == "folder"


def test_natural_order_reads_numbers_as_numbers():
    names = ["b", "a10", "a9", "a", "10", "9"]
    assert sorted(names, key=natural) == ["9", "10", "a", "a9", "a10", "b"]


def test_trace_of_npusim_is_read_with_its_names(tmp_path):
    graph = two_inputs()
    run = recorded(graph)
    tensors = {t.name: t.values for t in run.sequence()}
    write_trace(tmp_path / "trace", tensors, graph)
    side = open_path(tmp_path / "trace")
    assert [d.name for d in side.dumps] == list(tensors)
    assert all(np.array_equal(d.values, tensors[d.name]) for d in side.dumps)


def test_order_file_names_files_and_tensors(tmp_path):
    np.save(tmp_path / "b.npy", np.zeros(2, np.int8))
    (tmp_path / "a.bin").write_bytes(b"\x01")
    order = tmp_path / "order.txt"
    order.write_text("b.npy block 1/relu\n\na.bin\n")
    side = open_path(tmp_path, order)
    assert [(d.file, d.name) for d in side.dumps] == [("b.npy", "block 1/relu"), ("a.bin", "a")]


def test_archive_is_read_by_name(tmp_path):
    np.savez(tmp_path / "d.npz", x=IMAGE, y=IMAGE[:1])
    side = open_path(tmp_path / "d.npz")
    assert [(d.name, d.values.shape) for d in side.dumps] == [
        ("x", IMAGE.shape),
        ("y", (1, 3, 4, 5)),
    ]


def test_golden_file_is_a_side_and_a_model_is_not_yet(tmp_path):
    golden.save(recorded(), tmp_path / "g.h5")
    npusim.save(two_inputs(), tmp_path / "m.h5")
    side = open_path(tmp_path / "g.h5")
    assert [d.name for d in side.dumps] == [t.name for t in recorded().sequence()]
    assert open_path(tmp_path / "m.h5") is None


def folder_with(folder, files):
    """A folder made of names and bytes."""
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def numpy_archive():
    file = io.BytesIO()
    np.savez(file, a=IMAGE)
    return file.getvalue()


LISTED = json.dumps({"tensors": [{"file": "x.txt", "tensor": "x"}]}).encode()
FOLDERS = {
    "empty": ({}, "{d}: folder must hold .npy, .bin, .raw files, got none"),
    "index that is no JSON": (
        {"index.json": b"{"},
        "{d}/index.json: must be the index of a trace, got Expecting property name",
    ),
    "index that is a list": (
        {"index.json": b"[]"},
        "{d}/index.json: must be the index of a trace, got list indices must be",
    ),
    "index without names": (
        {"index.json": b'{"tensors": [{"file": 1, "tensor": "x"}]}'},
        "{d}/index.json: must name files and tensors, got 1, 'x'",
    ),
    "file of another kind": (
        {"index.json": LISTED},
        "{d}/x.txt: dump must be .npy, .bin, .raw, got '.txt'",
    ),
    "file that is not there": (
        {"index.json": LISTED.replace(b".txt", b".npy")},
        "[Errno 2] No such file or directory: '{d}/x.npy'",
    ),
    "pickle": (
        {"x.npy": pickle.dumps([1])},
        "{d}/x.npy: must be a NumPy file of plain arrays, got",
    ),
    "archive": (
        {"x.npy": numpy_archive()},
        "{d}/x.npy: must hold one array, got an archive of ['a']",
    ),
    "name with a control character": (
        {"x\x1b.npy": b""},
        "{d}: names must be printable, got 'x\\x1b.npy', 'x\\x1b'",
    ),
    "no bytes": ({"x.bin": b""}, "{d}/x.bin: must have 1..2147483647 bytes, got 0"),
}


@pytest.mark.parametrize("case", FOLDERS)
def test_folder_that_cannot_be_read_is_refused(case, tmp_path):
    files, expected = FOLDERS[case]
    folder = folder_with(tmp_path / "d", files)
    with pytest.raises((ValueError, OSError)) as caught:
        open_path(folder)
    assert str(caught.value).startswith(expected.replace("{d}", str(folder)))


def test_files_of_one_name_keep_their_suffix(tmp_path):
    np.save(tmp_path / "a.npy", IMAGE)
    (tmp_path / "a.bin").write_bytes(b"\x01")
    assert [d.name for d in open_path(tmp_path).dumps] == ["a.bin", "a.npy"]


def test_order_file_cannot_leave_the_folder(tmp_path):
    order = tmp_path / "order.txt"
    order.write_text("../x.npy y\n")
    with pytest.raises(ValueError, match=r"files must lie in the folder itself, got '\.\./x\.npy'"):
        open_path(folder_with(tmp_path / "d", {}), order)


def test_what_is_no_side_is_refused(tmp_path):
    np.save(tmp_path / "one.npy", IMAGE)
    with pytest.raises(ValueError, match="got one tensor; name the folder it lies in"):
        open_path(tmp_path / "one.npy")
    with pytest.raises(ValueError, match="must be a folder to be read in the order of order"):
        open_path(tmp_path / "g.h5", Path("order"))
    with pytest.raises(npusim.ModelError, match="no such file or folder"):
        open_path(tmp_path / "absent.h5")


@pytest.mark.parametrize(
    ("values", "layout", "read_as"),
    [
        (IMAGE, None, ""),
        (IMAGE.transpose(0, 3, 1, 2), None, "NCHW by its shape"),
        (IMAGE.transpose(0, 3, 1, 2).ravel(), "NCHW", "NCHW"),
        (IMAGE.ravel(), None, "flat, in C order"),
        (IMAGE.transpose(0, 2, 1, 3), None, "axes 0, 2, 1, 3 by its shape"),
        (IMAGE.reshape(6, 20), None, "(6, 20) in C order"),
        (IMAGE.reshape(2, 3, 4, 5, 1), None, ""),
        (IMAGE.astype(np.int32), None, "int32"),
        ((IMAGE.astype(np.float32) - 3) / 2, None, "real numbers, made codes"),
    ],
)
def test_dump_is_read_in_the_tensors_terms(values, layout, read_as):
    fitted = fit(dump("y", values), wanted(), layout)
    assert fitted.read_as == read_as
    assert np.array_equal(fitted.values, IMAGE)


def test_raw_dump_takes_type_and_shape_from_the_tensor():
    reals = wanted(dtype="float32", shape=(2, 3), quantization=None)
    values = np.arange(6, dtype="<f4").reshape(2, 3)
    assert np.array_equal(fit(dump("y", IMAGE, raw=True), wanted()).values, IMAGE)
    assert np.array_equal(fit(dump("y", values, raw=True), reals).values, values)
    planes = dump("y", np.ascontiguousarray(np.moveaxis(IMAGE, 3, 1)), raw=True)
    fitted = fit(planes, wanted(), "NCHW")
    assert (fitted.read_as, np.array_equal(fitted.values, IMAGE)) == ("NCHW", True)


@pytest.mark.parametrize(
    ("values", "tensor", "expected"),
    [
        (IMAGE[:1], wanted(), "shape must be (2, 3, 4, 5), got (1, 3, 4, 5)"),
        (IMAGE.astype(complex), wanted(), "type must be integer or real numbers, got complex128"),
        (
            IMAGE / 2,
            wanted(quantization=None),
            "type must be int8, got float64 and no scale is known",
        ),
        (INFINITE, wanted(), "real numbers must be finite, got infinity or NaN"),
        (IMAGE, wanted(dtype="float32"), "type must be real numbers, got int8"),
    ],
)
def test_dump_that_cannot_be_the_tensor_says_why(values, tensor, expected):
    with pytest.raises(UnfitError) as caught:
        fit(dump("y", values), tensor)
    assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("extra", "hint"), [(1, ""), (128, "; is the header of a .npy file still there")]
)
def test_raw_dump_of_another_length_says_what_is_too_much(extra, hint):
    long = Dump("y", "y.bin", np.zeros(120 + extra, np.uint8), raw=True)
    with pytest.raises(UnfitError) as caught:
        fit(long, wanted())
    assert str(caught.value) == f"int8 (2, 3, 4, 5) must be 120 bytes, got {120 + extra}{hint}"


def test_names_match_exactly_then_loosely_then_by_node():
    tensors = [
        wanted("stem/Relu6"),
        wanted("block_1/add", node="add_0"),
        wanted("logits", node="fully_connected_0"),
    ]
    dumps = [
        dump("003_fully_connected_0", IMAGE),
        dump("01-stem_relu6", IMAGE),
        dump("block_1/add", IMAGE),
    ]
    pairs = match(tensors, dumps, {}).pairs
    assert [(p.wanted.name, p.dump.name, p.by) for p in pairs] == [
        ("stem/Relu6", "01-stem_relu6", "name"),
        ("block_1/add", "block_1/add", "name"),
        ("logits", "003_fully_connected_0", "name"),
    ]


def test_names_that_belong_to_two_decide_nothing():
    tensors = [wanted("a/b"), wanted("a_b", shape=(1, 2))]
    dumps = [dump("0_A.B", IMAGE), dump("1_A-B", np.zeros((1, 2), np.int8))]
    pairs = match(tensors, dumps, {}).pairs
    assert [(p.dump.name, p.by) for p in pairs] == [("0_A.B", "order"), ("1_A-B", "order")]


def test_name_with_another_shape_is_unfit():
    found = match([wanted()], [dump("y", IMAGE[:1])], {})
    (pair,) = found.pairs
    assert (pair.fitted, pair.reason) == (None, "shape must be (2, 3, 4, 5), got (1, 3, 4, 5)")
    assert found.missing == found.extra == ()


def test_order_matches_as_many_as_possible():
    shapes = [(1, 4), (1, 5), (1, 4), (1, 6)]
    tensors = [wanted(f"t{k}", shape) for k, shape in enumerate(shapes)]
    dumps = [dump(f"d{k}", np.zeros(shapes[i], np.int8)) for k, i in enumerate([1, 2, 3])]
    found = match(tensors, dumps, {})
    assert [(p.wanted.name, p.dump.name) for p in found.pairs] == [
        ("t1", "d0"), ("t2", "d1"), ("t3", "d2"),
    ]  # fmt: skip
    assert [w.name for w in found.missing] == ["t0"]


@pytest.mark.parametrize("present", [0, 1, 2])
def test_order_prefers_the_tensor_whose_values_agree(present):
    rng = np.random.default_rng(present)
    values = {f"t{k}": rng.integers(-128, 128, (1, 50)).astype(np.int8) for k in range(3)}
    tensors = [wanted(name, (1, 50)) for name in values]
    changed = values[f"t{present}"].copy()
    changed[0, :10] += 1
    found = match(tensors, [dump("d", changed)], values)
    assert [p.wanted.name for p in found.pairs] == [f"t{present}"]


def test_order_prefers_the_first_of_equals():
    values = {f"t{k}": np.zeros((1, 4), np.int8) for k in range(3)}
    tensors = [wanted(name, (1, 4)) for name in values]
    found = match(tensors, [dump("d", values["t0"])], values)
    assert [p.wanted.name for p in found.pairs] == ["t0"]
    assert match(tensors, [dump("d", np.zeros((1, 9), np.int8))], values).pairs == ()


def test_inputs_are_found_by_name_in_any_batch():
    graph = two_inputs()
    side = Side("d", "folder", tuple(Dump(t.name, "", t.values) for t in recorded().sequence()))
    found = inputs_in(side, graph)
    assert [(name, len(values)) for name, values in found.items()] == [("x_0", 3), ("x_1", 3)]


def test_only_input_may_be_the_first_dump():
    graph = npusim.models.digits_cnn()
    image = np.zeros((1, 8, 8, 1), np.int8)
    found = inputs_in(Side("d", "folder", (dump("a", image, raw=True),)), graph)
    assert np.array_equal(found["image"], image)


def test_inputs_that_are_not_there_are_asked_for():
    side = Side("dumps", "folder", tuple(dump(f"d{k}", IMAGE) for k in range(7)))
    with pytest.raises(ValueError) as caught:
        inputs_in(side, two_inputs())
    assert str(caught.value) == (
        "dumps: must hold the input x_0 of draft, got d0.npy, d1.npy, d2.npy, d3.npy, d4.npy "
        "and 2 more; name it with --input or --random"
    )
