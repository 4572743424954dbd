"""Which check is made follows from what was given: a model, a pair, recorded outputs, traces."""

from types import SimpleNamespace

import numpy as np
import pytest

from isomorph.checking import check_single, check_trace, dispatch
from isomorph.checking.config import CheckConfig
from isomorph.checking.dispatch import open_pair, run_check
from isomorph.core.errors import UsageError
from isomorph.core.model import Graph, TensorSpec

SPEC = TensorSpec(name="x", dtype="float32", shape=(2,))


class Loader:
    """Opens whatever it is given, and has one sample or none."""

    def __init__(self, sample="sample", inputs=(SPEC,), isolation="none"):
        self.given, self.opened, self.prepared = sample, [], []
        self.host = SimpleNamespace(isolation=isolation)
        self.graph = Graph(name="g", inputs=inputs, outputs=(), nodes=(), tensors={}, constants={})

    def open(self, role, source, loaded=None):
        self.opened.append((role, source))
        self.loaded = loaded
        prepare = lambda: self.prepared.append(role)  # noqa: E731
        return SimpleNamespace(
            role=role, source=source, model=SimpleNamespace(graph=self.graph), prepare=prepare
        )

    def side(self, role, source):
        return self.open(role, source)

    def sample(self, inputs):
        return self.given

    def warm(self, *sources):
        pass


@pytest.fixture(autouse=True)
def _checks(monkeypatch):
    """Each check answers with its name and the sample that it was given."""
    for module, name in (
        (check_single, "check_alone"),
        (check_single, "check_recorded"),
        (check_trace, "check_replayed"),
        (dispatch, "check_pair"),
    ):
        monkeypatch.setattr(module, name, lambda *args, name=name: (name, args[-2]))
    monkeypatch.setattr(
        dispatch, "is_trace_of_model", lambda source: str(source).endswith(".trace")
    )
    arrays = {"y": np.zeros(2)}
    monkeypatch.setattr(
        dispatch, "recorded", lambda source: ("r.npz", "d", arrays) if source == "r.npz" else None
    )


def made(reference, candidate, loader=None, **options):
    return run_check(loader or Loader(), reference, candidate, CheckConfig(**options))


def test_one_model_is_checked_against_its_own_oracle():
    loader = Loader()
    assert made("a", None, loader) == ("check_alone", "sample")
    assert loader.opened == [("candidate", "a")]


def test_two_models_are_a_pair():
    assert made("a", "b") == ("check_pair", "sample")


@pytest.mark.parametrize("sides", [("a.trace", "b"), ("a", "b.trace"), ("a.trace", "b.trace")])
def test_a_trace_on_either_side_is_replayed(sides):
    assert made(*sides) == ("check_replayed", "sample")


def test_recorded_outputs_are_compared_with_the_candidate_alone():
    loader = Loader()
    assert made("r.npz", "b", loader) == ("check_recorded", "sample")
    assert loader.opened == [("candidate", "b")]


def test_recorded_outputs_need_the_inputs_that_they_belong_to():
    with pytest.raises(UsageError) as caught:
        made("r.npz", "b", Loader(sample=None))
    assert caught.value.code == "INPUTS_NEEDED"
    assert made("r.npz", "b", Loader(sample=None, inputs=())) == ("check_recorded", None)


def test_recorded_outputs_are_those_of_one_sample():
    with pytest.raises(UsageError) as caught:
        made("r.npz", "b", data=["many"])
    assert caught.value.code == "BAD_OPTION"


def test_with_a_test_set_no_single_sample_is_read():
    assert made("a", "b", data=["many"]) == ("check_pair", None)
    assert made("a", None, data=["many"]) == ("check_alone", None)


@pytest.mark.parametrize(
    ("isolation", "sources", "ahead"),
    [
        ("process", ("a", "b"), ["candidate"]),
        ("none", ("a", "b"), []),
        ("process", (object(), "b"), []),
    ],
)
def test_the_runtime_of_the_candidate_opens_ahead_where_each_side_has_a_worker(
    isolation, sources, ahead
):
    loader = Loader(isolation=isolation)
    left, right = open_pair(loader, *sources)
    assert (left.role, right.role) == ("reference", "candidate")
    assert (left.source, right.source) == sources
    assert loader.prepared == ahead


def test_no_runtime_opens_ahead_of_what_only_evaluates():
    loader = Loader(isolation="process")
    open_pair(loader, "a", "b", runs=False)
    assert loader.prepared == []


def test_one_file_on_both_sides_is_loaded_once():
    loader = Loader(isolation="process")
    left, _ = open_pair(loader, "a", "a")
    assert loader.loaded is left.model
    open_pair(loader, "a", "b")
    assert loader.loaded is None
