"""The `npusim` command: what it prints and writes, its exit codes, its one-line errors."""

import json
import shlex
import subprocess
import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from oracles import tflite_builder
from rich.console import Console

import npusim
from npusim import cli, models
from npusim.describe import describe
from npusim.describe_page import dimensions, page

MODEL = Path(models.__file__).parent / "digits_cnn.h5"


@pytest.fixture
def npusim_command(capsys):
    """Runs the command in this process: (exit code, standard output, standard error)."""

    def run(*arguments):
        try:
            code = cli.main([str(argument) for argument in arguments])
        except SystemExit as error:
            code = error.code
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture(scope="module")
def images():
    return models.to_int8(models.digits().test.images[:5])


@pytest.fixture(scope="module")
def logits(images):
    return npusim.Session(models.digits_cnn()).run(images)


def digest(array):
    return sha256(array.tobytes()).hexdigest()


def test_inspect_shows_every_node_and_the_totals(npusim_command):
    code, out, err = npusim_command("inspect", MODEL)
    graph = models.digits_cnn()
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert lines[0].startswith(
        f"{graph.name}: profile tflm, accumulator 32 bits, wrap, layout NHWC"
    )
    table = lines.index(next(line for line in lines if line.startswith("node ")))
    rows = [line.split() for line in lines[table + 1 : table + 1 + len(graph.nodes)]]
    assert [row[0] for row in rows] == [node.name for node in graph.nodes]
    assert [row[1] for row in rows] == [node.op for node in graph.nodes]
    assert f"{npusim.Session(graph).macs:,} MACs" in out


def test_inspect_json_agrees_with_the_graph(npusim_command):
    code, out, _ = npusim_command("inspect", MODEL, "--json")
    facts, graph = json.loads(out), models.digits_cnn()
    assert code == 0
    assert facts["totals"]["macs"] == npusim.Session(graph).macs
    assert facts["totals"]["bits"] == max(layer["bits"] or 0 for layer in facts["layers"])
    for layer, node in zip(facts["layers"], graph.nodes, strict=True):
        assert tuple(layer["shape"]) == graph.tensors[node.outputs[0]].shape
        if layer["bound"] is not None:
            assert 2 ** (layer["bits"] - 2) <= layer["bound"] < 2 ** (layer["bits"] - 1)


def test_inspect_shows_the_file_and_what_it_was_made_from(npusim_command, tmp_path):
    graph = replace(models.digits_cnn(), provenance={"file": "a.tflite", "format": "tflite 3",
                                                     "sha256": "1" * 64})  # fmt: skip
    npusim.save(graph, tmp_path / "m.h5")
    data = (tmp_path / "m.h5").read_bytes()
    own = sha256(data).hexdigest()
    lines = npusim_command("inspect", tmp_path / "m.h5")[1].splitlines()
    assert lines[1:5] == [f"file    m.h5, {len(data):,} bytes", f"sha256  {own}",
                          "from    a.tflite (tflite 3)", f"sha256  {'1' * 64}"]  # fmt: skip
    facts = json.loads(npusim_command("inspect", tmp_path / "m.h5", "--json")[1])
    assert facts["file"] == {"name": "m.h5", "bytes": len(data), "sha256": own}
    assert facts["provenance"] == dict(graph.provenance)


def test_inspect_finds_accumulators_that_may_overflow(npusim_command):
    code, out, _ = npusim_command("inspect", MODEL, "--accumulator", "12:saturate", "--json")
    facts = json.loads(out)
    narrow = [layer for layer in facts["layers"] if (layer["bits"] or 0) > 12]
    assert code == 1
    assert facts["accumulator"] == {"bits": 12, "overflow": "saturate"}
    assert facts["totals"]["unproven"] == [layer["node"] for layer in narrow] != []
    assert all(layer["kernel"] == layer["op"] + "_ordered" for layer in narrow)
    code, out, _ = npusim_command("inspect", MODEL, "--accumulator", "12")
    assert code == 1
    assert f"{len(narrow)} layers may overflow 12 bits, first {narrow[0]['node']} (" in out


