"""The store of a sweep keeps what is done, and refuses what it cannot read."""

import sqlite3

import pytest

from isomorph.core.errors import UsageError
from isomorph.core.sweep import CellResult, CellStatus
from isomorph.store.sweep_store import LAYOUT, SweepStore


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
    (tmp_path / "running").mkdir()
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
