import time

from isomorph.cli.progress import Progress


def test_what_is_quick_prints_nothing(capsys):
    with Progress() as progress:
        progress("loading", "a.onnx")
    assert capsys.readouterr().err == ""


def test_what_is_slow_prints_its_phase_outside_a_terminal(capsys):
    clock = [100.0]
    with Progress(delay=0.01, gap=0.0, now=lambda: clock[0]) as progress:
        progress("loading", "a.onnx")
        _until(lambda: progress._begun)
        clock[0] = 112.4
        progress.step(2, 4)
        progress("running\x1b[2J", "b.onnx")
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["isomorph: 0 s: loading", "isomorph: step 2 of 4, 12 s: running\\x1b[2J"]


def test_a_log_is_not_flooded(capsys):
    with Progress(delay=0.01, gap=60.0, now=lambda: 0.0) as progress:
        progress("loading", "a.onnx")
        _until(lambda: progress._begun)
        for number in range(50):
            progress(f"phase {number}", "")
    assert capsys.readouterr().err == "isomorph: 0 s: loading\n"


def test_on_a_terminal_the_line_shows_phase_and_detail(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    with Progress(delay=0.01, now=lambda: 7.0) as progress:
        progress.step(3, 5)
        progress("running", "node_[red]7")
        _until(lambda: progress._line._status is not None)
        time.sleep(0.2)
    shown = capsys.readouterr().err
    assert "node_[red]7" in shown
    assert "step 3 of 5, 0 s: " in shown


def test_a_phase_after_the_end_is_not_shown(capsys):
    with Progress(delay=0.01) as progress:
        _until(lambda: progress._begun)
    capsys.readouterr()
    progress("late", "")
    assert capsys.readouterr().err == ""


def _until(true):
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)
