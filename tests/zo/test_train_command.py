"""`zo train` and `zo evaluate`: what is refused before the work, what a model remembers, phases."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import npusim
from npusim import models
from zo import measure_statistics
from zo.commands.origin import fingerprint, origin_of
from zo.data import load
from zo.history import read_lines
from zo.moments import enough_images, stored_statistics

MODEL = Path(models.__file__).parent / "digits_cnn.h5"
RUN = ["train", "--model", MODEL, "--output", "run", "--threads", 1, "--features", "none"]
SHORT = ["--batch", 20, "--epochs", 1, "--q", 1]


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def no_decoding(monkeypatch):
    """Any use of an image fails."""
    monkeypatch.setattr("zo.commands.train.to_input", None)


@pytest.mark.usefixtures("no_decoding")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--lr", "nan"], "method: lr must be finite and above 0, got nan"),
        (["--lr", 0], "method: lr must be finite and above 0, got 0.0"),
        (["--k", 127], "method: k must be 1..126 weight steps, got 127"),
        (["--q0", 128], "schedule: q_max must be an integer of at least 128, got 64"),
        (["--factor", 1], "schedule: factor must be above 1, got 1.0"),
        (["--momentum", 1], "method: momentum must be in 0..1, below 1, got 1.0"),
        (["--threshold", -1], "schedule: threshold must not be negative, got -1.0"),
        (["--q", 16, "--q0", 8],
         "--q: must stand alone, since it fixes q, got --q0 too; leave one of them out"),
        (["--q", 16, "--q-max", 8],
         "--q: must stand alone, since it fixes q, got --q-max too; leave one of them out"),
        (["--plan", "0:8", "--patience", 2],
         "--plan: must stand alone, since it fixes q, got --patience too; leave one of them out"),
        (["--plan", "3:8"], "schedule: a plan must say q for epoch 0, got {3: 8}"),
        (["--plan", "0:8", "0:9"], "--plan: must name an epoch once, got 0:8 0:9"),
        (["--schedule", "ramp", "--patience", 2],
         "--patience: must go with --schedule qscheduler, split_half, coefficients, dead_zone, got "
         "ramp"),
        (["--measure-costs"],
         "--measure-costs: must go with --schedule cost_aware, got qscheduler"),
        (["--q-max", 64, "--step-forwards", 9],
         "--q-max: must not be given beside a budget, got both; leave one out"),
        (["--schedule", "split_half", "--q0", 1],
         "schedule: q0 must be an integer of at least 2, got 1"),
        (["--warm-up", 0.5],
         "--warm-up: must be of a new classifier, got no --classes; give both"),
        (["--exact-head", "--trainable", "stem"],
         "train: exact_head needs the head's weights or bias among the trainable, got stem"),
        (["--resume"],
         "run: must hold checkpoint.npz to go on from, got none; start anew without --resume"),
        (["--exact-head", "--estimator", "sign"],
         "--estimator: must be of a tensor that zeroth order trains, got the head alone, by its "
         "exact gradient; leave it out or name a layer below"),
        (["--resume", "--overwrite"],
         "--resume and --overwrite: must not be given together, got both"),
        (["--data", "three", "--classes", 4],
         "three: --classes must be the 3 of the data, got 4"),
        (["--data", "three"],
         "three: must have the 10 classes of the model's classifier, got 3; put a new one on with "
         "--classes 3"),
    ],
)  # fmt: skip
def test_train_refuses_before_it_decodes(zo_command, options, message):
    for name in "abc":
        Path("three", name).mkdir(parents=True)
        Path("three", name, "x.png").write_bytes(b"no picture")
    code, out, err = zo_command(*RUN, "--data", "digits", *options)
    assert (code, out, err) == (2, "", f"zo: {message}\n")
    assert not Path("run").exists()


@pytest.mark.usefixtures("no_decoding")
@pytest.mark.parametrize("classes", [(), ("--classes", 10)])
def test_train_refuses_unknown_names_before_it_decodes(zo_command, classes):
    code, out, err = zo_command(*RUN, "--data", "digits", "--trainable", "nope", *classes)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "no weights or bias are called 'nope'" in err


@pytest.mark.parametrize(
    ("option", "value", "rule"),
    [
        ("--warm-up", "2", "must be a number in 0..1, got '2'"),
        ("--warm-up", "nan", "must be a number in 0..1, got 'nan'"),
        ("--warm-up", "a", "must be a number in 0..1, got 'a'"),
        ("--plan", "8", "must be EPOCH:Q, such as 20:16, got '8'"),
        ("--seed", "-1", "must be a whole number in 0..2^64-1, got '-1'"),
    ],
)
def test_options_out_of_range_are_refused(zo_command, option, value, rule):
    code, _, err = zo_command(*RUN, "--data", "digits", f"{option}={value}")
    assert (code, err) == (2, f"zo train: argument {option}: {rule}; try zo train --help\n")


def test_train_keeps_the_run_that_a_folder_holds(zo_command, inverted_digits):
    zo_command(*RUN, "--data", inverted_digits, *SHORT)
    before = Path("run/model.h5").read_bytes()
    code, out, err = zo_command(*RUN, "--data", inverted_digits, *SHORT, "--seed", 1)
    assert (code, out) == (2, "")
    assert err == (
        "zo: run: must hold no run, got model.h5, history.jsonl, history.csv, "
        "curves.png, checkpoint.npz; go on with --resume or replace it with --overwrite\n"
    )
    assert Path("run/model.h5").read_bytes() == before
    assert zo_command(*RUN, "--data", inverted_digits, *SHORT, "--seed", 1, "--overwrite")[0] == 0
    assert Path("run/model.h5").read_bytes() != before
    Path("run/checkpoint.npz").unlink()
    code, _, err = zo_command(*RUN, "--data", inverted_digits, *SHORT, "--resume")
    assert code == 2
    assert err == (
        "zo: run: must hold checkpoint.npz to go on from, got model.h5, history.jsonl, "
        "history.csv, curves.png; start anew with --overwrite\n"
    )


def test_model_remembers_its_data(zo_command, inverted_digits, tmp_path):
    zo_command(*RUN, "--data", inverted_digits, *SHORT)
    graph = npusim.load("run/model.h5")
    origin = origin_of(graph)
    assert origin == (240, 60, 0, fingerprint(load(inverted_digits)), tuple("0123456789"), None)
    source = load(inverted_digits)
    with np.load(inverted_digits) as arrays:
        np.savez("longer.npz", images=np.concatenate((arrays["images"], arrays["images"][:5])),
                 labels=np.concatenate((arrays["labels"], arrays["labels"][:5])))  # fmt: skip
    refused = (
        "zo: {}: must be the data set that the model was trained on to have its {} images, "
        "got another; use --part all\n"
    )
    for data, more, message in (
        ("longer.npz", (), refused.format("longer.npz", "validation")),
        ("digits", (), refused.format("digits/train", "validation")),
        ("digits", ("--part", "train"), refused.format("digits/train", "train")),
    ):
        assert zo_command("evaluate", "run/model.h5", "--data", data, *more) == (2, "", message)
    code, out, _ = zo_command("evaluate", "run/model.h5", "--data", "longer.npz", "--part", "all")
    assert code == 0
    assert "of 305), loss " in out
    assert out.endswith("\nclasses: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9\n")
    assert fingerprint(source) == origin.data


def test_model_remembers_its_classes(zo_command, colours):
    options = ["--classes", 3, "--train", 40, "--validation", 20, *SHORT]
    zo_command(*RUN, "--data", colours, *options)
    code, out, _ = zo_command("evaluate", "run/model.h5", "--data", colours)
    assert code == 0
    assert out.endswith("\nclasses: b, g, r\n")
    images, labels = np.zeros((4, 8, 8, 3), np.uint8), np.array([0, 1, 0, 1])
    np.savez("plain.npz", images=images, labels=labels)
    _, text, _ = zo_command("evaluate", "run/model.h5", "--data", "plain.npz", "--part", "all",
                            "--json")  # fmt: skip
    report = json.loads(text)
    assert report["classes"] == ["b", "g", "r"]
    assert 0 < report["loss"] < 100  # nat per image
    for name in "bgx":
        Path("other", name).mkdir(parents=True)
        Path("other", name, "1.png").write_bytes(b"")
    code, _, err = zo_command("evaluate", "run/model.h5", "--data", "other", "--part", "all")
    assert (code, err) == (
        2,
        "zo: other: classes must be those of training, b, g, r, got b, g, x; rename or remove "
        "class folders\n",
    )


def test_evaluate_names_the_data_of_a_label_too_high(zo_command):
    np.savez("d.npz", images=np.zeros((3, 8, 8), np.uint8), labels=np.array([0, 12, 3]))
    assert zo_command("evaluate", MODEL, "--data", "d.npz") == (
        2,
        "",
        "zo: d.npz: must have the 10 classes of the model at most, got 13; its labels are other "
        "things\n",
    )


def test_evaluate_names_the_folders_of_too_few_classes(zo_command):
    for name in "ab":
        Path("few", name).mkdir(parents=True)
        Path("few", name, "1.png").write_bytes(b"")
    assert zo_command("evaluate", MODEL, "--data", "few") == (
        2,
        "",
        "zo: few: must have a class folder for each of the 10 classes of the model, got 2; labels "
        "follow the order of the folders, so take pictures of every class\n",
    )


def test_model_has_the_statistics_that_adapt_goes_by(zo_command, inverted_digits):
    zo_command(*RUN, "--data", inverted_digits, *SHORT, "--train", 50)
    graph = npusim.load("run/model.h5")
    found = stored_statistics(graph)
    assert list(found) == ["conv2d_0", "conv2d_1", "depthwise_conv2d_0", "conv2d_2"]
    assert min(int(moments.deviation.max()) for moments in found.values()) > 0
    code, out, _ = zo_command("adapt", "run/model.h5", "--data", "digits", "--output", "a.h5")
    assert code == 0
    assert out.startswith("conv2d_0: ")


def test_statistics_take_no_more_images_than_fit():
    graph = models.digits_cnn()
    assert enough_images(graph) == 256
    large = npusim.load(MODEL, input_size=(256, 256))
    assert enough_images(large) == (2**23 - 1) // 256**2 == 127
    assert [enough_images(large, most) for most in (100, 2048)] == [100, 127]
    images = np.zeros((2, 256, 256, 1), np.int8)
    assert len(measure_statistics(npusim.Session(large), images)) == 4


def test_train_tells_every_phase_within_80_columns(zo_command, colours):
    options = ["--classes", 3, "--train", 40, "--validation", 20, *SHORT]
    code, out, _ = zo_command(*RUN, "--data", colours, *options)
    assert code == 0
    (line,) = (line for line in out.splitlines() if line.startswith("seconds "))
    phases = [phase.strip().rsplit(" ", 1)[0] for phase in line[len("seconds") :].split(",")]
    assert phases == ["pictures", "new head", "training", "statistics"]
    assert max(map(len, out.splitlines())) <= 80
    code, out, _ = zo_command(*RUN, "--data", colours, *options, "--overwrite", "--json")
    assert code == 0
    assert list(json.loads(out)["phases"]) == phases


@pytest.mark.parametrize(
    ("options", "path"),
    [
        (["--plan", "0:2", "2:3"], [2, 2, 3]),
        (["--schedule", "ramp", "--q0", 2, "--q-max", 4], [2, 3, 4]),
        (["--schedule", "power", "--q0", 2, "--q-max", 9, "--power", 1], [2, 4, 6]),
        (["--schedule", "dead_zone", "--q0", 1, "--threshold", 0.001, "--q-max", 8], [1, 2, 4]),
        (["--schedule", "cost_aware", "--q0", 2, "--step-forwards", 5], [2, 4, 4]),
        (["--q0", 2, "--ladder", 2, 5, "--patience", 1, "--threshold", 1], [2, 2, 5]),
        (["--q0", 2, "--budget-forwards", 48, "--patience", 1, "--threshold", 1], [2, 2, 3]),
    ],
)  # fmt: skip
def test_train_follows_the_schedule(zo_command, inverted_digits, options, path):
    few = ["--train", 80, "--validation", 40, "--batch", 20, "--epochs", 3]
    code, out, err = zo_command(*RUN, "--data", inverted_digits, *few, *options, "--json")
    assert (code, err) == (0, "")
    report = json.loads(out)
    steps = report["q"]
    assert ("costs" in report["schedule"]) == ("cost_aware" in options)
    assert [step["q"] for step in steps] == list(dict.fromkeys(path))
    assert [step["from epoch"] for step in steps] == [path.index(s["q"]) + 1 for s in steps]


def test_measured_costs_are_kept_for_a_resumed_run(zo_command, inverted_digits):
    few = ["--train", 80, "--validation", 40, "--batch", 20, "--epochs", 2]
    options = ["--schedule", "cost_aware", "--q0", 2, "--q-max", 4, "--measure-costs"]
    for last in ([], ["--resume"]):
        assert zo_command(*RUN, "--data", inverted_digits, *few, *options, *last)[0] == 0
    with np.load("run/checkpoint.npz") as file:
        saved = json.loads(file["meta"].tobytes())["numbers"]["scheduler"]
    assert [q for q, _ in saved["costs"]] == [2, 4]
    assert all(cost >= 1 for _, cost in saved["costs"])


def test_pixels_are_read_as_the_model_remembers(zo_command, inverted_digits, tmp_path):
    pixels = {"mean": [0.25], "std": [0.5]}
    graph = npusim.load(MODEL)
    remembering = replace(graph, provenance={"normalization": json.dumps(pixels)})
    npusim.save(remembering, "remembers.h5")
    given = ["--mean", 0.25, "--std", 0.5]
    for command in (["evaluate"], ["export-c", "--train", 40, "--validation", 20, "--q", 1,
                                   "--batch", 20, "--name", "digits"]):  # fmt: skip
        said = []
        for number, model in enumerate((["remembers.h5"], [MODEL, *given], [MODEL])):
            output = [] if command == ["evaluate"] else ["--output", f"c{number}"]
            code, out, err = zo_command(*command[:1], *model, *command[1:], *output,
                                        "--data", inverted_digits, "--json")  # fmt: skip
            assert (code, err) == (0, "")
            region = Path(f"c{number}/samples.bin")
            said.append(region.read_bytes() if output else out)
        assert said[0] == said[1] != said[2]


def test_train_remembers_the_pixels_of_a_quantised_model(zo_command, inverted_digits):
    pixels = {"mean": [0.25], "std": [0.5]}
    graph = npusim.load(MODEL)
    npusim.save(replace(graph, provenance={"normalization": json.dumps(pixels)}), "remembers.h5")
    few = ["--train", 80, "--validation", 40, "--threads", 1, "--features", "none"]
    histories = []
    for model in (["remembers.h5"], [MODEL, "--mean", 0.25, "--std", 0.5]):
        folder = f"run {len(histories)}"
        chosen = ["--data", inverted_digits, *few, *SHORT, "--output", folder]
        assert zo_command("train", "--model", *model, *chosen)[0] == 0
        epochs = read_lines(Path(folder) / "history.jsonl")
        histories.append([epoch._replace(seconds=0) for epoch in epochs])
        origin = origin_of(npusim.load(Path(folder) / "model.h5"))
        assert origin.normalization == ((0.25,), (0.5,))
    assert histories[0] == histories[1]
