"""Features of frozen layers on disk: found by content, whole or not at all."""

import threading

import numpy as np
import pytest
from training_tasks import digits_task

from npusim import Session
from npusim.head import until_features
from zo.adapt import adapt
from zo.atomic import replace_file
from zo.features import frozen_rows
from zo.moments import measure_statistics


@pytest.fixture(scope="module")
def task():
    return digits_task(30, 20)


def files(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_features_are_computed_once(task, tmp_path):
    session = Session(task.graph, trainable=["head"], threads=1)
    calls = []
    first = frozen_rows(session, task.train, tmp_path, lambda *done: calls.append(done))
    assert calls == [(30, 30)]
    assert np.array_equal(first.rows, session.prefix(task.train.images()).rows)
    again = frozen_rows(session, task.train, tmp_path, lambda *done: calls.append(done))
    assert calls == [(30, 30)]
    assert np.array_equal(again.rows, first.rows)
    assert len(files(tmp_path)) == 1


def test_the_graph_before_a_head_finds_the_same_file(task, tmp_path):
    frozen_rows(Session(until_features(task.graph), threads=1), task.train, tmp_path)
    frozen_rows(Session(task.graph, trainable=["head"], threads=2), task.train, tmp_path)
    assert len(files(tmp_path)) == 1


def test_other_images_layers_and_biases_are_other_files(task, tmp_path):
    session = Session(task.graph, trainable=["head"], threads=1)
    frozen_rows(session, task.train, tmp_path)
    frozen_rows(session, task.validation, tmp_path)
    frozen_rows(Session(task.graph, trainable=["pointwise"], threads=1), task.train, tmp_path)
    assert len(files(tmp_path)) == 3
    statistics = measure_statistics(session, task.train.map(np.invert).images())
    adapt(session, task.train.images(), statistics)
    adapted = frozen_rows(session, task.train, tmp_path)
    assert len(files(tmp_path)) == 4
    assert np.array_equal(adapted.rows, session.prefix(task.train.images()).rows)


@pytest.mark.parametrize("damage", ["truncated", "empty", "rubbish"])
def test_damaged_file_is_replaced(task, tmp_path, damage):
    session = Session(task.graph, trainable=["head"], threads=1)
    expected = frozen_rows(session, task.train, tmp_path).rows
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    path.write_bytes({"truncated": whole[:-9], "empty": b"", "rubbish": b"x" * 400}[damage])
    assert np.array_equal(frozen_rows(session, task.train, tmp_path).rows, expected)
    assert path.read_bytes() == whole


def test_writers_at_the_same_time_leave_a_whole_file(tmp_path):
    path = tmp_path / "f"
    contents = [bytes([i]) * 200_000 for i in range(8)]
    threads = [
        threading.Thread(target=replace_file, args=(path, lambda f, c=c: f.write(c)))
        for c in contents
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() in contents
    assert files(tmp_path) == ["f"]


def test_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"old")

    def fail(file):
        file.write(b"half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        replace_file(path, fail)
    assert path.read_bytes() == b"old"
    assert files(tmp_path) == ["f"]