@pytest.mark.parametrize("width", [60, 80, 100, 132, 400])
def test_page_fits_the_terminal(width):
    graph = models.digits_cnn()
    long = tuple(
        replace(n, name=f"block/{'very/' * 40}long/name_{i}") for i, n in enumerate(graph.nodes)
    )
    for shown in (graph, replace(graph, nodes=long, name="n" * 300)):
        lines = page(describe(shown), Console(width=width, color_system=None)).splitlines()
        assert max(len(line) for line in lines) <= width
        start = next(k for k, line in enumerate(lines) if line.startswith("node "))
        for line, node in zip(lines[start + 1 :], shown.nodes, strict=False):
            assert line.split()[0][-5:] == node.name[-5:]
            assert dimensions(graph.tensors[node.outputs[0]].shape) in line
        assert ("left out to fit the terminal" in " ".join(lines[-2:])) == (width < 132)


def test_narrow_page_keeps_the_rounding_rules():
    """Kernels and counts of weights go first."""
    text = page(describe(models.digits_cnn()), Console(width=80, color_system=None))
    header = next(line for line in text.splitlines() if line.startswith("node "))
    assert header.split() == ["node", "output", "type", "rounding", "MACs", "bound", "bits"]


def test_run_digest_is_that_of_the_codes(npusim_command, tmp_path, images, logits):
    np.save(tmp_path / "x.npy", images)
    code, out, err = npusim_command("run", MODEL, "--input", tmp_path / "x.npy")
    assert (code, err) == (0, "")
    assert out.splitlines()[:2] == ["logits: int8 5x10", f"sha256  {digest(logits)}"]
    assert out.splitlines()[2].split() == ["0", *map(str, logits[0])]


def test_run_json_holds_all_that_decides_about_the_codes(npusim_command, tmp_path, images, logits):
    np.save(tmp_path / "x.npy", images)
    arguments = ("--input", tmp_path / "x.npy", "--accumulator", "24:saturate", "--json")
    facts = json.loads(npusim_command("run", MODEL, *arguments)[1])
    data = MODEL.read_bytes()
    assert list(facts) == ["file", "model", "profile", "accumulator", "inputs", "outputs"]
    assert facts["file"] == {"name": MODEL.name, "bytes": len(data),
                             "sha256": sha256(data).hexdigest()}  # fmt: skip
    assert facts["accumulator"] == {"bits": 24, "overflow": "saturate"}
    assert [(x["tensor"], x["shape"], x["sha256"]) for x in facts["inputs"]] == [
        ("image", [5, 8, 8, 1], digest(images))
    ]
    assert facts["outputs"][0]["sha256"] == digest(logits)


def test_run_reads_every_kind_of_file(npusim_command, tmp_path, images, logits):
    from PIL import Image

    pixels = (images[:1].astype(np.int16) + 128).astype(np.uint8)
    np.save(tmp_path / "codes.npy", images[:1])
    np.save(tmp_path / "alone.npy", images[0])
    np.save(tmp_path / "pixels.npy", pixels)
    np.save(tmp_path / "real.npy", (images[:1].astype(np.float32) + 128) / 256)
    np.savez(tmp_path / "one.npz", anything=images[:1])
    np.savez(tmp_path / "set.npz", images=pixels, labels=np.zeros(1))
    images[:1].tofile(tmp_path / "codes.bin")
    Image.fromarray(pixels[0, :, :, 0]).save(tmp_path / "picture.png")
    names = ("codes.npy", "alone.npy", "pixels.npy", "real.npy", "one.npz", "set.npz:images",
             "codes.bin", "picture.png")  # fmt: skip
    for name in names:
        _, out, err = npusim_command("run", MODEL, "--input", f"{tmp_path}/{name}", "--json")
        assert json.loads(out)["outputs"][0]["sha256"] == digest(logits[:1]), (name, err)


def test_run_normalises_pictures(npusim_command, tmp_path, images, logits):
    pixels = (images.astype(np.int16) + 128).astype(np.uint8)
    np.save(tmp_path / "pixels.npy", pixels)
    # (pixel/255 - 0) / (256/255) is pixel/256, and the input's scale is 1/256
    options = ("--mean", "0", "--std", str(256 / 255), "--json")
    _, out, _ = npusim_command("run", MODEL, "--input", tmp_path / "pixels.npy", *options)
    assert json.loads(out)["outputs"][0]["sha256"] == digest(logits)


