"""Two sweeps side by side: each cell changed in one way."""

import pytest

from isomorph.core.errors import UsageError
from isomorph.core.sweep import CellStatus
from isomorph.core.sweep_changes import CellChange, ChangeKind, SweepChanges
from isomorph.store.sweep_store import SweepStore
from isomorph.sweeping.compare import compare_stores, kind_of
from sweep_results import cell


def answered(verdict):
    if verdict is None:
        return None
    if not verdict:
        return cell("m", "e", status=CellStatus.LEFT, exit_code=None)
    return cell("m", "e", verdict=verdict, exit_code={"divergent": 1, "unknown": 3}.get(verdict, 0))


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("equivalent", "divergent", ChangeKind.WORSE),
        ("equivalent", "degraded", ChangeKind.WORSE),
        ("unknown", "divergent", ChangeKind.WORSE),
        ("divergent", "equivalent", ChangeKind.FIXED),
        ("unknown", "degraded", ChangeKind.FIXED),
        ("open", "proven", ChangeKind.FIXED),
        ("divergent", "unknown", ChangeKind.BETTER),
        ("degraded", "equivalent", ChangeKind.BETTER),
        ("divergent", "divergent", ChangeKind.SAME),
        (None, "equivalent", ChangeKind.NEW),
        ("", "divergent", ChangeKind.NEW),
        ("equivalent", None, ChangeKind.GONE),
        ("equivalent", "", ChangeKind.UNANSWERED),
        ("", "", ChangeKind.SAME),
    ],
)
def test_a_change_has_one_kind(before, after, kind):
    assert kind_of(answered(before), answered(after)) is kind


@pytest.mark.parametrize(
    ("kind", "verdict", "code"),
    [
        (ChangeKind.WORSE, "degraded", 1), (ChangeKind.UNANSWERED, "", 1),
        (ChangeKind.NEW, "divergent", 1), (ChangeKind.NEW, "equivalent", 0),
        (ChangeKind.SAME, "divergent", 0), (ChangeKind.FIXED, "equivalent", 0),
    ],
)  # fmt: skip
def test_what_became_worse_decides_the_exit_code(kind, verdict, code):
    change = CellChange(name="m@e", kind=kind, before=None, after=answered(verdict))
    assert SweepChanges(before="", after="", changes=(change,)).exit_code == code


def stored(folder, *cells):
    with SweepStore(folder) as store:
        for each in cells:
            report = store.running / "r.json"
            report.write_text("{}", encoding="utf-8")
            store.keep(each, report)
        store.note_names(cells, whole=True)


def test_cells_are_known_by_their_names_and_not_by_their_models(tmp_path):
    one = cell("a", "e", verdict="equivalent", key="1", report="reports/1.json")
    other = cell("a", "e", verdict="divergent", key="2", report="reports/2.json", exit_code=1)
    gone = cell("b", "e", verdict="equivalent", key="3", report="reports/3.json")
    stored(tmp_path / "old", one, gone)
    stored(tmp_path / "new", other)
    found = compare_stores(tmp_path / "old", tmp_path / "new")
    assert [(each.name, each.kind) for each in found.changes] == [
        ("a@e", ChangeKind.WORSE), ("b@e", ChangeKind.GONE)
    ]  # fmt: skip


def test_a_folder_without_a_store_is_explained(tmp_path):
    with pytest.raises(UsageError, match="there is no store of a sweep"):
        compare_stores(tmp_path, tmp_path)
