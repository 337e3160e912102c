"""`npusim --help` and that of every command: whole, and as wide as a terminal."""

import pytest

from npusim import cli
from npusim.profiles import PROFILES


def helped(words, capsys):
    """Exit code and text of a command's help."""
    with pytest.raises(SystemExit) as ended:
        cli.main([*words, "--help"])
    return ended.value.code, capsys.readouterr().out


def test_help_fits_80_columns(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    names = ["inspect", "run", "convert", *(command.name for command in cli.COMMANDS)]
    for words in ([], *([name] for name in names)):
        code, out = helped(words, capsys)
        assert code == 0
        assert [line for line in out.splitlines() if len(line) > 80] == []


def test_help_names_every_profile(capsys):
    _, out = helped([], capsys)
    for profile in PROFILES.values():
        assert f"  {profile.name:<16} {profile.reference}\n" in out
