"""What tests of the `zo` command share."""

import signal
import zipfile
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from npusim import models
from zo import cli
from zo.run import Run


@pytest.fixture
def zo_command(capsys):
    """Runs the command in this process: (exit code, standard output, standard error)."""

    def run(*arguments):
        try:
            code = cli.main([str(argument) for argument in arguments])
        except SystemExit as error:
            code = error.code
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def ctrl_c_in_step_3(monkeypatch):
    """Ctrl-C arrives in the third training step; the steps that were taken."""
    step, taken = Run.train_step, []

    def interrupted(run, *arguments):
        taken.append(arguments)
        if len(taken) == 3:
            signal.raise_signal(signal.SIGINT)
        return step(run, *arguments)

    monkeypatch.setattr(Run, "train_step", interrupted)
    return taken


@pytest.fixture(scope="module")
def inverted_digits(tmp_path_factory):
    """An .npz of 300 inverted digits."""
    labelled = models.digits().train
    path = tmp_path_factory.mktemp("data") / "inverted.npz"
    pixels = np.minimum(models.inverted(labelled.images[:300]).astype(int) * 16, 255)
    np.savez(path, images=pixels.astype(np.uint8), labels=labelled.labels[:300])
    return path


@pytest.fixture
def colours(tmp_path):
    """A zip archive of 60 plain pictures in three classes."""
    path = tmp_path / "colours.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for i in range(60):
            data = BytesIO()
            level = 40 + i
            colour = [(level, 0, 0), (0, level, 0), (0, 0, level)][i % 3]
            Image.new("RGB", (9, 7), colour).save(data, "PNG")
            archive.writestr(f"set/{'rgb'[i % 3]}/{i}.png", data.getvalue())
    return path
