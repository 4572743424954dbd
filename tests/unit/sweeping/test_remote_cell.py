"""A cell away from the machine of its sweep: versions, files, and names in its report."""

import hashlib
import json
from pathlib import Path

import pytest

from isomorph.core.sweep import Cell
from isomorph.sweeping import remote_cell
from isomorph.sweeping.cell_keys import versions
from isomorph.sweeping.cell_process import Ended
from isomorph.sweeping.remote_cell import Order, run_remote_cell
from isomorph.sweeping.task import CellFile

AWAY = "/models of another machine/net.onnx"


class Reporting:
    """Stands for the process of a cell: its report says what it was given."""

    given: tuple[str, ...] = ()

    def __init__(self, words, folder):
        self.words, self.folder = words, folder
        Reporting.given = words

    def run(self):
        reference = Path(self.words[1])
        content = reference.read_text(encoding="utf-8")
        (self.folder / "report.json").write_text(
            json.dumps({"location": str(reference), "content": content}), encoding="utf-8"
        )
        return Ended(exit_code=1, stderr=f"note: {reference}\n", seconds=1.0, cpu_seconds=1.0,
                     peak_bytes=1)  # fmt: skip

    def stop(self):
        pass


@pytest.fixture(autouse=True)
def reporting(monkeypatch):
    monkeypatch.setattr(remote_cell, "CellProcess", Reporting)


def file(content, path=AWAY, name=""):
    digest = hashlib.sha256(content).hexdigest()
    return CellFile(path=path, name=name, digest=digest, size=len(content))


def order(files, reference=AWAY, stated=None, parts=None):
    cell = Cell(model="m", environment="e", shard="", seed=0, reference=reference,
                candidate=reference)  # fmt: skip
    return Order(cell=cell, files=files, versions=stated or versions(), parts=parts or {})


def test_a_shared_file_with_the_same_bytes_is_read_where_it_is(tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(b"model")
    shared = order({str(path): (file(b"model", str(path)),)}, str(path))
    found = run_remote_cell(shared, pytest.fail)
    assert json.loads(found.report) == {"location": str(path), "content": "model"}
    assert found.ended.exit_code == 1


@pytest.mark.parametrize("there", [b"other", b"larger than it"])
def test_a_file_that_is_another_one_is_asked_for(tmp_path, there):
    path = tmp_path / "net.onnx"
    path.write_bytes(there)
    stated = file(b"model", str(path))
    found = run_remote_cell(order({str(path): (stated,)}, str(path)), pytest.fail)
    assert (found.ended, found.missing) == (None, (stated.digest,))


def test_files_that_were_sent_are_named_as_the_sweep_names_them():
    stated = file(b"model")
    parts = {stated.digest: [b"mo", b"del"]}
    found = run_remote_cell(order({AWAY: (stated,)}, parts=parts), bytes)
    assert json.loads(found.report) == {"location": AWAY, "content": "model"}
    assert found.ended.stderr == f"note: {AWAY}\n"
    used = Path(Reporting.given[1])
    assert used.name == "net.onnx"
    assert not used.exists()


def test_a_machine_with_other_packages_is_refused():
    stated = {**versions(), "numpy": "0.1"}
    found = run_remote_cell(order({}, stated=stated), pytest.fail)
    assert found.ended.exit_code == 2
    assert found.ended.stderr.startswith("error[MACHINE_DIFFERS]")
    assert "instead of 0.1" in found.ended.stderr


def test_an_interruption_stops_the_cell(monkeypatch, tmp_path):
    stopped = []

    class Interrupting(Reporting):
        def stop(self):
            stopped.append(True)

    class Thread:
        def __init__(self, **_):
            self.joined = 0

        def start(self):
            pass

        def is_alive(self):
            return True

        def join(self, seconds=None):
            if seconds is not None:
                raise KeyboardInterrupt

    monkeypatch.setattr(remote_cell, "CellProcess", Interrupting)
    monkeypatch.setattr(remote_cell.threading, "Thread", Thread)
    with pytest.raises(KeyboardInterrupt):
        run_remote_cell(order({}), pytest.fail)
    assert stopped == [True]
