"""Plans of runs: only what is needed, in order, with the last use of every tensor."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isomorph.core.errors import UsageError
from isomorph.core.limits import KEPT_PLANS
from isomorph.oracle.plan import Planner, constant_tensors, releases_of


@dataclass(frozen=True)
class _Step:
    needs: tuple[str, ...]
    gives: tuple[str, ...]


_STEPS = (
    _Step(("x", "w"), ("a",)),
    _Step(("a",), ("b", "c")),
    _Step(("b", "a"), ("y",)),
    _Step(("w",), ("folded",)),
)


def _planner() -> Planner[str, _Step]:
    return Planner(_STEPS, ("x",), {"w"})


def test_a_run_needs_the_steps_between_feeds_and_fetches() -> None:
    assert [place for place, _ in _planner().plan(frozenset({"x"}), ("y",)).steps] == [0, 1, 2]
    assert [place for place, _ in _planner().plan(frozenset({"b", "a"}), ("y",)).steps] == [2]


def test_a_tensor_is_released_after_its_last_use() -> None:
    plan = _planner().plan(frozenset({"x"}), ("y",))
    assert [set(names) for names in plan.releases] == [{"x", "w"}, {"c"}, {"a", "b", "y"}]
    assert plan.reads == {"x", "w", "a", "b", "y"}


def test_plans_are_kept_up_to_a_limit() -> None:
    planner = _planner()
    first = planner.plan(frozenset({"x"}), ("y",))
    assert planner.plan(frozenset({"x"}), ("y",)) is first
    for count in range(KEPT_PLANS):
        planner.plan(frozenset({"x"}), ("y",) * (count + 2))
    assert planner.plan(frozenset({"x"}), ("y",)) is not first


def test_what_must_run_before_runs_though_nothing_reads_it() -> None:
    planner = Planner(_STEPS, ("x",), {"w"}, before=lambda place: [3] if place == 2 else [])
    assert [place for place, _ in planner.plan(frozenset({"x"}), ("y",)).steps] == [0, 1, 2, 3]


def test_a_missing_input_and_an_unknown_tensor_are_refused_by_name() -> None:
    with pytest.raises(UsageError, match="nothing was fed for 'x'") as caught:
        _planner().plan(frozenset(), ("y",))
    assert caught.value.code == "MISSING_INPUT"
    with pytest.raises(UsageError, match="no tensor 'folder'") as caught:
        _planner().plan(frozenset({"x"}), ("folder",))
    assert (caught.value.code, caught.value.fix) == ("UNKNOWN_TENSOR", "did you mean 'folded'?")


def test_constant_tensors_follow_from_stored_ones() -> None:
    found = constant_tensors(_STEPS, {"w"}, lambda step, known: all(n in known for n in step.needs))
    assert found == {"w", "folded"}


@given(st.data())
def test_a_tensor_is_released_once_after_its_last_use(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 8))
    names = ["x", *(f"t{place}" for place in range(count))]
    steps = [
        _Step(needs=tuple(data.draw(st.sets(st.sampled_from(names[: place + 1])))), gives=(made,))
        for place, made in enumerate(names[1:])
    ]
    kept = data.draw(st.sets(st.sampled_from(names)))
    released: set[str] = set()
    for step, finished in zip(steps, releases_of(steps, kept), strict=True):
        assert not released & {*step.needs, *step.gives}
        assert not released & set(finished)
        released |= set(finished)
    used = {key for step in steps for key in (*step.needs, *step.gives)}
    assert released == used - kept
