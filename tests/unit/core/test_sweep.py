"""The exit code and the counts of a sweep."""

import pytest

from isomorph.core.sweep import Cell, CellResult, CellStatus, Sweep


def result(exit_code, verdict="", status=CellStatus.DONE):
    return CellResult(
        name="m@e", model="m", environment="e", shard="", seed=0, key="", status=status,
        exit_code=exit_code, verdict=verdict,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("codes", "expected"), [((0, 0), 0), ((0, 3), 3), ((3, 1), 1), ((1, 2), 2), ((0, None), 3)]
)
def test_the_worst_cell_decides(codes, expected):
    cells = tuple(result(code) for code in codes)
    assert Sweep(file="", store="", cells=cells).exit_code == expected


def test_an_interrupted_sweep_says_so():
    assert Sweep(file="", store="", cells=(result(0),), interrupted=True).exit_code == 130


def test_cells_are_counted_by_their_answer():
    cells = (
        result(0, "equivalent"),
        result(2),
        result(None, status=CellStatus.LOST),
        result(None, status=CellStatus.LEFT),
    )
    counted = Sweep(file="", store="", cells=cells).counted()
    assert counted == {"equivalent": 1, "error": 1, "lost": 1, "left": 1}


def test_a_name_has_the_parts_that_tell_cells_apart():
    words = {"model": "net", "environment": "cpu", "reference": "a", "candidate": "b"}
    assert Cell(**words, shard="", seed=0).name == "net@cpu"
    assert Cell(**words, shard="day 1", seed=3).name == "net@cpu day 1 seed 3"
