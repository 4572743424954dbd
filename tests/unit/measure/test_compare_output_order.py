from types import SimpleNamespace

import numpy as np
import pytest

from isomorph.core.divergence import Budget, Divergence, ErrorTerm, Verdict
from isomorph.core.model import OutputOrder
from isomorph.core.report import Binding
from isomorph.measure import compare as stage
from isomorph.measure.distance import distance

WIDE, NARROW = np.ones((2, 5), np.float32), np.linspace(0, 1, 6, dtype=np.float32).reshape(2, 3)
REFERENCE = {"a": WIDE, "b": NARROW, "c": NARROW + 1}
CANDIDATE = {"p": NARROW + 1.1, "q": WIDE + 0.1, "r": NARROW + 0.1}
"""All of them are off, and another order than by place is meant: q, r, p."""


def _side(values, outputs):
    graph = SimpleNamespace(outputs=[SimpleNamespace(name=name) for name in values])
    model = SimpleNamespace(output_order=outputs, graph=graph, metadata={"outputs": "unordered"})
    return SimpleNamespace(model=model, runtime_outputs=lambda: values)


@pytest.fixture
def judged(monkeypatch):
    """Everything is divergent: only how far the runs are apart can tell one order from another."""

    def one(pair):
        left, right = REFERENCE[pair.reference], CANDIDATE[pair.candidate]
        apart = distance(right, left) if left.shape == right.shape else None
        return Divergence(
            reference_output=pair.reference,
            candidate_output=pair.candidate,
            dtype="float32",
            shape=right.shape,
            verdict=Verdict.DIVERGENT,
            reason="off",
            observed=None
            if apart is None
            else ErrorTerm(distance=apart, budget=Budget(derivation="", ratio=2.0)),
        )

    def fake(reference, candidate, bindings, terms):
        return stage.Comparison(
            divergences=tuple(map(one, bindings)), rearranged={}, bindings=tuple(bindings)
        )

    monkeypatch.setattr(stage, "_compare", fake)


@pytest.mark.parametrize(
    ("outputs", "order"),
    [(OutputOrder.UNORDERED, "qrp"), (OutputOrder.POSITIONAL, "pqr"), (OutputOrder.NAMED, "pqr")],
)
def test_outputs_without_an_order_are_judged_in_the_nearest_one(judged, outputs, order):
    bindings = [
        Binding(reference=ref, candidate=cand, how="position")
        for ref, cand in zip(REFERENCE, CANDIDATE, strict=True)
    ]
    sides = _side(REFERENCE, outputs), _side(CANDIDATE, OutputOrder.POSITIONAL)
    terms = stage.Terms(false_alarm=1e-6, budgets={})
    found = stage.compare(*sides, bindings, terms)
    assert "".join(pair.candidate for pair in found.bindings) == order
