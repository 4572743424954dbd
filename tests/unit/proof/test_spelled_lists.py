"""Lists hold terms; nothing but their own functions reads them."""

import pytest

from isomorph.proof import spelled_lists as lists
from isomorph.proof.term import NoMeaningError
from isomorph.proof.terms import Terms


def test_elements_come_back_as_they_were_set():
    t = Terms()
    x, y = t.input("x", (2, 3), "float32"), t.input("y", (3,), "float32")
    rows = lists.listed(t, x)
    assert lists.all_of(t, lists.replaced(t, rows, 1, y), "float32").shape == (2, 3)
    assert lists.element(t, lists.replaced(t, rows, 1, y), 1, "float32") is y
    assert lists.element(t, rows, 0, "float32") is not lists.element(t, rows, 1, "float32")


def test_what_holds_nothing_or_is_another_type_is_refused():
    t = Terms()
    empty = lists.reserved(t, 2, "float32")
    x = t.input("x", (3,), "float32")
    for wrong in (
        lambda: lists.element(t, empty, 0, "float32"),
        lambda: lists.element(t, empty, 2, "float32"),
        lambda: lists.all_of(t, lists.replaced(t, empty, 0, x), "float32"),
        lambda: lists.replaced(t, empty, -1, x),
        lambda: lists.element(t, lists.listed(t, x), 0, "float64"),
        lambda: t.add(empty, empty),
    ):
        with pytest.raises(NoMeaningError):
            wrong()
