"""The float64 values of the candidate alone: they settle what is clear, and nothing else."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from isomorph.core.divergence import Verdict
from isomorph.core.errors import RuntimeFailedError
from isomorph.core.report import Binding
from isomorph.core.stated_numbers import FIRST_DRAWS, SAMPLES_BY_BOTH
from isomorph.measure.candidate_float64 import Trust, judged_by_candidate
from isomorph.measure.compare import Comparison, Terms
from isomorph.measure.output_layout import Arrangeable
from isomorph.measure.spread import Spread

BINDING = (Binding(reference="y", candidate="z", how="position"),)
TERMS = Terms(false_alarm=1e-6, budgets={})
ORACLE = np.linspace(1.0, 2.0, 8)
RUN = ORACLE.astype(np.float32)
DEVIATION = 1e-6
FAR = 40 * DEVIATION
"""Beyond the budget of these draws, by little."""


def spread(**words):
    known = {"draws": 3, "deviation": np.full(8, DEVIATION), "unsettled": np.zeros(8, bool)}
    return Spread(**(known | {"freedom": 24.0, "lower_bound": True} | words))


def judged(*, reference=RUN, run=RUN, oracle=ORACLE, moved=None, more=None, terms=TERMS):
    """``more`` is the spread of further draws, where there are any."""

    def outputs(name, value):
        return lambda: value if isinstance(value, Exception) else {name: value}

    tail = SimpleNamespace(
        runtime_outputs=outputs("z", run),
        oracle_outputs=outputs("z", oracle),
        rounding=outputs("z", moved or spread()),
    )

    def draw_more(draws):
        assert draws == FIRST_DRAWS
        if more is not None:
            tail.rounding = outputs("z", more)
        return more is not None

    tail.draw_more = draw_more
    return judged_by_candidate(
        SimpleNamespace(runtime_outputs=outputs("y", reference)),
        SimpleNamespace(tail=lambda: tail), BINDING, terms,
    )  # fmt: skip


def test_more_draws_settle_what_one_leaves_in_doubt():
    off = {"reference": (RUN + 1.2 * DEVIATION).astype(np.float32), "moved": spread(draws=1)}
    assert judged(**off) is None
    assert judged(**off, more=spread()) is not None
    assert judged(reference=moved_at_one_place(RUN), moved=spread(draws=1), more=spread()) is None


def moved_at_one_place(values):
    values = values.copy()
    values[5] += FAR
    return values


def test_runs_that_are_clearly_within_the_candidates_budget_are_settled():
    found = judged(reference=np.nextafter(RUN, 9, dtype=np.float32))
    (divergence,) = found.divergences
    assert divergence.verdict is Verdict.EQUIVALENT
    assert 0 < divergence.observed.budget.ratio < 1
    assert found.bindings == BINDING


@pytest.mark.parametrize(
    "off",
    [
        {"reference": moved_at_one_place(RUN)},
        {"run": moved_at_one_place(RUN)},
        # The runs agree, and the graph does not: an optimizer hides what it states.
        {"oracle": moved_at_one_place(ORACLE)},
        {"reference": np.where(np.arange(8) == 2, np.nan, RUN).astype(np.float32)},
        {"reference": RUN.astype(np.float64)},
        {"reference": RUN[None]},
        {"run": (RUN * 8).astype(np.int32), "reference": (RUN * 8).astype(np.int32)},
        {"reference": RuntimeFailedError("RUNTIME_CRASHED", "it died")},
        {"oracle": RuntimeFailedError("UNSUPPORTED_OP", "it refused")},
        {"moved": RuntimeFailedError("RUNTIME_CRASHED", "it died")},
        {"moved": spread(deviation=np.full(8, 1e9)), "reference": moved_at_one_place(RUN)},
    ],
    ids=["reference", "run", "oracle", "nan", "type", "shape", "integers", "died", "refused",
         "no draws", "a budget beyond the values"],
)  # fmt: skip
def test_everything_else_is_left_to_the_full_comparison(off):
    assert judged(**off) is None


def test_an_error_that_is_within_and_not_clearly_is_left_to_the_full_comparison():
    ratio = judged(reference=np.nextafter(RUN, 9, dtype=np.float32)).divergences[0]
    step = float(np.max(np.nextafter(RUN, 9, dtype=np.float32) - RUN))
    near = (RUN + 0.95 * step / ratio.observed.budget.ratio).astype(np.float32)
    assert judged(reference=near) is None


def test_stated_budgets_and_orders_of_axes_are_judged_in_full():
    assert judged(terms=replace(TERMS, budgets={"": 1.0})) is None
    stated = Arrangeable(stated={"z": (0,)})
    assert judged(terms=replace(TERMS, arrangeable=stated)) is None


def test_a_model_without_a_tail_is_judged_in_full():
    assert judged_by_candidate(None, SimpleNamespace(tail=lambda: None), BINDING, TERMS) is None


def test_trust_is_earned_by_clear_samples_and_lost_by_one_in_doubt():
    clear, trust = judged(), Trust(TERMS.false_alarm)
    for _ in range(SAMPLES_BY_BOTH):
        assert not trust.earned
        trust.add(clear)
    assert trust.earned
    (divergence,) = clear.divergences
    unknown = replace(divergence, verdict=Verdict.UNKNOWN)
    trust.add(Comparison(divergences=(unknown,), rearranged={}, bindings=BINDING))
    assert not trust.earned


def test_a_reference_whose_run_is_far_from_its_own_float64_values_is_not_trusted():
    trust = Trust(TERMS.false_alarm)
    (divergence,) = judged().divergences
    run = divergence.execution_reference
    far = replace(run, budget=replace(run.budget, ratio=1.5))
    doubtful = replace(divergence, execution_reference=far)
    trust.add(Comparison(divergences=(doubtful,), rearranged={}, bindings=BINDING))
    for _ in range(SAMPLES_BY_BOTH):
        trust.add(judged())
    assert not trust.earned
