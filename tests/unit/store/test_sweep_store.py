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
