"""The line of a sweep says what is done, runs, waits and is left."""

import pytest

from isomorph.cli.sweep_progress import SweepProgress, duration
from isomorph.core.sweep import CellResult, CellStatus
from isomorph.sweeping.sweep import Progressing


def cell(name, seconds):
    return CellResult(name=name, model="m", environment="e", shard="", seed=0, key="k",
                      status=CellStatus.DONE, verdict="divergent", seconds=seconds)  # fmt: skip


def progressing():
    return Progressing(
        done=3, total=12, running=2, running_since=0.0, latest=cell("a\x1b@e", 1.0),
        slowest=cell("slow@e", 14.4), outcomes={"equivalent": 2, "divergent": 1},
    )  # fmt: skip


def test_a_log_gets_a_line_for_each_cell(capsys):
    with SweepProgress(now=lambda: 30.0) as progress:
        progress(progressing())
    assert capsys.readouterr().err == "isomorph: 3 of 12, 90 s left: a\\x1b@e divergent\n"


def test_a_terminal_gets_one_line_about_all_cells(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with SweepProgress(now=lambda: 60.0) as progress:
        assert progress.line() == ""
        progress(progressing())
        assert progress.line() == (
            "3 of 12 cells done, 2 running, 7 waiting: 2 equivalent, 1 divergent; "
            "slowest slow@e 14 s; 3 min left"
        )
    assert "cells done" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(("seconds", "text"), [(40, "40 s"), (720, "12 min"), (12_600, "3.5 h")])
def test_a_duration_has_one_unit(seconds, text):
    assert duration(seconds) == text
