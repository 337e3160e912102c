"""Histories: their summaries, their CSV file, their plain form."""

import csv
import json
import math

import pytest

from zo.cost import Cost
from zo.history import (
    Epoch,
    best_accuracy,
    final_accuracy,
    from_plain,
    read_lines,
    to_plain,
    write_csv,
    write_lines,
)


def history(corrects):
    """Epochs with so many of 200 right; epoch 0 comes first."""
    return [
        Epoch(i, 4 * (i > 0), correct, 200, 65536 * 300, 65536 * 90 * (i > 0), 60 * (i > 0),
              Cost(10 * i, 20 * i, 30 * i, 40 * i), 1.5 * i, ("a doubled", "b doubled")[: i % 3])
        for i, correct in enumerate(corrects)
    ]  # fmt: skip


def test_final_accuracy_is_the_mean_of_the_last_ten_trained_epochs():
    assert final_accuracy(history([200, 0, 100, *range(100, 119, 2)])) == sum(range(50, 60)) / 1000
    assert final_accuracy(history([200, 50, 100])) == 0.375
    assert math.isnan(final_accuracy(history([200])))


def test_best_accuracy_is_of_any_epoch():
    assert best_accuracy(history([20, 150, 40])) == 0.75
    assert best_accuracy(history([180, 150, 40])) == 0.9


def test_csv_has_means_per_image(tmp_path):
    write_csv(history([20, 150, 40]), tmp_path / "h.csv")
    with (tmp_path / "h.csv").open() as file:
        first, second, third = csv.DictReader(file)
    assert first["train_loss"] == ""
    assert first["events"] == ""
    assert second == {
        "epoch": "1", "q": "4", "accuracy": "0.750000", "loss": "1.500000",
        "train_loss": "1.500000", "forwards": "10", "macs": "20", "random_bits": "30",
        "bytes_written": "40", "seconds": "1.500", "events": "a doubled",
    }  # fmt: skip
    assert third["events"] == "a doubled; b doubled"


def test_epochs_round_trip_through_json():
    epochs = history([20, 150, 40])
    assert [from_plain(json.loads(json.dumps(to_plain(epoch)))) for epoch in epochs] == epochs


def test_lines_round_trip(tmp_path):
    path, epochs = tmp_path / "h.jsonl", history([20, 150, 40])
    write_lines(epochs, path)
    assert list(read_lines(path)) == epochs
    first, second, _ = map(json.loads, path.read_text().splitlines())
    assert first["events"] == []
    assert second == {
        "epoch": 1, "q": 4, "correct": 150, "total": 200, "loss": epochs[1].loss,
        "train_loss": epochs[1].train_loss, "images": epochs[1].images,
        "cost": {"forwards": 10, "macs": 20, "random_bits": 30, "bytes_written": 40},
        "seconds": 1.5, "events": ["a doubled"],
    }  # fmt: skip


@pytest.mark.parametrize("line", ["", "{}", "[1]", '{"epoch": 1', "null"])
def test_lines_that_are_no_epochs_are_refused(tmp_path, line):
    path = tmp_path / "h.jsonl"
    write_lines(history([20]), path)
    with path.open("a") as file:
        file.write(f"{line}\n")
    with pytest.raises(
        ValueError, match=r"h.jsonl: line 2 must be an epoch as zo train writes it, got "
    ):
        read_lines(path)
