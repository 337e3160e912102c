"""Long work tells how far it is, in a log too."""

from npusim import progress_bar


def test_work_in_a_log_writes_a_line_a_minute(monkeypatch, capsys):
    clock = [100.0]
    monkeypatch.setattr(progress_bar.time, "monotonic", lambda: clock[0])
    with progress_bar.bar("runs") as advance:
        for done in range(1, 6):
            clock[0] += 40
            advance(done, 1200)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "runs: 2 of 1,200\nruns: 4 of 1,200\n"


def test_short_work_in_a_log_writes_nothing(capsys):
    with progress_bar.bar("runs") as advance:
        advance(1, 1)
    assert capsys.readouterr() == ("", "")
