"""Two functions on many samples; no model is needed to see what is kept of them."""

import math

import numpy as np
import pytest

from isomorph.core.divergence import Divergence, Verdict
from isomorph.core.errors import RefusedError, RuntimeFailedError, UsageError
from isomorph.core.report import Binding
from isomorph.inputs.data_sets import Drawn
from isomorph.inputs.feeds import Sample
from isomorph.measure import dataset as over
from isomorph.measure.compare import Comparison
from isomorph.measure.model_functions import Sides
from isomorph.measure.output_layout import Arrangeable
from isomorph.measure.user_metric import user_metric

BINDING = (Binding(reference="y", candidate="z", how="position"),)


def drawn(count, shape=(1, 4), seed=0):
    draw = np.random.default_rng(seed)
    for place in range(count):
        feeds = {"x": draw.standard_normal(shape)}
        yield Drawn(sample=Sample(origin=f"s{place}", feeds=feeds), arrays=feeds)


def measured(samples, candidate, reference=lambda x: x, **words):
    sides = (
        lambda sample: {"y": reference(sample.feeds["x"])},
        lambda sample: {"z": candidate(sample.feeds["x"], sample.origin)},
    )
    words.setdefault("judge", judging({}))
    return over.measure("set", samples, Sides(both=sides), BINDING, **words)


def judging(verdicts):
    """A judge that has its verdict by the sample's name; ``asked`` holds the samples it saw."""

    def judge(sample, bindings):
        asked.append(sample.origin)
        verdict = verdicts.get(sample.origin, Verdict.EQUIVALENT)
        return Comparison(
            divergences=tuple(
                Divergence(
                    reference_output=pair.reference, candidate_output=pair.candidate, dtype="",
                    shape=(), verdict=verdict, reason=str(verdict),
                )
                for pair in bindings
            ),
            rearranged={},
            bindings=tuple(bindings),
        )  # fmt: skip

    asked = judge.asked = []
    return judge


def test_the_worst_sample_and_the_distribution():
    sizes = {"s3": 1e-2, "s8": 1e-3}
    found = measured(drawn(20), lambda x, origin: x * (1 + sizes.get(origin, 1e-6)))
    output = found.summary.outputs[0]
    assert (output.reference_output, output.candidate_output) == ("y", "z")
    assert (output.worst, output.samples) == ("s3", 20)
    assert output.worst_relative == pytest.approx(1e-2)
    assert output.quantiles["0.5"] == pytest.approx(1e-6)
    assert output.quantiles["0.95"] == pytest.approx(1e-3)
    assert output.quantiles["1"] == output.worst_relative
    assert [sample.origin for sample in found.examined] == ["s3"]


def test_the_largest_absolute_error_is_examined_too():
    def scaled(samples):
        for place, each in enumerate(samples):
            feeds = {"x": each.sample.feeds["x"] * (1e3 if place == 4 else 1.0)}
            yield Drawn(sample=Sample(origin=each.sample.origin, feeds=feeds), arrays=feeds)

    sizes = {"s4": 1e-4, "s2": 1e-2}
    found = measured(scaled(drawn(6)), lambda x, origin: x * (1 + sizes.get(origin, 0.0)))
    assert [sample.origin for sample in found.examined] == ["s2", "s4"]


def test_labels_that_flip_are_counted():
    found = measured(drawn(10), lambda x, origin: -x if origin in {"s1", "s2"} else x)
    assert found.summary.outputs[0].label_agreement == pytest.approx(0.8)


@pytest.mark.parametrize(("both", "relative"), [(True, 0.0), (False, math.inf)])
def test_nan_in_any_sample_is_noticed(both, relative):
    def broken(x):
        return np.where(x == x.max(), np.nan, x) if x[0, 0] > 1 else x

    found = measured(drawn(30), lambda x, _: broken(x), reference=broken if both else (lambda x: x))
    output = found.summary.outputs[0]
    assert 0 < output.not_finite < 30
    assert output.nonfinite_mismatch == (0 if both else output.not_finite)
    assert output.worst_relative == relative
    finding = next(each for each in found.findings if each.code == "OUTPUT_NOT_FINITE")
    assert f"{output.not_finite} of 30" in finding.summary


def test_nan_in_the_samples_themselves_is_noticed():
    feeds = {"x": np.array([[np.nan, 1.0]])}
    bad = Drawn(sample=Sample(origin="bad", feeds=feeds), arrays=feeds)
    found = measured([*drawn(2), bad], lambda x, _: x)
    assert [each.code for each in found.findings] == ["INPUT_NOT_FINITE", "OUTPUT_NOT_FINITE"]
    assert "first 'bad'" in found.findings[0].summary


