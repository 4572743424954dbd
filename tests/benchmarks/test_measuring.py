import json
import math
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def _benchmarks_importable(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def test_a_histogram_counts_by_half_decades_and_shows_the_gaps():
    from measuring.histogram import histogram

    lines = histogram([0.011, 0.012, 0.2, 0.0]).splitlines()
    counts = [int(line.split()[3]) for line in lines]
    assert counts == [2, 0, 1]


def test_a_far_outlier_is_a_few_lines_away():
    from measuring.histogram import histogram

    lines = histogram([0.01, 1e30]).splitlines()
    assert len(lines) == 4
    assert lines[2].strip() == "⋮"


def test_a_histogram_counts_the_infinite_apart():
    from measuring.histogram import histogram

    lines = histogram([0.5, math.inf, math.inf]).splitlines()
    assert lines[-1].split() == ["infinite", "2"]
    assert len(lines) == 2


def test_a_histogram_of_nothing_is_labeled_empty():
    from measuring.histogram import histogram

    assert histogram([0.0]) == "(nothing to show)"


def test_the_median_of_nothing_is_not_a_number():
    from measuring.histogram import median

    assert median([3.0, 1.0, 2.0]) == 2.0
    assert median([1.0, 2.0]) == 1.5
    assert math.isnan(median([]))


def test_a_table_lines_its_columns_up():
    from measuring.tables import table

    lines = table(("what", "n"), [("a", "1"), ("longer", "1000")]).splitlines()
    assert [len(line) for line in lines] == [len("longer  1000")] * 4
    assert lines[2].endswith("    1")


def test_results_spell_what_json_cannot(tmp_path, monkeypatch, capsys):
    from measuring import tables

    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    path = tables.write_json("probe", {"worst": math.inf, "rows": [{"ratio": math.nan}]})
    written = json.loads(path.read_text())
    assert written["worst"] == "inf"
    assert written["rows"] == [{"ratio": "nan"}]
    assert written["measured_on"]["packages"]["isomorph"]


def test_the_peak_counts_the_children_too(tmp_path):
    from measuring.processes import run

    size = 200 << 20
    child = f"import time; x = bytearray({size}); x[::4096] = x[::4096]; time.sleep(1)"
    parent = (
        f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}], check=True)"
    )
    ran = run([sys.executable, "-c", parent], folder=tmp_path)
    assert ran.returncode == 0
    assert ran.peak_bytes > size
    assert ran.own_peak_bytes > size


def test_pages_of_a_mapped_file_are_no_memory_of_its_own(tmp_path):
    from measuring.processes import run

    size = 100 << 20
    with (tmp_path / "mapped").open("wb") as file:
        file.truncate(size)
    child = (
        "import mmap, time\n"
        "with open('mapped', 'rb') as file:\n"
        "    pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)\n"
        "pages[::4096]\n"
        "time.sleep(0.5)"
    )
    ran = run([sys.executable, "-c", child], folder=tmp_path)
    assert ran.peak_bytes > size > ran.own_peak_bytes > 0


def test_a_step_that_fails_gives_the_reason(tmp_path):
    from measuring.processes import StepFailedError, Stepper

    script = tmp_path / "step.py"
    script.write_text("import json; print(json.dumps({'error': 'no such model'}))")
    with pytest.raises(StepFailedError, match="no such model"):
        Stepper(script)
