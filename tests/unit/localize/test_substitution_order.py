"""Substitutions of right tensors leave wrong ones a share of the limit, and none is lost."""

from dataclasses import replace

from faulty_graphs import OUTPUTS, chain, matched
from isomorph.core.limits import SUBSTITUTIONS, noted_limits
from isomorph.localize import substitution_order
from isomorph.localize.fault_search import Search
from isomorph.localize.substitution import unreshaped
from isomorph.localize.substitution_order import LimitedTrials, by_turns


def taken(of_right, of_wrong):
    return [list(layer) for layer in by_turns(map(iter, of_right), map(iter, of_wrong))]


def test_more_right_tensors_than_their_share_wait_until_the_wrong_ones_were_tried(monkeypatch):
    monkeypatch.setattr(substitution_order, "FIRST_OF_RIGHT", 3)
    assert taken([[1, 2], [3, 4, 5], [6]], [["a"], ["b", "c"]]) == [
        [1, 2], [3], [], ["a"], ["b", "c"], [], [4, 5], [6],
    ]  # fmt: skip


def test_few_right_tensors_come_first():
    assert taken([[1], [2]], [["a"]]) == [[1], [2], ["a"], [], []]


def test_beyond_the_limit_only_results_of_the_same_operator_are_tried_as_many_again(monkeypatch):
    monkeypatch.setattr(substitution_order, "SUBSTITUTIONS", replace(SUBSTITUTIONS, most=2))
    search = Search(matched(chain("l"), chain("r", b="Add")), OUTPUTS, {})
    of = {name: search.candidate.topology.maker[f"r{name}"].op for name in ("a", "b", "c", "d")}
    every = [
        unreshaped(search.reference, f"r{one}", f"l{other}") for one in of for other in (*of, "out")
    ]
    trials = LimitedTrials(search)
    with noted_limits() as hit:
        tried = [*trials.of(every[:3]), *trials.of(every[3:])]
    likely = [
        each
        for each in every[2:]
        if search.candidate.topology.maker[each.tensor].op
        == search.reference.topology.maker[each.counterpart].op
    ]
    assert len(likely) > 2
    assert tried == [*every[:2], *likely[:2]]
    assert [each.of for each in hit] == [SUBSTITUTIONS.of]
