"""Substitutions of right tensors leave wrong ones a share of the limit, and none is lost."""

from isomorph.localize import substitution_order
from isomorph.localize.substitution_order import by_turns


def taken(of_right, of_wrong):
    return [list(layer) for layer in by_turns(map(iter, of_right), map(iter, of_wrong))]


def test_more_right_tensors_than_their_share_wait_until_the_wrong_ones_were_tried(monkeypatch):
    monkeypatch.setattr(substitution_order, "FIRST_OF_RIGHT", 3)
    assert taken([[1, 2], [3, 4, 5], [6]], [["a"], ["b", "c"]]) == [
        [1, 2], [3], [], ["a"], ["b", "c"], [], [4, 5], [6],
    ]  # fmt: skip


def test_few_right_tensors_come_first():
    assert taken([[1], [2]], [["a"]]) == [[1], [2], ["a"], [], []]