def test_a_runtime_that_fails_ends_it_at_that_sample():
    def dies(x, origin):
        if origin == "s3":
            raise RuntimeFailedError("RUNTIME_CRASHED", "it died")
        return x

    found = measured(drawn(9), dies)
    assert found.summary.samples == 3
    assert [sample.origin for sample in found.examined] == ["s3"]
    assert "it died" in found.skipped[0].why


def test_the_error_by_time_step():
    def drifts(x, _):
        return x * (1 + 1e-6 * np.arange(x.shape[1])[None, :, None])

    found = measured(drawn(5, shape=(2, 6, 3)), drifts)
    profile = found.summary.outputs[0].by_axis
    assert [(each.axis, each.length, each.input) for each in profile] == [(1, 6, "x")]
    assert profile[0].relative == pytest.approx(1e-6 * np.arange(6), abs=1e-12)


def test_sequences_of_several_lengths_and_long_ones():
    samples = [
        Drawn(sample=Sample(origin=f"{n}", feeds={"x": np.ones((1, n, 2))}), arrays={})
        for n in (4, 1000, 7)
    ]
    found = measured(samples, lambda x, _: x + 1e-3)
    profile = found.summary.outputs[0].by_axis[0]
    assert (profile.length, profile.step, len(profile.relative)) == (1000, 4, 250)
    assert profile.relative == pytest.approx([1e-3] * 250)


def test_a_matrix_has_a_profile_only_along_an_axis_of_the_inputs():
    found = measured(drawn(3, shape=(1, 8)), lambda x, _: x[:, :5], reference=lambda x: x[:, :5])
    assert found.summary.outputs[0].by_axis == ()
    same = measured(drawn(3, shape=(1, 8)), lambda x, _: x)
    assert [each.axis for each in same.summary.outputs[0].by_axis] == [1]


def test_another_order_of_axes_is_settled_by_value_and_kept():
    allowed = Arrangeable(channels=True)
    found = measured(
        drawn(4, shape=(1, 3, 5)), lambda x, _: x.transpose(0, 2, 1), arrangeable=lambda: allowed
    )
    output = found.summary.outputs[0]
    assert (output.worst_relative, output.misshapen) == (0.0, 0)
    cut = measured(drawn(4), lambda x, _: x[:, :3])
    assert (cut.summary.outputs[0].misshapen, cut.summary.outputs[0].worst) == (4, "s0")
    assert cut.summary.outputs[0].worst_relative == math.inf


def test_exact_outputs_are_judged_by_the_share_that_differs():
    found = measured(
        drawn(4), lambda x, origin: (x > 0) ^ (origin == "s1"), reference=lambda x: x > 0
    )
    assert found.summary.outputs[0].worst == "s1"
    assert found.summary.outputs[0].worst_relative == 1.0


def test_no_samples_at_all():
    with pytest.raises(UsageError) as caught:
        measured([], lambda x, _: x)
    assert caught.value.code == "NO_SAMPLES"


def test_the_metric_is_averaged_on_both_sides_under_the_references_names():
    metric = user_metric(lambda outputs, sample: float(np.mean(outputs["y"] > sample["x"])),
                         trust=False)  # fmt: skip
    found = measured(drawn(6), lambda x, origin: x + (origin in {"s0", "s1"}), metric=metric)
    assert (found.summary.metric.reference, found.summary.metric.candidate) == (0.0, 2 / 6)
    assert found.summary.metric.samples == 6


def test_a_metric_by_name_needs_trust_and_a_function(tmp_path, monkeypatch):
    (tmp_path / "scores_for_this_test.py").write_text(
        "ran = True\ndef mean(outputs, sample): return outputs['y'].mean()\n"
    )
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RefusedError) as refused:
        user_metric("scores_for_this_test:mean", trust=False)
    assert (refused.value.code, refused.value.exit_code) == ("METRIC_NEEDS_TRUST", 4)
    assert user_metric("scores_for_this_test:mean", trust=True).name.endswith(":mean")
    for word, code in (("nonsense", "BAD_OPTION"), ("scores_for_this_test:ran", "NO_SUCH_METRIC"),
                       ("scores_for_this_test:absent", "NO_SUCH_METRIC"),
                       ("no_such_module_anywhere:f", "NO_SUCH_METRIC")):  # fmt: skip
        with pytest.raises(UsageError) as caught:
            user_metric(word, trust=True)
        assert caught.value.code == code


