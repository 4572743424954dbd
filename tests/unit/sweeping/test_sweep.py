"""Cells that are done are not run again; what is lost is tried a few times."""

import json
from pathlib import Path

import pytest

from isomorph.core.sweep import Cell, CellStatus, SweepPlan, Verb
from isomorph.core.sweep_limits import SWEEP_ATTEMPTS
from isomorph.store.sweep_store import SweepStore
from isomorph.sweeping.cell_process import Ended
from isomorph.sweeping.sweep import Sweeping


class Engine:
    """Answers each task by a function of how often it was asked."""

    def __init__(self, answers):
        self.answers, self.asked, self.running = answers, [], 0

    def run(self, tasks):
        for task in tasks:
            self.asked.append(task.key)
            code, document = self.answers(self.asked.count(task.key))
            if document is not None:
                target = next(word for word in task.words if word.startswith("--output="))
                path = Path(target.removeprefix("--output="))
                path.write_text(json.dumps(document), encoding="utf-8")
            yield task, Ended(exit_code=code, stderr="error[X] no\n", seconds=1.0,
                              cpu_seconds=2.0, peak_bytes=3)  # fmt: skip


@pytest.fixture
def plan(tmp_path):
    for name in ("a.onnx", "b.onnx", "c.onnx"):
        (tmp_path / name).write_text(name, encoding="utf-8")

    def cell(model, candidate):
        return Cell(
            model=model, environment="e", shard="", seed=0, verb=Verb.PROVE,
            reference=str(tmp_path / "a.onnx"), candidate=str(tmp_path / candidate),
        )  # fmt: skip

    cells = (cell("one", "b.onnx"), cell("two", "c.onnx"), cell("same as one", "b.onnx"))
    return SweepPlan(file="sweep.toml", store=str(tmp_path / "s"), cells=cells)


def sweep(plan, engine, **words):
    with SweepStore(Path(plan.store)) as store:
        return Sweeping(plan=plan, store=store, engine=engine, **words).sweep(plan.cells)


def test_equal_cells_are_run_once_and_known_ones_never_again(plan):
    engine = Engine(lambda _: (0, {}))
    found = sweep(plan, engine)
    assert [each.verdict for each in found.cells] == ["proven"] * 3
    assert len(engine.asked) == 2
    assert found.exit_code == 0
    again = sweep(plan, Engine(lambda _: pytest.fail("a known cell was run")))
    assert [each.verdict for each in again.cells] == ["proven"] * 3
    assert not any(each.fresh for each in again.cells)


def test_what_is_asked_for_again_is_run_again(plan):
    sweep(plan, Engine(lambda _: (3, {})))
    engine = Engine(lambda _: (0, {}))
    found = sweep(plan, engine, again=lambda each: each.verdict == "open")
    assert len(engine.asked) == 2
    assert found.exit_code == 0


def test_a_lost_process_is_tried_again(plan):
    engine = Engine(lambda turn: (None, None) if turn == 1 else (0, {}))
    found = sweep(plan, engine)
    assert [each.attempts for each in found.cells] == [2, 2, 2]
    assert found.exit_code == 0


def test_what_is_always_lost_is_reported_and_not_kept(plan):
    engine = Engine(lambda _: (None, None))
    found = sweep(plan, engine)
    assert {each.status for each in found.cells} == {CellStatus.LOST}
    assert len(engine.asked) == 2 * SWEEP_ATTEMPTS
    assert found.exit_code == 3
    assert sweep(plan, Engine(lambda _: (0, {}))).exit_code == 0


def test_an_error_is_shown_and_not_kept(plan):
    found = sweep(plan, Engine(lambda _: (2, None)))
    assert {each.reason for each in found.cells} == {"error[X] no"}
    assert found.exit_code == 2
    assert sweep(plan, Engine(lambda _: (0, {}))).exit_code == 0


def test_an_interruption_keeps_what_is_done(plan):
    def stop(_):
        if len(engine.asked) == 2:
            raise KeyboardInterrupt
        return 0, {}

    engine = Engine(stop)
    found = sweep(plan, engine)
    assert found.exit_code == 130
    assert [each.status for each in found.cells] == [
        CellStatus.DONE, CellStatus.LEFT, CellStatus.DONE
    ]  # fmt: skip
    rest = Engine(lambda _: (0, {}))
    sweep(plan, rest)
    assert len(rest.asked) == 1


def test_a_missing_file_ends_its_own_cell_only(plan, tmp_path):
    (tmp_path / "c.onnx").unlink()
    found = sweep(plan, Engine(lambda _: (0, {})))
    assert [each.exit_code for each in found.cells] == [0, 2, 0]
    assert "c.onnx" in found.cells[1].reason
