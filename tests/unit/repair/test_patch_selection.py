"""The order in which patches are believed."""

from itertools import islice

import pytest

from isomorph.core.patch import Patch, RemoveNode
from isomorph.repair.patch_selection import LazyPatches, cheapest_first, proposed, selections


def patch(name, cost=1):
    return Patch(summary=name, edits=(RemoveNode(node=name),) * cost)


def names(patches):
    return [each.summary for each in patches]


def test_only_what_restores_is_offered_and_of_neighbors_the_smaller_first():
    proposals = [patch("no"), patch("big", 3), patch("no"), patch("small")]
    offered = cheapest_first(iter(proposals), lambda each: each.summary != "no")
    assert names(offered) == ["small", "big"]


def test_a_likely_patch_does_not_wait_for_a_far_one():
    tried = []

    def restores(each):
        tried.append(each)
        return each.summary in {"near", "far"}

    proposals = [patch("near", 2), *[patch("no")] * 200, patch("far")]
    first = next(cheapest_first(iter(proposals), restores))
    assert first.summary == "near"
    assert len(tried) < 100


def test_a_search_ends():
    endless = iter(lambda: patch("no"), None)
    assert not list(cheapest_first(endless, lambda _: False))


def test_first_of_each_then_the_first_alone_then_one_after_the_other_varied():
    left, right = (LazyPatches(iter([patch(f"{side}{n}") for n in range(2)])) for side in "ab")
    assert list(selections([left, right])) == [
        (0, 0), (0, None), (1, 0), (0, 1),
    ]  # fmt: skip
    assert left[1].summary == "a1"


def test_nothing_to_pick_from_nothing():
    assert list(selections([])) == []


def test_a_supply_asks_only_for_what_is_wanted():
    asked = []

    def source():
        for number in range(9):
            asked.append(number)
            yield patch(str(number))

    supply = LazyPatches(source())
    assert list(islice(selections([supply]), 2)) == [(0,), (1,)]
    assert asked == [0, 1]


class Failing:
    """A fix that fails after its first proposal."""

    name = "failing"

    def __init__(self, error):
        self.error = error

    def propose(self, _finding, _fault_context):
        yield patch("first")
        raise self.error


def test_a_fix_that_fails_is_reported_and_ends_nothing():
    failures = []
    fix = Failing(ValueError("sizes (16,) (10,)"))
    assert names(proposed(fix, None, None, failures.append)) == ["first"]
    assert failures == ["the fix for failing failed: ValueError: sizes (16,) (10,)"]


def test_a_warning_in_a_fix_is_not_hidden():
    with pytest.raises(RuntimeWarning):
        list(proposed(Failing(RuntimeWarning("seen")), None, None, print))
