"""Data sets by name: downloaded once, checked, and refused in one line."""

import hashlib
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import numpy as np
import pytest

from zo.data import DataError, fetch, load
from zo.data.fetch import REMOTE, Remote


@pytest.fixture
def remote(colours, tmp_path, monkeypatch):
    """The name eurosat stands for an archive that this machine serves; returns that archive."""
    monkeypatch.setenv("NPUSIM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.chdir(tmp_path)
    handler = partial(Quiet, directory=str(colours.parent))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/{colours.name}"
        digest = hashlib.sha256(colours.read_bytes()).hexdigest()
        monkeypatch.setitem(REMOTE, "eurosat", Remote(url, digest))
        yield colours
        server.shutdown()


class Quiet(SimpleHTTPRequestHandler):
    """A server of files that logs nothing."""

    def log_message(self, *_):
        """Nothing."""


def test_file_is_downloaded_once_and_loaded_by_name(remote, tmp_path):
    expected = load(remote)
    path = fetch("eurosat")
    assert path == tmp_path / "cache" / "data" / "colours.zip"
    assert path.read_bytes() == remote.read_bytes()
    remote.unlink()
    assert fetch("eurosat") == path
    actual = load("eurosat")
    assert actual.classes == expected.classes == ("b", "g", "r")
    assert np.array_equal(actual.labels, expected.labels)
    assert fetch("eurosat") == path


def test_a_damaged_file_is_downloaded_again(remote):
    path = fetch("eurosat")
    path.write_bytes(path.read_bytes()[:-1])
    assert fetch("eurosat").read_bytes() == remote.read_bytes()


def test_fetch_takes_a_folder(remote, tmp_path):
    assert fetch("eurosat", tmp_path / "mine") == tmp_path / "mine" / "colours.zip"


def test_fetch_rejects_another_file_and_keeps_none(remote, tmp_path, monkeypatch):
    monkeypatch.setitem(REMOTE, "eurosat", REMOTE["eurosat"]._replace(sha256="0" * 64))
    with pytest.raises(DataError, match=r"^eurosat: must be downloaded from http:.*SHA-256 000"):
        fetch("eurosat")
    assert list((tmp_path / "cache" / "data").iterdir()) == []


def test_fetch_says_why_nothing_came(remote):
    remote.unlink()
    with pytest.raises(DataError, match=r"^eurosat: must be .*, got 404 .*not found"):
        fetch("eurosat")


def test_fetch_rejects_unknown_names():
    with pytest.raises(DataError, match="data: name must be one of eurosat, stl10, got 'mnist'"):
        fetch("mnist")


def test_fetch_names_the_extra_where_pooch_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r'eurosat: pooch .* pip install "npusim\[data\]"'):
        fetch("eurosat")


def test_a_folder_of_that_name_is_preferred(remote, tmp_path):
    (tmp_path / "eurosat").mkdir()
    with pytest.raises(DataError, match=r"eurosat: must hold a folder of pictures per class"):
        load("eurosat")
