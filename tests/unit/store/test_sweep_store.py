"""The store of a sweep keeps what is done, and refuses what it cannot read."""

import errno
import os
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from isomorph.core.errors import UsageError
from isomorph.core.sweep import CellResult, CellStatus
from isomorph.store.sweep_store import LAYOUT, SweepStore, read_cells


def done(key="k"):
    return CellResult(
        name="m@e", model="m", environment="e", shard="", seed=0, key=key, exit_code=1,
        status=CellStatus.DONE, verdict="divergent", ratio=2.5, report=f"reports/{key}.json",
    )  # fmt: skip


def keep(store, result):
    report = store.running / "r.json"
    report.write_text("{}", encoding="utf-8")
    store.keep(result, report)


def test_a_cell_that_was_kept_is_known_to_the_next_sweep(tmp_path):
    with SweepStore(tmp_path / "s") as store:
        assert store.result("k") is None
        keep(store, done())
    with SweepStore(tmp_path / "s") as store:
        found = store.result("k")
    assert (found["verdict"], found["ratio"], found["exit_code"]) == ("divergent", 2.5, 1)
    assert found["status"] is CellStatus.DONE
    assert (tmp_path / "s" / "reports" / "k.json").read_text(encoding="utf-8") == "{}"


def test_a_cell_whose_report_was_removed_is_not_done(tmp_path):
    with SweepStore(tmp_path) as store:
        keep(store, done())
        (tmp_path / "reports" / "k.json").unlink()
        assert store.result("k") is None


def test_two_sweeps_do_not_write_to_one_store(tmp_path):
    with SweepStore(tmp_path), pytest.raises(UsageError) as raised:
        SweepStore(tmp_path)
    assert raised.value.code == "STORE_IN_USE"


def test_what_a_killed_sweep_left_is_removed(tmp_path):
    SweepStore(tmp_path).close()
    (tmp_path / "running" / "half.json").touch()
    with SweepStore(tmp_path) as store:
        assert list(store.running.iterdir()) == []


def test_a_store_of_another_version_is_refused(tmp_path):
    SweepStore(tmp_path).close()
    index = sqlite3.connect(tmp_path / "index.sqlite")
    index.execute(f"PRAGMA user_version = {LAYOUT + 1}")
    index.close()
    with pytest.raises(UsageError, match="another version") as raised:
        SweepStore(tmp_path)
    assert raised.value.code == "STORE_UNREADABLE"
    # The lock is free again.
    assert not list(tmp_path.glob("held"))
    (tmp_path / "index.sqlite").unlink()
    SweepStore(tmp_path).close()


def test_a_damaged_index_is_no_traceback(tmp_path):
    SweepStore(tmp_path).close()
    (tmp_path / "index.sqlite").write_bytes(b"no database" * 400)
    with pytest.raises(UsageError) as raised:
        SweepStore(tmp_path)
    assert raised.value.code == "STORE_UNREADABLE"


def test_a_file_in_the_place_of_the_store_is_explained(tmp_path):
    (tmp_path / "s").write_text("x", encoding="utf-8")
    with pytest.raises(UsageError) as raised:
        SweepStore(tmp_path / "s")
    assert raised.value.code == "STORE_UNWRITABLE"


def test_a_digest_holds_for_one_state_of_a_file(tmp_path):
    with SweepStore(tmp_path) as store:
        store.note_digest("a", "stamp 1", "d1")
        assert store.digest("a", "stamp 1") == "d1"
        assert store.digest("a", "stamp 2") is None


def test_the_cells_of_the_last_sweep_are_read_with_their_answers(tmp_path):
    left = replace(done("other"), name="late@e", status=CellStatus.LEFT, verdict="", report="")
    with SweepStore(tmp_path) as store:
        keep(store, done())
        store.note_names([replace(done("old"), name="removed@e")], whole=True)
        store.note_names([done(), left], whole=True)
        # A store is read while a sweep writes to it.
        found = read_cells(tmp_path)
    assert [(each.name, each.verdict, each.status) for each in found] == [
        ("m@e", "divergent", CellStatus.DONE), ("late@e", "", CellStatus.LEFT)
    ]  # fmt: skip
    assert read_cells(tmp_path) == found


def test_a_part_of_a_sweep_leaves_the_names_of_other_parts(tmp_path):
    with SweepStore(tmp_path) as store:
        store.note_names([done()], whole=True)
        store.note_names([replace(done("other"), name="n@e")], whole=False)
    assert [each.name for each in read_cells(tmp_path)] == ["m@e", "n@e"]


def test_a_store_that_an_earlier_version_made_goes_on(tmp_path):
    """It has no names of cells; the next sweep writes them, and every answer is kept."""
    with SweepStore(tmp_path) as store:
        keep(store, done())
        store._index.execute("DROP TABLE names")
    with pytest.raises(UsageError, match="does not name its cells"):
        read_cells(tmp_path)
    with SweepStore(tmp_path) as store:
        assert store.result("k")["verdict"] == "divergent"
        store.note_names([done()], whole=True)
    assert [each.verdict for each in read_cells(tmp_path)] == ["divergent"]


def test_a_full_disk_is_a_clear_answer_and_nothing_is_lost(tmp_path):
    with SweepStore(tmp_path) as store:
        keep(store, done())
        store._index.execute("PRAGMA max_page_count = 1")  # as if no page more fits on the disk
        many = [replace(done(str(at)), name=f"{at}@{'e' * 200}") for at in range(200)]
        with pytest.raises(UsageError) as raised:
            store.note_names(many, whole=True)
        assert (raised.value.code, raised.value.fix) == ("STORE_UNWRITABLE", "make room")
    with SweepStore(tmp_path) as store:
        assert store.result("k")["verdict"] == "divergent"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
