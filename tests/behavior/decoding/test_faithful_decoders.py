"""Decoders that are the same raise no alarm, whatever their caches look like."""

import numpy as np
import pytest

import isomorph
from isomorph.core.decoding import CachedBy, Start, TokenJudgment
from isomorph.core.divergence import Verdict
from isomorph.core.report import BoundBy
from onnx_decoders import (
    Faults,
    buffer_decoder,
    cross_decoder,
    grouped_decoder,
    plain_decoder,
    rotary_decoder,
    table_decoder,
)


def same_tokens(decoding):
    judged = {each.judgment for step in decoding.steps for each in step.choices}
    return judged == {TokenJudgment.SAME} and decoding.own.first_different is None


@pytest.mark.parametrize(
    ("decoder", "start", "caches"),
    [
        (rotary_decoder, Start.EMPTY, 4),
        (table_decoder, Start.EMPTY, 2),
        (buffer_decoder, Start.BUFFER, 2),
        (cross_decoder, Start.EMPTY, 4),
        (grouped_decoder, Start.EMPTY, 2),
        (plain_decoder, Start.NONE, 0),
    ],
)
def test_a_copy_decodes_the_same(tmp_path, decoder, start, caches):
    models = decoder(tmp_path / "a.onnx"), decoder(tmp_path / "b.onnx")
    report = isomorph.check(*models, decode=2, in_process=True)
    assert report.headline == "EQUIVALENT on 3 steps of decoding"
    assert not report.findings
    decoding = report.decoding
    assert (decoding.start, len(decoding.caches)) == (start, caches)
    assert same_tokens(decoding)
    assert [step.number for step in decoding.steps] == [0, 1, 2]
    assert all(step.verdict is Verdict.EQUIVALENT for step in decoding.steps)
    assert all(len(each.ratios) == 3 and max(each.ratios) < 1 for each in decoding.caches)


def test_an_exported_program_and_its_onnx_model_are_paired_by_layers(tmp_path):
    from pytorch_decoders import exported_decoder

    candidate = rotary_decoder(tmp_path / "candidate.onnx")
    reference = exported_decoder(candidate, str(tmp_path / "reference.pt2"))
    report = isomorph.check(reference, candidate, decode=1, in_process=True)
    assert report.verdict is Verdict.EQUIVALENT
    assert {pair.how for pair in report.decoding.reference_caches} == {CachedBy.DATA_FLOW}
    bound = {each.reference: each for each in report.input_bindings}
    assert bound["past_key_values_1_0"].candidate == "past_key_values.1.key"
    assert bound["past_key_values_1_0"].how is BoundBy.DECODING
    assert same_tokens(report.decoding)


def test_a_token_that_differs_within_rounding_is_a_tie(tmp_path):
    models = [rotary_decoder(tmp_path / f"{word}.onnx", Faults(favored=word)) for word in (0, 1)]
    report = isomorph.check(*models, decode=1, in_process=True)
    assert report.verdict is Verdict.EQUIVALENT
    decoding = report.decoding
    choices = [each for step in decoding.steps for each in step.choices]
    assert [(each.reference, each.candidate) for each in choices] == [(0, 1), (0, 1)]
    assert decoding.ties == 2
    assert all(0 <= each.margin <= each.allowed for each in choices)
    assert decoding.own.first_different == 1
    assert decoding.own.choice.judgment is TokenJudgment.TIE


def test_a_given_prompt_may_have_several_rows_and_padding(tmp_path):
    model = rotary_decoder(tmp_path / "model.onnx")
    prompt = np.array([[5, 6, 7], [0, 8, 9]])
    mask = np.array([[1, 1, 1], [0, 1, 1]])
    report = isomorph.check(
        model, model, decode=2, inputs={"input_ids": prompt, "attention_mask": mask},
        in_process=True,
    )  # fmt: skip
    decoding = report.decoding
    assert report.verdict is Verdict.EQUIVALENT
    assert decoding.prompt == ((5, 6, 7), (0, 8, 9))
    assert len(decoding.own.reference) == 2
    alone = isomorph.check(
        model, model, decode=2, inputs=np.array([[8, 9]]), in_process=True
    ).decoding
    assert alone.own.reference[0] == decoding.own.reference[1]


def test_a_decoder_that_does_not_run_on_empty_caches_gets_generated_ones(tmp_path):
    model = table_decoder(tmp_path / "model.onnx", needs_past=True)
    report = isomorph.check(model, model, decode=1, in_process=True)
    assert report.verdict is Verdict.EQUIVALENT
    assert report.decoding.start is Start.GENERATED
    assert [step.cached for step in report.decoding.steps] == [4, 12]
    assert same_tokens(report.decoding)


def test_one_token_at_a_time_reads_the_prompt_in_steps(tmp_path):
    model = rotary_decoder(tmp_path / "one.onnx", tokens=1)
    whole = rotary_decoder(tmp_path / "whole.onnx")
    given = {"decode": 1, "inputs": np.array([[5, 6, 7]]), "in_process": True}
    report = isomorph.check(model, model, **given)
    decoding = report.decoding
    assert report.verdict is Verdict.EQUIVALENT
    assert [(step.number, step.cached) for step in decoding.steps] == [
        (0, 0), (0, 1), (0, 2), (1, 3),
    ]  # fmt: skip
    assert isomorph.check(whole, whole, **given).decoding.own == decoding.own


def test_a_narrower_candidate_may_lose_what_its_type_intends(tmp_path):
    model = rotary_decoder(tmp_path / "model.onnx")
    narrow = rotary_decoder(tmp_path / "narrow.onnx", narrow=True)
    report = isomorph.check(model, narrow, decode=2, in_process=True)
    judged = {each.judgment for step in report.decoding.steps for each in step.choices}
    assert report.verdict is Verdict.DEGRADED
    assert judged <= {TokenJudgment.SAME, TokenJudgment.TIE, TokenJudgment.LOSS}
