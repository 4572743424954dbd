"""The first tensor of a run that is not finite, or leaves float64, names its node."""

from types import SimpleNamespace

import numpy as np
import pytest

from chains import OPS, Session, graph, node
from isomorph.core.errors import RuntimeFailedError
from isomorph.core.trace import Capabilities
from isomorph.measure.first_bad_tensor import first_bad_tensors
from isomorph.measure.spread import Spread

X = np.linspace(0.5, 2.0, 24).reshape(4, 6)


class Run(Session):
    """A runtime in float32, in which one operator computes something else."""

    def __init__(self, made, altered=None, fetch="all"):
        super().__init__(made)
        self.altered = altered or {}
        self.capabilities = Capabilities(fetch=fetch)

    def run(self, feeds, fetch, *, noise=None):
        known = {name: OPS[name] for name in self.altered}
        OPS.update(self.altered)
        try:
            found = super().run(feeds, fetch)
        finally:
            OPS.update(known)
        return {name: value.astype(np.float32) for name, value in found.items()}


CHAIN = graph(
    [node("Sin", ["x"], "a"), node("Mul", ["a", "x"], "b"), node("Neg", ["b"], "y")], outputs=["y"]
)


def evaluated(altered=None, **more):
    oracle, runtime = Session(CHAIN), Run(CHAIN, altered, **more)
    feeds = {"x": X}
    spread = Spread(
        draws=8, deviation=np.full(X.shape, 2.0**-23), unsettled=np.zeros(X.shape, bool)
    )
    return SimpleNamespace(
        model=SimpleNamespace(graph=CHAIN),
        feeds=feeds,
        seed=0,
        run_dtype="",
        oracle=lambda: oracle,
        runtime=lambda: runtime,
        runtime_outputs=lambda: runtime.run(feeds, ["y"]),
        oracle_outputs=lambda: oracle.run(feeds, ["y"]),
        rounding=lambda: {"y": spread},
    )


def found(*args, **more):
    return [(each.code, each.node) for each in first_bad_tensors(evaluated(*args, **more), 1e-6)]


def test_a_run_within_its_budget_is_not_looked_into():
    assert found() == []


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_the_first_node_that_is_not_finite_is_named(value):
    altered = {"Mul": lambda one, two: np.where(one == one.max(), value, one * two)}
    assert found(altered) == [("NOT_FINITE", "make_b")]


def test_the_first_node_that_leaves_float64_is_named_and_not_those_behind_it():
    altered = {"Mul": lambda one, two: one * two * 1.01}
    assert found(altered) == [("PRECISION_LOST", "make_b")]


def test_what_the_oracle_has_as_well_is_meant(monkeypatch):
    monkeypatch.setitem(OPS, "Mul", lambda one, two: np.where(one == one.max(), np.inf, one * two))
    (finding,) = first_bad_tensors(evaluated(), 1e-6)
    assert (finding.code, finding.node) == ("NOT_FINITE_AS_MEANT", "make_b")
    assert (finding.cause, finding.effect) == (None, "none")


def test_a_runtime_that_shows_its_outputs_only_names_nothing():
    altered = {"Mul": lambda one, two: one * two * 1.01}
    assert found(altered, fetch="outputs") == []


def test_a_run_that_failed_names_nothing():
    model = evaluated()
    model.runtime_outputs = lambda: RuntimeFailedError("X", "broken")
    assert list(first_bad_tensors(model, 1e-6)) == []
