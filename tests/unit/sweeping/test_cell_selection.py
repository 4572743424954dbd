"""Parts and patterns choose cells of a plan."""

import pytest

from isomorph.core.errors import UsageError
from isomorph.core.sweep import Cell, SweepPlan
from isomorph.sweeping.cell_selection import chosen_cells

PLAN = SweepPlan(
    file="f", store="s",
    cells=tuple(
        Cell(model=f"m{at}", environment="e", shard="", seed=0, reference="a", candidate="b")
        for at in range(7)
    ),
)  # fmt: skip


def test_the_parts_together_are_the_whole():
    parts = [chosen_cells(PLAN, (number, 3), ()) for number in (1, 2, 3)]
    assert sorted(map(len, parts)) == [2, 2, 3]
    assert {cell.name for part in parts for cell in part} == {cell.name for cell in PLAN.cells}


def test_a_pattern_fits_whole_names():
    assert [cell.model for cell in chosen_cells(PLAN, (1, 1), ["m[23]@*"])] == ["m2", "m3"]
    with pytest.raises(UsageError, match="no cell fits"):
        chosen_cells(PLAN, (1, 1), ["m"])


@pytest.mark.parametrize("part", [(0, 2), (3, 2)])
def test_a_part_that_does_not_exist_is_refused(part):
    with pytest.raises(UsageError, match="is no part"):
        chosen_cells(PLAN, part, ())
