"""A sample of many: what is equal to the last bit needs no draws, and everything else has them."""

from types import SimpleNamespace

import numpy as np
import pytest

from isomorph.core.divergence import Verdict
from isomorph.core.errors import RuntimeFailedError
from isomorph.core.report import Binding
from isomorph.measure import screening
from isomorph.measure.compare import Comparison, Terms

BINDING = (Binding(reference="y", candidate="z", how="position"),)
TERMS = Terms(false_alarm=1e-6, budgets={})
VALUE = np.array([1.0, 2.0], np.float32)


def side(name, run=VALUE, oracle=VALUE):
    def outputs(value):
        return value if isinstance(value, Exception) else {name: value}

    return SimpleNamespace(
        runtime_outputs=lambda: outputs(run), oracle_outputs=lambda: outputs(oracle)
    )


@pytest.fixture
def asked(monkeypatch):
    """Whether the full comparison was asked, and with which terms."""
    found = []

    def compare(reference, candidate, bindings, terms):
        found.append(terms.allowance)
        return Comparison(divergences=(), rearranged={}, bindings=tuple(bindings))

    monkeypatch.setattr(screening, "compare", compare)
    return found


def test_equal_runs_of_equal_oracles_need_no_budget(asked):
    found = screening.screened(side("y"), side("z"), BINDING, TERMS)
    (judged,) = found.divergences
    assert (judged.verdict, judged.elements, asked) == (Verdict.EQUIVALENT, 2, [])


@pytest.mark.parametrize(
    "other",
    [
        {"run": np.nextafter(VALUE, 9, dtype=np.float32)},
        {"oracle": np.nextafter(VALUE.astype(float), 9)},
        {"run": VALUE.reshape(1, 2)},
        {"run": VALUE.astype(np.float64)},
        {"run": np.array([1.0, np.nan], np.float32)},
    ],
    ids=["run", "oracle", "shape", "type", "nan"],
)
def test_anything_else_is_compared(asked, other):
    screening.screened(side("y"), side("z", **other), BINDING, TERMS)
    assert asked == [False], "constants are disturbed only where the verdict hangs on it"


def test_runs_that_are_equally_infinite_are_compared(asked):
    infinite = np.array([1.0, np.inf], np.float32)
    screening.screened(side("y", infinite), side("z", infinite), BINDING, TERMS)
    assert asked


def test_a_runtime_that_died_ends_the_test_set(asked):
    died = RuntimeFailedError("RUNTIME_CRASHED", "it died")
    with pytest.raises(RuntimeFailedError):
        screening.screened(side("y"), side("z", run=died), BINDING, TERMS)
    refused = RuntimeFailedError("UNSUPPORTED_OP", "it refused")
    screening.screened(side("y"), side("z", oracle=refused), BINDING, TERMS)
    assert asked == [False], "what is only refused is judged as unknown"