def test_a_metric_that_raises_names_the_sample():
    metric = user_metric(lambda outputs, sample: outputs["no such output"], trust=False)
    with pytest.raises(UsageError) as caught:
        measured(drawn(2), lambda x, _: x, metric=metric)
    assert caught.value.code == "METRIC_FAILED"
    assert "s0" in caught.value.sentence


@pytest.mark.parametrize("unordered", [True, False])
def test_outputs_without_an_order_are_paired_by_value(unordered):
    names = [Binding(reference=f"r{n}", candidate=f"c{n}", how="position") for n in range(3)]
    sides = (
        lambda sample: {f"r{n}": sample.feeds["x"] + n for n in range(3)},
        lambda sample: {f"c{n}": sample.feeds["x"] + (n + 1) % 3 for n in range(3)},
    )
    found = over.measure(
        "set", drawn(3), Sides(both=sides, unordered=unordered), names, judging({})
    )
    pairs = {(each.reference_output, each.candidate_output) for each in found.summary.outputs}
    wrong = sum(each.worst_relative > 0 for each in found.summary.outputs)
    if unordered:
        assert (pairs, wrong) == ({("r1", "c0"), ("r2", "c1"), ("r0", "c2")}, 0)
    else:
        assert (pairs, wrong) == ({("r0", "c0"), ("r1", "c1"), ("r2", "c2")}, 3)


def test_every_sample_is_judged_and_the_one_that_is_wrong_examined():
    """By size alone, sample 4 would be chosen; sample 2 is beyond its budget all the same."""
    judge = judging({"s2": Verdict.DIVERGENT})
    sizes = {"s4": 1e-2, "s2": 1e-9}
    found = measured(drawn(9), lambda x, origin: x * (1 + sizes.get(origin, 0.0)), judge=judge)
    assert [sample.origin for sample in found.examined] == ["s4", "s2"]
    assert judge.asked == ["s0", "s1", "s2"], "more would change no verdict"
    assert set(found.judged) == {"s0", "s1", "s2"}
    assert found.unjudged.keys() == {f"s{n}" for n in range(3, 9)}
    assert "s2" in found.unjudged["s8"]


def test_what_is_unknown_of_a_sample_stays_unknown():
    verdicts = {f"s{n}": Verdict.UNKNOWN for n in range(2, 9)}
    judge = judging(verdicts)
    found = measured(drawn(9), lambda x, _: x, judge=judge)
    assert len(judge.asked) == len(found.judged) == 9
    assert {sample.origin for sample in found.examined} == {"s0", "s2", "s3", "s4"}


def test_outputs_that_are_paired_otherwise_on_one_sample_are_not_judged():
    names = [Binding(reference=f"r{n}", candidate=f"c{n}", how="position") for n in range(2)]
    sides = (
        lambda sample: {f"r{n}": sample.feeds["x"] + n for n in range(2)},
        lambda sample: {f"c{n}": sample.feeds["x"] + n for n in range(2)},
    )
    exchanged = judging({})

    def judge(sample, bindings):
        swapped = bindings[::-1] if sample.origin == "s1" else bindings
        return exchanged(sample, swapped)

    found = over.measure("set", drawn(3), Sides(both=sides, unordered=True), names, judge)
    assert found.unjudged == {"s1": "no one pairing of the outputs fits every sample"}


def test_a_sequence_that_is_shorter_on_one_sample_counts():
    sides = (
        lambda sample: {"y": [sample.feeds["x"]] * 3},
        lambda sample: {"z": [sample.feeds["x"]] * (2 if sample.origin == "s2" else 3)},
    )
    found = over.measure("set", drawn(4), Sides(both=sides), BINDING, judging({}))
    last = {each.reference_output: each for each in found.summary.outputs}["y[2]"]
    assert (last.samples, last.misshapen, last.worst) == (4, 1, "s2")
    assert [sample.origin for sample in found.examined] == ["s0", "s2"]


def test_samples_are_prepared_in_growing_batches_and_one_by_one_after_a_divergence():
    prepared = []
    sides = Sides(
        both=(lambda sample: {"y": sample.feeds["x"]}, lambda sample: {"z": sample.feeds["x"]}),
        prepare=lambda samples: prepared.append([each.origin for each in samples]),
        at_once=lambda _, most: most,
    )
    judge = judging({"s4": Verdict.DIVERGENT})
    found = over.measure("set", drawn(12), sides, BINDING, judge)
    assert prepared == [["s1", "s2"], ["s3", "s4", "s5", "s6"]]
    assert judge.asked == ["s0", "s1", "s2", "s3", "s4"]
    assert found.summary.samples == 12
