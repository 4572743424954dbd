"""A row names as little of a form as tells it from the right ones, and nothing unmeasured."""

from pathlib import Path

import pytest


@pytest.fixture
def features(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    from measuring.distinguishing import distinguishing_features

    return distinguishing_features


def form(mode, near, size=2, **more):
    return {"mode": mode, "near": near, "size": [size], **more}


def test_what_varies_among_the_wrong_is_left_out(features):
    wrong = [("Resize", form("cubic", "floor"), 0.1), ("Resize", form("cubic", "ceil", 3), 0.25)]
    right = [("Resize", form("linear", "floor")), ("Resize", form("linear", "ceil"))]
    assert features(wrong, right) == [{"op": "Resize", "when": {"mode": "cubic"}, "error": 0.25}]


def test_a_word_that_was_measured_in_one_way_only_is_kept(features):
    wrong = [("Resize", form("nearest", "floor", 2), 5.0)]
    right = [("Resize", form("nearest", "ceil", 2)), ("Resize", form("linear", "ceil", 2))]
    rows = features(wrong, right)
    assert rows == [{"op": "Resize", "when": {"mode": "nearest", "near": "floor"}, "error": 5.0}]


def test_a_size_is_named_only_where_nothing_else_distinguishes(features):
    right = [("Pool", form("max", "x", 2)), ("Other", form("max", "x", 3))]
    assert features([("Pool", form("max", "x", 3), 1.0)], right)[0]["when"] == {
        "mode": "max", "near": "x", "size": [3],
    }  # fmt: skip


def test_equal_forms_have_no_distinguishing_features(features):
    assert features([("Pool", form("max", "x"), 1.0)], [("Pool", form("max", "x"))]) == []


def test_a_number_is_preferred_to_a_list_of_sizes(features):
    shown = {"kernel": [3, 3], "stride": [], "divisor": 2}
    right = [("Pool", {"kernel": [2, 2], "stride": [1, 1], "divisor": None})]
    assert features([("Pool", shown, 1.0)], right)[0]["when"] == {"divisor": 2}


def test_a_row_within_a_wider_one_is_left_out(features):
    wrong = [("Norm", form("a", "x", 1, axis=1), 0.1), ("Norm", form("a", "y", 2, axis=2), 0.1)]
    wrong.append(("Norm", form("a", "x", 3, axis=2), 0.1))
    right = [("Norm", form("b", "x", 1, axis=1))]
    assert features(wrong, right) == [{"op": "Norm", "when": {"mode": "a"}, "error": 0.1}]
