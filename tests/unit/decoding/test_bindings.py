"""Caches of two models belong together by what is stated, by name, by layer, or in order."""

from dataclasses import replace

import pytest

from described_decoders import model, node, spec, words
from isomorph.core.errors import UsageError
from isomorph.core.report import Binding, BoundBy
from isomorph.decoding.bindings import bound_names, labeled
from isomorph.decoding.signature import decoder_signature

CONSTANTS, GATHER = words(61)


def signature_of(*names):
    made = model(
        [
            spec("input_ids", ("batch", "tokens"), "int64"),
            *(spec(f"past_{name}", ("batch", 2, "past", 8)) for name in names),
        ],
        [
            spec("logits", ("batch", "tokens", 61)),
            *(spec(f"present_{name}", ("batch", 2, "total", 8)) for name in names),
        ],
        [GATHER],
        constants=CONSTANTS,
    )
    return decoder_signature(made, "reference", {})


def test_layers_and_parts_count_and_not_the_order():
    inputs, outputs = bound_names(
        signature_of("key_0", "value_0", "key_1", "value_1"),
        signature_of("1.key", "1.value", "0.key", "0.value"),
        {},
    )
    assert inputs["past_key_1"] == "past_1.key"
    assert outputs["present_value_0"] == "present_0.value"
    assert outputs["logits"] == "logits"


def test_names_count_where_all_of_them_are_the_same():
    inputs, _ = bound_names(signature_of("0", "1"), signature_of("1", "0"), {})
    assert inputs["past_0"] == "past_0"


def test_what_the_user_bound_counts_first():
    stated = {"past_0": "past_1", "past_1": "past_0"}
    inputs, outputs = bound_names(signature_of("0", "1"), signature_of("0", "1"), stated)
    assert inputs["past_0"] == "past_1"
    assert outputs["present_0"] == "present_1"


def test_caches_without_counterparts_are_an_error():
    with pytest.raises(UsageError) as caught:
        bound_names(signature_of("0", "1"), signature_of("0"), {})
    assert caught.value.code == "CACHE_NOT_RECOGNIZED"


def test_what_follows_from_roles_is_not_called_stated():
    stated = Binding(reference="a", candidate="b", how=BoundBy.USER)
    same = replace(stated, candidate="a")
    assert labeled([stated, same], {"a": "b"}) == (replace(stated, how=BoundBy.DECODING), same)
    assert labeled([same], {"a": "a"}) == (replace(same, how=BoundBy.NAME),)
    assert labeled([stated], {}) == (stated,)


def with_encoder(*names):
    """A decoder with one cache of its own, which it returns, and these, which it only reads."""
    cache = ("batch", 2, "past", 8)
    reads = [node("MatMul", ["query", name], f"scores of {name}") for name in names]
    made = model(
        [
            spec("input_ids", ("batch", "tokens"), "int64"),
            spec("past_0", cache),
            *(spec(name, ("batch", 2, "source", 8)) for name in names),
        ],
        [spec("logits", ("batch", "tokens", 61)), spec("present_0", ("batch", 2, "total", 8))],
        [GATHER, *reads],
        constants=CONSTANTS,
    )
    return decoder_signature(made, "reference", {})


def test_caches_of_an_encoder_are_bound_by_name_or_in_order():
    unnamed, named = with_encoder("past_1", "past_2"), with_encoder("encoder.k", "encoder.v")
    inputs, _ = bound_names(unnamed, named, {})
    assert (inputs["past_1"], inputs["past_2"]) == ("encoder.k", "encoder.v")
    inputs, _ = bound_names(unnamed, named, {"past_1": "encoder.v"})
    assert (inputs["past_1"], inputs["past_2"]) == ("encoder.v", "encoder.k")
    inputs, _ = bound_names(unnamed, with_encoder("past_2", "past_1"), {})
    assert (inputs["past_1"], inputs["past_2"]) == ("past_1", "past_2")
    inputs, _ = bound_names(unnamed, with_encoder("encoder.k"), {})
    assert "past_1" not in inputs