def test_a_report_that_cannot_be_moved_is_no_row(tmp_path, monkeypatch, number):
    def refuse(*_):
        raise OSError(number, os.strerror(number))

    with SweepStore(tmp_path) as store:
        (store.running / "r.json").write_text("{}", encoding="utf-8")
        monkeypatch.setattr(Path, "replace", refuse)
        with pytest.raises(UsageError, match="cannot be written") as raised:
            store.keep(done(), store.running / "r.json")
        assert raised.value.code == "STORE_UNWRITABLE"
        assert store.result("k") is None


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for the superuser")
def test_a_store_that_is_read_only_is_explained(tmp_path):
    SweepStore(tmp_path).close()
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(UsageError) as raised:
            SweepStore(tmp_path)
    finally:
        tmp_path.chmod(0o700)
    assert raised.value.code == "STORE_UNWRITABLE"


def test_a_lock_on_a_read_only_disk_is_explained(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr("isomorph.store.sweep_store.FileLock", refuse)
    with pytest.raises(UsageError, match="cannot be written") as raised:
        SweepStore(tmp_path)
    assert raised.value.why == os.strerror(errno.EROFS)


def test_a_clock_that_was_set_back_changes_nothing(tmp_path, monkeypatch):
    with SweepStore(tmp_path) as store:
        keep(store, done())
    monkeypatch.setattr("time.time", lambda: 0.0)
    for path in tmp_path.rglob("*"):
        os.utime(path, (2e9, 2e9))  # later than the clock
    with SweepStore(tmp_path) as store:
        assert store.result("k")["verdict"] == "divergent"
        keep(store, done("next"))
        assert store.result("next") is not None


def refused(folder):
    with pytest.raises(UsageError) as raised:
        SweepStore(folder)
    assert raised.value.code == "STORE_UNREADABLE"
    return raised.value.why


@pytest.mark.parametrize("name", ["running/notes.txt", "reports/mine.json", "thesis.txt"])
def test_a_folder_of_something_else_is_no_store_and_stays_as_it_is(tmp_path, name):
    path = tmp_path / "s" / name
    path.parent.mkdir(parents=True)
    path.write_text("mine", encoding="utf-8")
    assert name in refused(tmp_path / "s")
    assert path.read_text(encoding="utf-8") == "mine"
    assert not (tmp_path / "s" / "index.sqlite").exists()


@pytest.mark.parametrize("layout", [0, LAYOUT])
def test_the_database_of_another_program_is_not_written_to(tmp_path, layout):
    index = sqlite3.connect(tmp_path / "index.sqlite")
    index.execute("CREATE TABLE cells (key PRIMARY KEY, own)")
    index.execute(f"PRAGMA user_version = {layout}")
    index.close()
    before = (tmp_path / "index.sqlite").read_bytes()
    assert "other tables" in refused(tmp_path)
    assert (tmp_path / "index.sqlite").read_bytes() == before


@pytest.mark.parametrize("name", ["index.sqlite", "running", "reports", "lock"])
def test_links_are_not_followed_out_of_a_store(tmp_path, name):
    SweepStore(tmp_path / "s").close()
    own = tmp_path / "s" / name
    own.rename(tmp_path / "elsewhere")
    own.symlink_to(tmp_path / "elsewhere")
    assert "symbolic link" in refused(tmp_path / "s")


@pytest.mark.parametrize("report", ["../secret.json", "reports/other.json", "", None])
def test_the_report_of_another_cell_answers_nothing(tmp_path, report):
    (tmp_path / "secret.json").write_text("{}", encoding="utf-8")
    with SweepStore(tmp_path / "s") as store:
        keep(store, done())
        keep(store, done("other"))
        store._index.execute("UPDATE cells SET report = ? WHERE key = 'k'", (report,))
        assert store.result("k") is None
        assert store.result("other") is not None


def test_a_report_that_is_a_link_is_not_read(tmp_path):
    with SweepStore(tmp_path / "s") as store:
        keep(store, done())
        report = tmp_path / "s" / "reports" / "k.json"
        report.rename(tmp_path / "elsewhere.json")
        report.symlink_to(tmp_path / "elsewhere.json")
        assert store.result("k") is None


@pytest.mark.parametrize(
    ("column", "value"),
    [("status", "finished"), ("verdict", b"\xff"), ("node", None), ("seconds", "long"),
     ("exit_code", "one"), ("ratio", "x")],
)  # fmt: skip
def test_a_cell_with_a_value_that_does_not_fit_is_run_again(tmp_path, column, value):
    with SweepStore(tmp_path) as store:
        keep(store, done())
        store._index.execute(f"UPDATE cells SET {column} = ?", (value,))
        assert store.result("k") is None


def test_a_table_that_is_damaged_inside_is_no_traceback(tmp_path):
    with SweepStore(tmp_path) as store:
        keep(store, done())
    path = tmp_path / "index.sqlite"
    whole = bytearray(path.read_bytes())
    whole[4096 : 3 * 4096] = b"\xff" * 8192
    path.write_bytes(whole)
    with pytest.raises(UsageError) as raised, SweepStore(tmp_path) as store:
        store.result("k")
    assert raised.value.code == "STORE_UNREADABLE"
