"""Sweep files and stores of sweeps: mistakes, bombs, and folders that are not what they seem."""

import os
import sqlite3

import pytest

from making import dense, save

PAIR = '[models.net]\nreference = "m.onnx"\ncandidate = "m.onnx"\n'


@pytest.fixture
def sweep(isomorph, tmp_path):
    save(tmp_path / "m.onnx", dense())

    def run(text, *words, **more):
        (tmp_path / "sweep.toml").write_text(text, encoding="utf-8")
        return isomorph("sweep", *words, **more)

    return run


@pytest.mark.parametrize(
    ("text", "word"),
    [("modles = 3\n" + PAIR, "did you mean 'models'"),
     (PAIR + "[environments.cpu]\nsetings = {}\n", "did you mean 'settings'"),
     (PAIR + "[environments]\ncpu = 1\n", "environments.cpu"),
     (PAIR + 'dims = "batch"\n', "dims"),
     ("seeds = [" + "9" * 5000 + "]\n" + PAIR, "no TOML"),
     ("seeds = " + "[" * 5000, "no TOML"),
     ('[models."a\\u001b[2J"]\nreference = "m.onnx"\n', "reference or candidate"),
     ('[models.net]\nreference = "a\\u0000b"\ncandidate = "m.onnx"\n', "reference"),
     ('[models.net]\nreference = "{stem.__class__}"\ncandidate = "*.onnx"\n', "does not follow")],
)  # fmt: skip
def test_a_mistake_is_located_and_nothing_is_run(sweep, text, word):
    sweep(text).refused("CONFIG_INVALID", mentions=(word,), file="sweep.toml")


def test_a_matrix_beyond_all_memory_is_refused_at_once(sweep):
    seeds = f"seeds = {list(range(3000))}\n"
    many = "".join(f"[environments.e{number}]\n" for number in range(400))
    sweep(seeds + PAIR + many, within=20).refused("CONFIG_INVALID", mentions=("1,200,000 cells",))


def test_folders_that_link_to_each_other_have_an_end(sweep, tmp_path):
    (tmp_path / "deep").mkdir()
    for name in ("a", "b"):
        (tmp_path / "deep" / name).symlink_to(tmp_path / "deep", target_is_directory=True)
    text = '[models.all]\ncandidate = "deep/**/*.onnx"\nreference = "{stem}.onnx"\n'
    sweep(text, within=30).refused("CONFIG_INVALID", mentions=("no file fits",))


def test_a_pattern_that_leaves_the_folder_reads_and_writes_nothing_there(sweep, isomorph, tmp_path):
    """A sweep file is the user's own: it may name models elsewhere. Results stay in the store."""
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "sweep.toml").write_text(
        '[models.all]\ncandidate = "../*.onnx"\nreference = "../{stem}.onnx"\n', encoding="utf-8"
    )
    save(tmp_path / "m.onnx", dense())
    ran = isomorph("sweep", "here/sweep.toml", "--list")
    assert ran.exit == 0, ran
    assert "all/m" in ran.out


@pytest.mark.parametrize("kind", ["pipe", "folder", "missing"])
def test_what_is_no_file_is_not_waited_for(isomorph, tmp_path, kind):
    path = tmp_path / "sweep.toml"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
        (path / "sweep.toml").mkdir()
    ran = isomorph("sweep", "sweep.toml", within=20)
    assert ran.exit == 2, ran
    assert ran.message


def test_the_folder_of_somebody_else_is_no_store(sweep, tmp_path):
    (tmp_path / "thesis" / "running").mkdir(parents=True)
    (tmp_path / "thesis" / "running" / "results.csv").write_text("years of work")
    sweep(PAIR, "--store", "thesis").refused("STORE_UNREADABLE", mentions=("running/results.csv",))


@pytest.mark.parametrize("kind", ["foreign", "damaged", "newer", "link"])
def test_an_index_that_is_not_ours_stays_as_it_is(sweep, tmp_path, kind):
    store = tmp_path / "store"
    store.mkdir()
    path = store / "index.sqlite"
    if kind == "damaged":
        path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    else:
        place = tmp_path / "elsewhere.sqlite" if kind == "link" else path
        index = sqlite3.connect(place)
        index.execute("CREATE TABLE passwords (word)")
        if kind == "newer":
            index.execute("PRAGMA user_version = 99")
        index.close()
        if kind == "link":
            path.symlink_to(place)
    sweep(PAIR, "--store", "store", makes=("store",)).refused("STORE_UNREADABLE")


@pytest.mark.parametrize("harm", ["report of another", "link", "value"])
def test_a_cell_that_the_store_tells_wrongly_is_run_again(sweep, tmp_path, harm):
    assert sweep(PAIR + "quick = true\n", makes=("sweep-results",)).exit == 0
    store = tmp_path / "sweep-results"
    (report,) = (store / "reports").iterdir()
    index = sqlite3.connect(store / "index.sqlite", isolation_level=None)
    (tmp_path / "secret.json").write_text("{}")
    if harm == "report of another":
        index.execute("UPDATE cells SET report = '../secret.json'")
    elif harm == "value":
        index.execute("UPDATE cells SET verdict = NULL")
    index.close()
    if harm == "link":
        report.unlink()
        report.symlink_to(tmp_path / "secret.json")

    from isomorph import sweep as again

    (cell,) = again(tmp_path / "sweep.toml").cells
    assert (cell.fresh, cell.verdict) == (True, "equivalent")
    assert not report.is_symlink()
    assert (tmp_path / "secret.json").read_text() == "{}"
