"""Divergences of a report are added to a baseline file, with who, why and until when."""

import getpass

import pytest

from isomorph.checking.accept import accept_report
from isomorph.core.coverage import Coverage, OutputCoverage
from isomorph.core.divergence import Budget, Distance, Divergence, ErrorTerm, Verdict
from isomorph.core.errors import UsageError
from isomorph.core.report import Report
from isomorph.reporters.json import as_json
from isomorph.store.baselines import read_baseline

DISTANCE = Distance(
    elements=2, compared=2, differing=1, nonfinite_mismatch=0, signed_zero_mismatch=0,
    max_abs=0.5, max_rel=0.5, max_ulp=9.0, rms=0.1, relative_l2=0.1, sqnr_db=3.0, cosine=0.9,
    argmax_agreement=None, worst_index=(0,),
)  # fmt: skip


def divergence(output):
    far = ErrorTerm(distance=DISTANCE, budget=Budget(derivation="", ratio=9.0))
    return Divergence(
        reference_output=output, candidate_output=output, dtype="float32", shape=(2,),
        verdict=Verdict.DIVERGENT, reason="wrong", observed=far, rounding=far, translation=far,
    )  # fmt: skip


@pytest.fixture
def accept(tmp_path):
    """Accepts the divergences of these outputs."""

    def accepted(*outputs, why="known", who="me", until=None, pair=None):
        report = Report(
            verdict=Verdict.DIVERGENT, reason="wrong", command="check", seed=0, draws=3,
            false_alarm=1e-6, pair="a → b", outputs=tuple(map(divergence, outputs)),
            coverage=Coverage(
                given=1, values=2, inputs=1,
                outputs=tuple(OutputCoverage(output=each, beyond=1) for each in outputs),
            ),
        )  # fmt: skip
        path = tmp_path / "report.json"
        path.write_text(as_json(report))
        file = tmp_path / "baseline.toml"
        made = accept_report(path, file, why=why, who=who, until=until, pair=pair)
        return made, read_baseline(file)

    return accepted


def test_each_divergent_output_becomes_an_entry_and_is_in_the_file(accept):
    made, read = accept("y", "z")
    assert {(each.output, each.max_abs, each.who, each.why) for each in read} == {
        ("y", 0.5, "me", "known"),
        ("z", 0.5, "me", "known"),
    }
    assert set(made) == set(read)
    assert {each.pair for each in read} == {"a → b"}


def test_other_entries_stay_and_one_for_the_same_output_is_replaced(accept):
    accept("y", pair="others")
    accept("y", why="first")
    _, read = accept("y", why="second")
    assert {(each.pair, each.why) for each in read} == {("others", "known"), ("a → b", "second")}


def test_without_a_name_it_is_the_user(accept, monkeypatch):
    monkeypatch.setattr(getpass, "getuser", lambda: "somebody")
    assert accept("y", who=None)[1][0].who == "somebody"

    def nobody():
        raise KeyError("uid")

    monkeypatch.setattr(getpass, "getuser", nobody)
    with pytest.raises(UsageError):
        accept("y", who=None)


def test_a_day_to_come_is_kept_and_one_that_is_past_refused(accept):
    assert accept("y", until="2999-01-31")[1][0].until == "2999-01-31"
    with pytest.raises(UsageError, match="past"):
        accept("y", until="2001-01-31")


@pytest.mark.parametrize("wrong", [{"why": " "}, {"until": "soon"}, {"until": "2027-13-01"}])
def test_what_cannot_be_meant_is_refused_and_nothing_is_written(accept, tmp_path, wrong):
    with pytest.raises(UsageError) as caught:
        accept("y", **wrong)
    assert caught.value.code == "BAD_OPTION"
    assert not (tmp_path / "baseline.toml").exists()
