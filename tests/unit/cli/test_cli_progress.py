import time

from isomorph.cli.progress import Progress


def test_what_is_quick_prints_nothing(capsys):
    with Progress() as progress:
        progress("loading", "a.onnx")
    assert capsys.readouterr().err == ""


def test_what_is_slow_prints_its_phase_outside_a_terminal(capsys):
    with Progress(patience=0.01, gap=0.0) as progress:
        progress("loading", "a.onnx")
        _until(lambda: progress._begun)
        progress("running\x1b[2J", "b.onnx")
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["isomorph: loading", "isomorph: running\\x1b[2J"]


def test_a_log_is_not_flooded(capsys):
    with Progress(patience=0.01, gap=60.0) as progress:
        progress("loading", "a.onnx")
        _until(lambda: progress._begun)
        for number in range(50):
            progress(f"phase {number}", "")
    assert capsys.readouterr().err == "isomorph: loading\n"


def test_on_a_terminal_the_line_shows_phase_and_detail(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    with Progress(patience=0.01) as progress:
        progress("running", "node_[red]7")
        _until(lambda: progress._status is not None)
        time.sleep(0.2)
    assert "node_[red]7" in capsys.readouterr().err


def test_a_phase_after_the_end_is_not_shown(capsys):
    with Progress(patience=0.01) as progress:
        pass
    time.sleep(0.05)
    progress("late", "")
    assert capsys.readouterr().err == ""


def _until(true):
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)
