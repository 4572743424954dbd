"""Noise in the tail of a graph alone: a lower bound of the budget that settles most pairs."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import isomorph
from isomorph.core.divergence import Verdict
from isomorph.measure import compare, evaluated_batch, evaluated_model, evaluated_tail

LAYERS = 16


def _model(path, change=None, *, last=()):
    """A chain of dense layers; ``change`` takes the weights of each."""
    random = np.random.default_rng(5)
    nodes, weights, before = [], [], "x"
    for i in range(LAYERS):
        weight = (random.normal(size=(24, 24)) / 5).astype(np.float32)
        if change is not None:
            weight = change(i, weight)
        weights.append(numpy_helper.from_array(weight, f"w{i}"))
        nodes.append(helper.make_node("MatMul", [before, f"w{i}"], [f"m{i}"], name=f"dense{i}"))
        nodes.append(helper.make_node("Tanh", [f"m{i}"], [f"t{i}"], name=f"tanh{i}"))
        before = f"t{i}"
    for i, op in enumerate(last):
        nodes.append(helper.make_node(op, [before], [f"last{i}"], name=f"last{i}"))
        before = f"last{i}"
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [3, 24])],
        [helper.make_tensor_value_info(before, onnx.TensorProto.FLOAT, [3, 24])],
        weights,
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, path)
    return path


def _judged(tmp_path, change=None, *, last=(), locate=True):
    pair = _model(tmp_path / "a.onnx", last=last), _model(tmp_path / "b.onnx", change, last=last)
    report = isomorph.check(*pair, in_process=True, seed=0, locate=locate)
    return report, report.outputs[0]


def test_the_tail_settles_a_faithful_pair(tmp_path):
    report, output = _judged(tmp_path)
    assert report.verdict is Verdict.EQUIVALENT
    for part in (output.observed, output.execution_reference, output.execution_candidate):
        assert part is not None
        assert part.budget.lower_bound
        assert part.within


def test_draws_of_the_tail_begin_with_one_and_grow_while_a_doubt_is_left(tmp_path, monkeypatch):
    drawn = []

    def never(divergence, *_, **__):
        if divergence.observed.budget.lower_bound:
            drawn.append(divergence.observed.budget.draws)
        return False

    monkeypatch.setattr(compare, "beyond_doubt", never)
    monkeypatch.setattr(compare, "settled_but_for_translation", lambda *_: False)
    _judged(tmp_path)
    assert list(dict.fromkeys(drawn)) == [1, 3, 5, 10]


def test_a_single_draw_calls_nothing_wrong(tmp_path, monkeypatch):
    drawn, judge = [], compare._judge_once

    def judged(*given, **words):
        found = judge(*given, **words)
        drawn.append((found[0].verdict, found[0].observed.budget.draws))
        return found

    monkeypatch.setattr(compare, "_judge_once", judged)
    _judged(tmp_path, lambda i, weight: weight[::-1].copy() if i == 2 else weight, locate=False)
    assert drawn[:2] == [(Verdict.DIVERGENT, 1), (Verdict.DIVERGENT, 3)]


def test_a_fault_is_judged_by_the_whole(tmp_path):
    def exchanged(i, weight):
        return weight[::-1].copy() if i == 2 else weight

    report, output = _judged(tmp_path, exchanged)
    assert report.verdict is Verdict.DIVERGENT
    assert output.observed is not None
    assert not output.observed.budget.lower_bound


def test_draws_are_added_in_steps_while_a_doubt_is_left(tmp_path, monkeypatch):
    drawn = []

    def never(divergence, *_, **__):
        drawn.append(divergence.observed.budget.draws)
        return False

    monkeypatch.setattr(compare, "beyond_doubt", never)
    # Without a search for the node, which would prove the difference by itself.
    _judged(tmp_path, lambda i, weight: weight[::-1].copy() if i == 2 else weight, locate=False)
    assert drawn[:3] == [3, 5, 10]


def test_weights_that_were_rounded_again_are_allowed_in_the_whole(tmp_path):
    def again(i, weight):
        return np.nextafter(weight, np.float32(1)) if i < 2 else weight

    report, output = _judged(tmp_path, again)
    assert report.verdict is Verdict.EQUIVALENT
    assert output.translation is not None
    assert output.translation.within
    assert not output.translation.budget.lower_bound, "the tail reads none of these weights"


def test_a_tail_that_begins_with_too_many_numbers_is_not_drawn_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(evaluated_tail, "TAIL_ENTRY_BYTES", 100)
    report, output = _judged(tmp_path)
    assert report.verdict is Verdict.EQUIVALENT
    assert output.observed is not None
    assert not output.observed.budget.lower_bound


def test_a_graph_that_jumps_has_no_tail(tmp_path):
    _, output = _judged(tmp_path, last=("Round",))
    assert output.observed is not None
    assert not output.observed.budget.lower_bound


@pytest.mark.parametrize("seed", range(3))
def test_its_noise_is_no_more_than_that_of_the_whole(tmp_path, seed, monkeypatch):
    kept = []
    made = evaluated_model.EvaluatedModel.tail

    def tail(self):
        kept.append((self, made(self)))
        return kept[-1][1]

    monkeypatch.setattr(evaluated_model.EvaluatedModel, "tail", tail)
    path = _model(tmp_path / "a.onnx")
    isomorph.check(path, _model(tmp_path / "b.onnx"), in_process=True, seed=seed)
    assert kept
    whole, part = kept[0]
    (all_nodes,), (last_nodes,) = whole.rounding().values(), part.rounding().values()
    square = [np.mean(np.square(each.deviation)) for each in (last_nodes, all_nodes)]
    # Estimated by three draws of 72 elements each; the variances add up.
    assert 0 < square[0] < 1.5 * square[1]


def test_a_test_set_is_judged_alike_in_batches_and_one_by_one(tmp_path, monkeypatch):
    """Results that came with those of other samples are the results of each."""
    data = np.random.default_rng(3).normal(size=(9, 3, 24)).astype(np.float32)
    np.savez(tmp_path / "set.npz", x=data.reshape(27, 24))

    def rounded(i, weight):
        return np.nextafter(weight, np.float32(1)) if i == 1 else weight

    pair = _model(tmp_path / "a.onnx"), _model(tmp_path / "b.onnx", rounded)

    def judged():
        report = isomorph.check(*pair, data=tmp_path / "set.npz", seed=0)
        ratios = [each.observed.budget.ratio for each in report.outputs]
        return report.verdict, ratios, report.coverage, report.test_set

    together = judged()
    monkeypatch.setattr(evaluated_batch, "_MOST_SAMPLES", 1)
    assert judged() == together
    assert together[0] is Verdict.EQUIVALENT
