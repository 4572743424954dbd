"""Changes as text: the counts, and the worst first."""

from isomorph.core.sweep_changes import CellChange, ChangeKind, SweepChanges
from isomorph.reporters.sweep_changes_text import as_markdown, as_text
from sweep_results import FOUND

CHANGES = SweepChanges(
    before="old", after="new",
    changes=(
        CellChange(name="a|b", kind=ChangeKind.FIXED, before=FOUND.cells[1], after=FOUND.cells[0]),
        CellChange(name="same", kind=ChangeKind.SAME, before=FOUND.cells[0], after=FOUND.cells[0]),
        CellChange(name="c", kind=ChangeKind.WORSE, before=FOUND.cells[0], after=FOUND.cells[1]),
        CellChange(name="d", kind=ChangeKind.NEW, before=None, after=FOUND.cells[0]),
    ),
)  # fmt: skip


def test_the_worst_change_stands_first_and_what_is_the_same_is_only_counted():
    lines = as_text(CHANGES).splitlines()
    assert lines[0] == "1 worse, 1 new, 1 fixed, 1 same"
    assert [line.split()[0] for line in lines[5:]] == ["worse", "new", "fixed"]
    assert "equivalent 0.25×  divergent 31×" in lines[5]


def test_markdown_escapes_names():
    assert "| fixed | a\\|b | divergent 31× | equivalent 0.25× |" in as_markdown(CHANGES)


def test_nothing_changed_has_no_table():
    assert as_text(SweepChanges(before="a", after="b", changes=())).startswith("no cells")
