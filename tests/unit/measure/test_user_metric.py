"""The user's own measure: averaged on both sides, imported only with trust, never fatal."""

import sys

import numpy as np
import pytest

from isomorph.core.errors import RefusedError, UsageError
from isomorph.measure.user_metric import UserMetric, user_metric


def test_both_sides_are_averaged_over_the_samples():
    metric = UserMetric("m", lambda outputs, sample: outputs["y"][0] * sample["k"][0])
    assert metric.result is None
    metric.add({"y": np.array([1.0])}, {"y": np.array([2.0])}, {"k": np.array([3.0])}, "a")
    metric.add({"y": np.array([5.0])}, {"y": np.array([0.0])}, {"k": np.array([1.0])}, "b")
    result = metric.result
    assert (result.name, result.samples, result.reference, result.candidate) == ("m", 2, 4.0, 3.0)


def test_a_metric_that_fails_names_itself_and_the_sample():
    def broken(outputs, sample):
        raise ZeroDivisionError("nothing there")

    with pytest.raises(UsageError) as caught:
        UserMetric("m", broken).add({}, {}, {}, "photo.npz")
    assert caught.value.code == "METRIC_FAILED"
    assert "photo.npz" in caught.value.where
    assert caught.value.why == "nothing there"


@pytest.mark.parametrize("result", ["a lot", None, np.zeros(2)])
def test_what_is_no_number_is_refused(result):
    with pytest.raises(UsageError) as caught:
        UserMetric("m", lambda *_: result).add({}, {}, {}, "a")
    assert caught.value.code == "METRIC_FAILED"


@pytest.fixture
def module(tmp_path, monkeypatch):
    text = "def best(outputs, sample):\n    return 7\nclass Of:\n    best = best\nNUMBER = 3\n"
    (tmp_path / "own_metric_for_a_test.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "own_metric_for_a_test", raising=False)
    return "own_metric_for_a_test"


@pytest.mark.parametrize("attribute", ["best", "Of.best"])
def test_a_function_of_a_module_in_the_current_folder_is_found(module, attribute):
    metric = user_metric(f"{module}:{attribute}", trust=True)
    metric.add({}, {}, {}, "a")
    assert metric.result.reference == 7


def test_nothing_is_imported_without_trust(module):
    with pytest.raises(RefusedError) as caught:
        user_metric(f"{module}:best", trust=False)
    assert caught.value.code == "METRIC_NEEDS_TRUST"
    assert module not in sys.modules


def test_a_function_needs_no_trust():
    def accuracy(outputs, sample):
        return 1

    assert user_metric(accuracy, trust=False).name.endswith("accuracy")


@pytest.mark.parametrize("word", ["", "module", "module:", ":function"])
def test_a_word_that_is_none_is_wrong_use(word):
    with pytest.raises(UsageError) as caught:
        user_metric(word, trust=True)
    assert caught.value.code == "BAD_OPTION"


def test_what_is_not_there_or_no_function_is_reported_and_the_path_is_left_as_it_was(module):
    before = list(sys.path)
    for word in (f"{module}:worst", "no_such_module_anywhere:f", f"{module}:NUMBER"):
        with pytest.raises(UsageError) as caught:
            user_metric(word, trust=True)
        assert caught.value.code == "NO_SUCH_METRIC"
    assert sys.path == before
