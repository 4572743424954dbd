"""Experiments get their texts from the catalog, and their facts from the cause."""

import pytest

from isomorph.core.experiments import experiment


def test_a_prediction_that_came_true_is_seen():
    found = experiment("layout.input", node="join", tensor="x")
    assert found.question == "Does 'join' read the wrong tensor?"
    assert found.change == "let it read 'x' instead"
    assert (found.predicts, found.seen, found.agrees) == ("the node is right", "it is", True)


def test_a_prediction_that_failed_is_seen_otherwise():
    found = experiment("layout.input", agrees=False, node="join", tensor="x")
    assert (found.seen, found.agrees) == ("it is not", False)


def test_a_result_that_the_catalog_does_not_know_is_an_error():
    with pytest.raises(KeyError):
        experiment("layout.order", agrees=False, tensor="x")