def test_run_random_is_reproducible(npusim_command):
    outputs = [npusim_command("run", MODEL, "--random", seed, "--json")[1] for seed in (1, 1, 2)]
    assert outputs[0] == outputs[1] != outputs[2]


def test_run_writes_outputs(npusim_command, tmp_path, images, logits):
    np.save(tmp_path / "x.npy", images)
    for name in ("y.npy", "y.npz"):
        npusim_command("run", MODEL, "--input", tmp_path / "x.npy", "--output", tmp_path / name)
    assert np.array_equal(np.load(tmp_path / "y.npy"), logits)
    with np.load(tmp_path / "y.npz") as written:
        assert list(written) == ["logits"]
        assert np.array_equal(written["logits"], logits)


def test_run_trace_holds_every_tensor(npusim_command, tmp_path, images, logits):
    np.save(tmp_path / "x.npy", images)
    arguments = ("run", MODEL, "--input", tmp_path / "x.npy", "--trace", tmp_path / "layers")
    code, out, _ = npusim_command(*arguments)
    index = json.loads((tmp_path / "layers" / "index.json").read_text())
    graph = models.digits_cnn()
    assert code == 0
    assert [entry["node"] for entry in index["tensors"]] == [None, *(n.name for n in graph.nodes)]
    for entry in index["tensors"]:
        array = np.load(tmp_path / "layers" / entry["file"])
        assert entry["sha256"] == digest(array)
        assert entry["shape"] == list(array.shape)
    assert np.array_equal(array, logits)
    assert f"sha256  {digest(logits)}" in out
    code, _, err = npusim_command(*arguments)
    assert code == 2
    assert "layers: trace folder must be empty; remove its files or name another" in err


def test_run_top_ranks_the_classes(npusim_command, tmp_path, images, logits):
    np.save(tmp_path / "x.npy", images)
    (tmp_path / "labels.txt").write_text("".join(f"digit {i}\n" for i in range(10)))
    options = ("--top", 3, "--labels", tmp_path / "labels.txt", "--json")
    _, out, _ = npusim_command("run", MODEL, "--input", tmp_path / "x.npy", *options)
    tops = json.loads(out)["outputs"][0]["top"]
    for row, ranks in zip(logits, tops, strict=True):
        best = sorted(range(10), key=lambda i: (-int(row[i]), i))[:3]
        assert [rank["number"] for rank in ranks] == best
        assert [rank["label"] for rank in ranks] == [f"digit {i}" for i in best]
        assert [rank["code"] for rank in ranks] == [int(row[i]) for i in best]


def test_convert_writes_an_equal_graph(npusim_command, tmp_path):
    code, out, _ = npusim_command("convert", MODEL, tmp_path / "m.h5", "--accumulator", "20:error")
    graph = npusim.load(tmp_path / "m.h5")
    assert code == 0
    assert replace(graph, accumulator=None) == models.digits_cnn()
    assert graph.accumulator == npusim.Accumulator(20, "error")
    assert f"sha256  {sha256((tmp_path / 'm.h5').read_bytes()).hexdigest()}" in out


