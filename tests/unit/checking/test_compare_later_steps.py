"""A later step of decoding is compared without re-rounded constants, unless that leaves a doubt."""

from types import SimpleNamespace

import pytest

from isomorph.checking import compare as comparing
from isomorph.core.divergence import Verdict
from isomorph.measure.compare import Terms


def made(*verdicts):
    return SimpleNamespace(divergences=[SimpleNamespace(verdict=each) for each in verdicts])


@pytest.mark.parametrize(
    ("later", "quick", "asked"),
    [
        (False, [Verdict.EQUIVALENT], [True]),
        (True, [Verdict.EQUIVALENT, Verdict.EQUIVALENT], [False]),
        (True, [Verdict.EQUIVALENT, Verdict.DIVERGENT], [False, True]),
        (True, [Verdict.DEGRADED], [False, True]),
        (True, [Verdict.UNKNOWN], [False, True]),
    ],
)
def test_only_what_rounding_explains_entirely_is_settled_without_them(
    monkeypatch, later, quick, asked
):
    seen, whole = [], made(Verdict.EQUIVALENT)
    terms = Terms(false_alarm=1e-6, budgets={})

    def compare(_reference, _candidate, _outputs, terms):
        seen.append(terms.allowance)
        return whole if terms.allowance else made(*quick)

    monkeypatch.setattr(comparing, "compare", compare)
    found = comparing.compared_sample((None, None), (), terms, later=later)
    assert seen == asked
    assert (found is whole) is asked[-1]
