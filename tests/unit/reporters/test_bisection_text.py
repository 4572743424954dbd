"""A bisection as text names the change first, and what else may be behind it."""

from isomorph.core.bisection import Bisection, PointKind, SearchOutcome, Trial, TrialStatus
from isomorph.reporters.bisection_text import as_line, as_text


def trial(point, verdict, **packages):
    return Trial(point=point, status=TrialStatus.JUDGED, verdict=verdict, packages=packages)


def found(over, *trials, package="pkg", **stated):
    return Bisection(**{
        "over": over, "package": package, "side": "candidate", "reference": "a.onnx",
        "candidate": "", "points": tuple(each.point for each in trials), "trials": trials,
        "outcome": SearchOutcome.FOUND, "before": trials[0].point, "after": trials[1].point,
        **stated,
    })  # fmt: skip


def test_a_release_is_named_with_what_else_differs():
    text = as_text(found(
        PointKind.RELEASES, trial("1", "equivalent", pkg="1", numpy="1.26", onnx="1.17"),
        trial("2", "divergent", pkg="2", numpy="1.26", onnx="1.18", sympy="1"),
    ))  # fmt: skip
    assert text.startswith("pkg 2 is the first release with another verdict: DIVERGENT, equivalent")
    assert "  also different there: onnx 1.17 → 1.18, sympy absent → 1\n" in text


def test_environments_that_differ_in_nothing_else_need_no_line():
    text = as_text(found(PointKind.RELEASES, trial("1", "equivalent", pkg="1"),
                         trial("2", "unknown", pkg="2")))  # fmt: skip
    assert "also different" not in text


def test_an_operator_set_and_a_pass_are_named():
    text = as_text(found(PointKind.OPSETS, trial("12", "equivalent"), trial("13", "divergent")))
    assert text.startswith("operator set 13 is the first with another verdict: DIVERGENT")
    assert "2 of 2 opsets tried" in text
    text = as_text(
        found(PointKind.PASSES, trial("all on", "divergent"), trial("fuse", "equivalent"))
    )
    assert text.startswith("EQUIVALENT once fuse is off, divergent before")
    nothing = found(
        PointKind.PASSES, trial("all on", "equivalent"), trial("fuse", "equivalent"),
        outcome=SearchOutcome.ENDS_AGREE,
    )  # fmt: skip
    assert "(passes of pkg)" in as_text(nothing)


def test_a_trial_is_a_line():
    assert as_line(trial("1", "equivalent")) == "1: EQUIVALENT (0 s)"