def test_convert_reads_tflite_and_other_sizes(npusim_command, tmp_path):
    weights = np.arange(-27, 27, dtype=np.int8).reshape(2, 3, 3, 3)
    tensors = [
        tflite_builder.Tensor("x", (1, 9, 9, 3), np.int8, 0.5, 3),
        tflite_builder.constant("weights", weights, [0.25, 0.125]),
        tflite_builder.constant("bias", np.array([5, -9], np.int32), [0.125, 0.0625]),
        tflite_builder.Tensor("y", (1, 7, 7, 2), np.int8, 16.0, -1),
    ]
    convolution = tflite_builder.conv_2d((0, 1, 2), 3, tflite_builder.Window())
    (tmp_path / "m.tflite").write_bytes(tflite_builder.model(tensors, [convolution]))
    size = ("--input-size", "12x10")
    assert npusim_command("convert", tmp_path / "m.tflite", tmp_path / "m.h5", *size)[0] == 0
    assert npusim.load(tmp_path / "m.h5").tensor("y").shape == (1, 10, 8, 2)
    digests = [
        npusim_command("run", tmp_path / name, "--random", 3, *size)[1]
        for name in ("m.tflite", "m.h5")
    ]
    assert digests[0] == digests[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("inspect missing.tflite", "npusim: missing.tflite: must be a model file, got nothing at "
         "this path"),
        ("inspect .", "npusim: .: must be a model file, got a folder"),
        ("inspect text.tflite", "npusim: text.tflite: must be a .tflite or npusim .h5 file, got "
         "content that starts with b'hello\\n'"),
        ("inspect MODEL --input-size 8x0", "npusim inspect: argument --input-size: must be H or "
         "HxW in pixels, got '8x0'; try npusim inspect --help"),
        ("inspect MODEL --accumulator 7", "npusim inspect: argument --accumulator: bits must be "
         "8..64, got 7; try npusim inspect --help"),
        ("inspect MODEL --accumulator 8:clip", "npusim inspect: argument --accumulator: overflow "
         "must be wrap, saturate or error, got 'clip'; try npusim inspect --help"),
        ("inspect MODEL --profile tosa", "npusim inspect: argument --profile: invalid choice: "
         "'tosa' (choose from 'litert-ref', 'litert-x86', 'neural-art', 'onnx', 'single-rounding', "
         "'tflm', 'xnnpack'); try npusim inspect --help"),
        ("inspect", "npusim inspect: the following arguments are required: MODEL; try npusim "
         "inspect --help"),
        ("run MODEL", "npusim run: one of the arguments --input --random is required; try npusim "
         "run --help"),
        ("run MODEL --random 1 --threads 0", "npusim run: argument --threads: must be a whole "
         "number of 1 or more, got '0'; try npusim run --help"),
        ("run MODEL --random=-1", "npusim run: argument --random: must be a whole number in "
         "0..2^64-1, got '-1'; try npusim run --help"),
        ("run MODEL --random 1 --accumulator 12:error", "npusim: conv2d_0/conv2d: accumulator: "
         "must stay in 12 bits, got "),
        ("run MODEL --random 1 --mean 0.5", "npusim: --mean and --std: must be given together, "
         "got one of them"),
        ("run MODEL --input shape.npy --mean 0 --std 1", "npusim: shape.npy: mean and std must be "
         "for pixels, which are uint8, got int8; leave them out"),
        ("run MODEL --input short.bin --mean 0 --std 1", "npusim: short.bin: mean and std must be "
         "for pixels, which are uint8, got raw codes; leave them out"),
        ("run MODEL --random 1 --mean 0 --std 1", "npusim: --random: must come without --mean and "
         "--std, which are for pixels"),
        ("run MODEL --input pixels.npy --mean nan --std 1", "npusim: pixels.npy: mean must be "
         "finite, got nan"),
        ("run MODEL --input empty.npy", "npusim: empty.npy: must hold an image or more, got shape "
         "(0, 8, 8, 1)"),
        ("run MODEL --input empty.npy --top 1", "npusim: empty.npy: must hold an image or more, "
         "got shape (0, 8, 8, 1)"),
        ("run MODEL --random 1 --labels text.tflite", "npusim: --labels: must name the classes "
         "that --top shows, got no --top"),
        ("run MODEL --random 1 --top 1 --labels eleven.txt", "npusim: labels: must name the 10 "
         "classes of logits, got 11"),
        ("run MODEL --input missing.npy", "npusim: missing.npy: no such file or directory"),
        ("run MODEL --input text.tflite", "npusim: text.tflite: input must be .npy, .npz, "
         ".npz:NAME, .bin or a picture, got .tflite"),
        ("run MODEL --input text.npy", "npusim: text.npy: must be a NumPy file of plain arrays, "
         "got: "),
        ("run MODEL --input pickle.npy", "npusim: pickle.npy: must be a NumPy file of plain "
         "arrays, got: Object arrays cannot be loaded"),
        ("run MODEL --input shape.npy", "npusim: input image: shape must be (batch, 8, 8, 1), got "
         "(5, 9, 8, 1)"),
        ("run MODEL --input int32.npy", "npusim: input image: type must be int8 (codes) or "
         "floating (real numbers), got int32"),
        ("run MODEL --input nan.npy", "npusim: input image: real numbers must not be NaN"),
        ("run MODEL --input two.npz", "npusim: two.npz: must hold one array or name one, as in "
         "file.npz:NAME, got ['a', 'b']"),
        ("run MODEL --input two.npz:c", "npusim: two.npz:c: must hold one array or name one, as "
         "in file.npz:NAME, got ['a', 'b']"),
        ("run MODEL --input short.bin", "npusim: short.bin: must hold a multiple of 64 bytes, one "
         "int8 (8, 8, 1) after the other, got 6"),
        ("run MODEL --input text.png", "npusim: text.png: must decode as a picture, got "
         "UnidentifiedImageError; remove or replace the file"),
        ("run MODEL --random 1 --output y.txt", "npusim: y.txt: output must be .npz, or .npy for "
         "1 tensor, got .txt"),
        ("run MODEL --random 1 --top 1 --labels text.tflite", "npusim: labels: must name the "
         "10 classes of logits, got 1"),
        ("convert MODEL m.tflite", "npusim: m.tflite: output must be .h5, got .tflite"),
        ("convert MODEL folder/m.h5", "npusim: folder/m.h5: output must lie in a folder that "
         "exists, got folder"),
        ("explode", "npusim: argument COMMAND: invalid choice: 'explode' "),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_exit_code_2(
    npusim_command, wrong_files, monkeypatch, arguments, message
):
    monkeypatch.chdir(wrong_files)
    words = [str(MODEL) if word == "MODEL" else word for word in arguments.split()]
    code, out, err = npusim_command(*words)
    assert code == 2
    assert out == ""
    assert err.startswith(message)
    assert err.count("\n") == 1


@pytest.fixture(scope="module")
def wrong_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wrong")
    for name in ("text.tflite", "text.npy", "text.png", "short.bin"):
        (folder / name).write_text("hello\n")
    np.save(folder / "pickle.npy", np.array([object()]), allow_pickle=True)
    np.save(folder / "shape.npy", np.zeros((5, 9, 8, 1), np.int8))
    np.save(folder / "int32.npy", np.zeros((5, 8, 8, 1), np.int32))
    (folder / "eleven.txt").write_text("name\n" * 11)
    np.save(folder / "pixels.npy", np.zeros((5, 8, 8, 1), np.uint8))
    np.save(folder / "empty.npy", np.zeros((0, 8, 8, 1), np.int8))
    np.save(folder / "nan.npy", np.full((5, 8, 8, 1), np.nan, np.float32))
    np.savez(folder / "two.npz", a=np.zeros(1), b=np.zeros(1))
    return folder


def test_missing_pillow_names_the_extra(npusim_command, tmp_path, monkeypatch):
    (tmp_path / "x.png").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "PIL", None)
    code, _, err = npusim_command("run", MODEL, "--input", tmp_path / "x.png")
    assert code == 2
    assert err == ('npusim: pictures: need Pillow, which is not installed; '
                   'pip install "npusim[images]"\n')  # fmt: skip


