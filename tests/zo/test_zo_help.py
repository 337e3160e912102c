"""`zo --help` and that of every command: as wide as a terminal."""

import pytest

from zo import cli


def test_help_fits_80_columns(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    for words in ([], *([command.name] for command in cli.COMMANDS)):
        with pytest.raises(SystemExit) as ended:
            cli.main([*words, "--help"])
        assert ended.value.code == 0
        assert [line for line in capsys.readouterr().out.splitlines() if len(line) > 80] == []
