"""A run's page: its numbers are those of the run, and it needs nothing beside it."""

import base64
import re
from io import BytesIO

import numpy as np
import pytest
from one_node import activation, pointwise
from PIL import Image

from npusim import Session, load, models
from zo.cost import Cost
from zo.data import in_memory
from zo.history import Epoch, read_lines, write_lines
from zo.report import judge, layer_facts
from zo.report.facts import BINS


@pytest.fixture
def digits(tmp_path, monkeypatch):
    """A run of two epochs on dim digits in `run`, its data in `dim.npz`."""
    monkeypatch.chdir(tmp_path)
    train = models.digits().train
    images = models.to_int8(models.low_contrast(train.images[:300]))
    np.savez("dim.npz", images=images, labels=train.labels[:300])
    return tmp_path


def trained(zo_command):
    model = models.__file__.replace("__init__.py", "digits_cnn.h5")
    return zo_command("train", "--model", model, "--data", "dim.npz", "--epochs", 2, "--q", 4,
                      "--output", "run")  # fmt: skip


def test_the_page_says_what_the_run_was(digits, zo_command):
    assert trained(zo_command)[0] == 0
    assert zo_command("report", "run", "--data", "dim.npz") == (0, "written run/report.html\n", "")
    text = (digits / "run" / "report.html").read_text("utf-8")
    history = read_lines(digits / "run" / "history.jsonl")
    last = history[-1]
    assert f"{last.correct} of {last.total} validation images" in text
    assert f"{last.cost.macs:,}" in text
    wrong = last.total - last.correct
    assert f"{wrong} of {last.total} wrong." in " ".join(text.split())
    assert len(re.findall("<figcaption><b>", text)) == min(wrong, 24)
    counts = [int(n) for n in re.findall(r'<td class="[a-z]+"[^>]*>(\d+)</td>', text)]
    assert sum(counts) == last.total
    assert sum(counts[::11]) == last.correct
    for node in load(digits / "run" / "model.h5").nodes:
        if node.op in ("conv2d", "depthwise_conv2d", "fully_connected"):
            assert f'<td class="code">{node.name}</td>' in text


def test_the_page_needs_nothing_beside_it(digits, zo_command):
    trained(zo_command)
    zo_command("report", "run", "--data", "dim.npz", "--output", "a.html")
    zo_command("report", "run", "--data", "dim.npz", "--output", "b.html")
    text = (digits / "a.html").read_text("utf-8")
    assert text == (digits / "b.html").read_text("utf-8")
    assert "<script" not in text
    links = re.findall(r'(?:src|href)="([^"]*)"', text)
    assert {link[:5] for link in links} <= {"data:", *(x[:5] for x in links if x[0] == "#")}
    picture = next(link for link in links if link.startswith("data:image/png;base64,"))
    drawn = Image.open(BytesIO(base64.b64decode(picture.split(",")[1])))
    assert drawn.size == (112, 112)


def test_without_data_the_page_says_what_is_missing(digits, zo_command):
    trained(zo_command)
    assert zo_command("report", "run")[0] == 0
    text = (digits / "run" / "report.html").read_text("utf-8")
    assert "Name the images with --data" in text
    assert "confusion" not in text.split("</style>")[1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "run: must be a folder of zo train, got one without history.jsonl"),
        ("", "run/history.jsonl: must hold an epoch at least, got none"),
        ("{}\n", "run/history.jsonl: line 1 must be an epoch as zo train writes it, got '{}'"),
    ],
)
def test_a_folder_without_a_history_is_refused(digits, zo_command, content, message):
    (digits / "run").mkdir()
    if content is not None:
        (digits / "run" / "history.jsonl").write_text(content)
    assert zo_command("report", "run") == (2, "", f"zo: {message}\n")


def test_a_history_comes_back_exactly(tmp_path):
    history = (
        Epoch(0, 0, 5, 9, 2**40 + 1, 0, 0, Cost(), 0.0),
        Epoch(1, 8, 6, 9, 2**40, 2**39 + 7, 64, Cost(9, 2**60, 3, 4), 0.1 + 0.2, ("a", "b")),
    )
    write_lines(history, tmp_path / "h.jsonl")
    assert read_lines(tmp_path / "h.jsonl") == history
    assert len((tmp_path / "h.jsonl").read_text().splitlines()) == 2


def test_codes_of_weights_and_outputs_are_counted():
    weights = np.array([[-128, 127, 3, 3], [0, 0, 0, 0], [-4, -4, -5, 9]], np.int8)
    y = activation((1, 1, 1, 3), 0.5)
    graph = pointwise(0.5, weights, y, [0.04, 0.04, 0.04])
    images = np.random.default_rng(0).integers(-128, 128, (40, 1, 1, 4)).astype(np.int8)
    (layer,) = layer_facts(graph, images)
    assert (layer.weights, layer.at_rail, layer.dead) == (12, 2, 1)
    expected = np.zeros(BINS, int)
    for code in weights.reshape(-1).tolist():
        expected[(code + 128) // 4] += 1
    assert layer.histogram.tolist() == expected.tolist()
    outputs = Session(graph).run(images)
    assert layer.outputs.sum() == outputs.size
    assert layer.saturated == pytest.approx(np.mean((outputs == -128) | (outputs == 127)))
    assert layer.saturated > 0


def test_answers_are_counted_and_the_worst_come_first(digits):
    graph = models.digits_cnn()
    part = models.digits().test
    data = in_memory("digits", models.to_int8(models.low_contrast(part.images)), part.labels)
    found = judge(graph, data)
    logits = Session(graph).run(data.images()).astype(int)
    answers = logits.argmax(1)
    assert np.trace(found.counts) == (answers == part.labels).sum()
    assert found.counts[3, 5] == ((part.labels == 3) & (answers == 5)).sum()
    margins = [logits[w.row, w.answer] - logits[w.row, w.label] for w in found.wrong]
    assert margins == [w.margin for w in found.wrong] == sorted(margins, reverse=True)
    assert {w.row for w in found.wrong} == set(np.flatnonzero(answers != part.labels))