def test_interrupt_and_closed_pipe_leave_no_traceback(npusim_command, monkeypatch):
    call = f"sys.exit(main(['inspect', {str(MODEL)!r}]))"
    program = f"import sys; from npusim.cli import main; {call}"
    reader_gone = subprocess.run(
        f"{shlex.quote(sys.executable)} -u -c {shlex.quote(program)} | true; "
        "exit ${PIPESTATUS[0]}",
        shell=True, executable="/bin/bash", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (reader_gone.returncode, reader_gone.stderr) == (141, "")

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("npusim.commands.describe", interrupt)
    assert npusim_command("inspect", MODEL) == (130, "", "")


def test_help_shows_examples_that_parse():
    parser = cli.parser()
    (commands,) = (a.choices for a in parser._actions if isinstance(a.choices, dict))
    for name, command in commands.items():
        text = command.format_help()
        assert "exit status:\n  0    done\n" in text
        examples = text.partition("examples:\n")[2].partition("\n\n")[0].replace("\\\n", " ")
        lines = [line.split("|")[0] for line in examples.splitlines()]
        lines = [line for line in lines if not line.startswith("  make ")]
        assert lines
        for line in lines:
            words = shlex.split(line)
            assert words[:2] == ["npusim", name]
            parser.parse_args(words[1:])
