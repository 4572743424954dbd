"""A sweep as a user runs it, killed and resumed."""

import csv
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from onnx import parser

ISOMORPH = [sys.executable, "-m", "isomorph"]
PARTS = (
    '<ir_version: 9, opset_import: ["": 17]> net (float[2,4] x) => (float[2,4] y) '
    "<float slope = {{{slope}}}> {{ a = Mul (x, slope)  y = Tanh (a) }}"
)
SWEEP = """
[models.same]
reference = "plain.onnx"
candidate = "copy.onnx"
[models.other]
reference = "plain.onnx"
candidate = "steeper.onnx"
[environments.usual]
[environments.plain]
settings = { optimization = "none" }
"""


@pytest.fixture
def folder(tmp_path):
    for name, slope in (("plain", 1.0), ("copy", 1.0), ("steeper", 1.25)):
        model = parser.parse_model(PARTS.format(slope=slope))
        (tmp_path / f"{name}.onnx").write_bytes(model.SerializeToString())
    (tmp_path / "sweep.toml").write_text(SWEEP, encoding="utf-8")
    return tmp_path


def sweep(folder, *words):
    return subprocess.run(
        [*ISOMORPH, "sweep", *words], cwd=folder, capture_output=True, text=True, check=False,
        timeout=300,
    )  # fmt: skip


def rows(folder):
    index = sqlite3.connect(folder / "sweep-results" / "index.sqlite")
    try:
        return index.execute("SELECT key, verdict, report FROM cells").fetchall()
    finally:
        index.close()


def processes_of(folder):
    """The processes that run in the store; one that ends meanwhile does not count."""
    found = []
    for each in psutil.process_iter(["cwd", "status"]):
        inside = str(each.info["cwd"] or "").startswith(str(folder / "sweep-results"))
        if inside and each.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(each.pid)
    return found


def test_a_matrix_is_checked_once(folder):
    first = sweep(folder, "--export", "all.csv")
    assert first.returncode == 1, first.stderr
    assert first.stdout.startswith("4 cells: 2 equivalent, 2 divergent")
    assert "other@plain: DIVERGENT" in first.stdout
    assert "4 of 4" in first.stderr
    with (folder / "all.csv").open(encoding="utf-8") as file:
        exported = list(csv.DictReader(file))
    assert [each["verdict"] for each in exported] == ["equivalent"] * 2 + ["divergent"] * 2
    assert exported[2]["node"]
    for each in exported:
        report = json.loads((folder / "sweep-results" / each["report"]).read_text("utf-8"))
        assert report["verdict"] == each["verdict"]
    again = sweep(folder, "--format", "json")
    document = json.loads(again.stdout)
    assert [each["fresh"] for each in document["cells"]] == [False] * 4
    shutil.copytree(folder / "sweep-results", folder / "before")
    # A model that changed is checked again, and nothing else.
    changed = parser.parse_model(PARTS.format(slope=1.5)).SerializeToString()
    (folder / "steeper.onnx").write_bytes(changed)
    third = json.loads(sweep(folder, "--format", "json").stdout)
    assert [each["fresh"] for each in third["cells"]] == [False, False, True, True]
    # Equal files have equal answers, whatever they are called.
    (folder / "steeper.onnx").write_bytes((folder / "copy.onnx").read_bytes())
    last = json.loads(sweep(folder, "--format", "json").stdout)
    assert {(each["verdict"], each["fresh"]) for each in last["cells"]} == {("equivalent", False)}
    changed = sweep(folder, "--compare", "before")
    assert (changed.returncode, changed.stdout.splitlines()[0]) == (0, "2 fixed, 2 same")
    worse = sweep(folder, "--store", "before", "--compare", "sweep-results", "--format", "json")
    assert worse.returncode == 1
    kinds = [each["kind"] for each in json.loads(worse.stdout)["changes"]]
    assert kinds == ["same", "same", "worse", "worse"]


def test_parts_and_patterns_choose_cells(folder):
    listed = sweep(folder, "--list", "--shard", "2/2").stdout.split("\n")
    assert listed[:2] == ["same@plain", "other@plain"]
    assert sweep(folder, "--list", "--only", "other@*").stdout.split() == [
        "other@usual", "other@plain"
    ]  # fmt: skip
    wrong = sweep(folder, "--list", "--only", "none@*")
    assert (wrong.returncode, "UNKNOWN_NAME" in wrong.stderr) == (2, True)
    assert sweep(folder, "--shard", "3/2").returncode == 2
    assert not (folder / "sweep-results").exists()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_sweep_that_is_ended_goes_on_where_it_was(folder, number):
    with (folder / "stderr").open("w+b") as stderr:
        running = subprocess.Popen(
            [*ISOMORPH, "sweep", "--jobs", "1"], cwd=folder, stdout=subprocess.PIPE, stderr=stderr
        )
        try:
            deadline = time.monotonic() + 200
            while b"1 of 4" not in (folder / "stderr").read_bytes():
                assert time.monotonic() < deadline
                time.sleep(0.05)
            os.kill(running.pid, number)
            running.communicate(timeout=60)
        finally:
            running.kill()
    if number != signal.SIGKILL:
        assert running.returncode == 130
    deadline = time.monotonic() + 60
    while processes_of(folder):
        assert time.monotonic() < deadline, "processes of a cell outlived the sweep"
        time.sleep(0.1)
    before = rows(folder)
    assert 1 <= len(before) < 4
    done = sweep(folder, "--format", "json")
    cells = json.loads(done.stdout)["cells"]
    assert sum(each["fresh"] for each in cells) == 4 - len(before)
    after = rows(folder)
    assert len(after) == 4
    assert set(before) <= set(after)
    reports = sorted(path.name for path in (folder / "sweep-results" / "reports").iterdir())
    assert reports == sorted(Path(report).name for _, _, report in after)
    assert list((folder / "sweep-results" / "running").iterdir()) == []


def test_cells_convert_and_nothing_but_reports_is_kept(folder):
    text = (
        'verb = "convert"\n[models.all]\nreference = "*.onnx"\n[environments.half]\n'
        'to = "onnx"\nquantize = "float16"\n'
    )
    (folder / "sweep.toml").write_text(text, encoding="utf-8")
    ended = sweep(folder, "--format", "json")
    assert ended.returncode == 0, ended.stderr
    cells = json.loads(ended.stdout)["cells"]
    assert [each["name"] for each in cells] == [
        "all/copy@half", "all/plain@half", "all/steeper@half",
    ]  # fmt: skip
    assert {each["verdict"] for each in cells} == {"degraded"}
    store = folder / "sweep-results"
    assert list((store / "running").iterdir()) == []
    report = json.loads((store / cells[0]["report"]).read_text(encoding="utf-8"))
    assert report["schema"] == "isomorph.conversion/2"
    # Two of the models are the same bytes, so they are one cell.
    assert len({each["key"] for each in cells}) == 2


def test_cells_repair(folder):
    text = 'verb = "fix"\n' + SWEEP.partition("[environments")[0]
    (folder / "sweep.toml").write_text(text, encoding="utf-8")
    ended = sweep(folder, "--format", "json")
    assert ended.returncode == 0, ended.stderr
    verdicts = {each["model"]: each["verdict"] for each in json.loads(ended.stdout)["cells"]}
    assert verdicts == {"same": "equivalent", "other": "repaired"}
    assert not list(folder.glob("*fixed*"))
