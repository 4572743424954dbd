"""The roles of a decoder's inputs, and errors that say what was not recognized."""

import pytest

from described_decoders import model, spec, words
from isomorph.core.errors import UsageError
from isomorph.decoding.signature import Role, decoder_signature

TAKEN, RETURNED = ("batch", 2, "past", 8), ("batch", 2, "total", 8)
CONSTANTS, GATHER = words(61)


def decoder(*more, outputs=None, caches=True):
    taken = [spec("past_0", TAKEN)] if caches else []
    returned = [spec("present_0", RETURNED)] if caches else []
    logits = [spec("logits", ("batch", "tokens", 61))] if outputs is None else outputs
    tokens = spec("input_ids", ("batch", "tokens"), "int64")
    return model([tokens, *more, *taken], [*logits, *returned], [GATHER], constants=CONSTANTS)


@pytest.mark.parametrize(
    ("given", "role"),
    [
        (spec("attention_mask", ("batch", "total"), "int64"), Role.MASK),
        (spec("position_ids", ("batch", "tokens"), "int64"), Role.POSITIONS),
        (spec("cache_position", ("tokens",), "int64"), Role.POSITIONS),
        (spec("past_sequence_length", (), "int64"), Role.PAST_LENGTH),
        (spec("total_sequence_length", (1,), "int32"), Role.TOTAL_LENGTH),
        (spec("seqlens_k", ("batch",), "int32"), Role.LAST_POSITION),
        (spec("use_cache_branch", (1,), "bool"), Role.SWITCH),
        (spec("encoder_attention_mask", ("batch", "source"), "int64"), Role.CONSTANT),
        (spec("encoder_hidden_states", ("batch", "source", 8)), Role.CONSTANT),
    ],
)
def test_inputs_have_roles_by_name_and_type(given, role):
    found = decoder_signature(decoder(given), "reference", {})
    assert found.roles[given.name] is role
    assert found.tokens.name == "input_ids"
    assert (found.logits, found.vocabulary) == ("logits", 61)
    assert [pair.input for pair in found.caches] == ["past_0"]


def test_tokens_of_another_name_are_those_that_select_words():
    tokens = spec("x", ("batch", "tokens"), "int64")
    constants, gather = words(61)
    other = spec("kind", ("batch", "tokens"), "int64")
    gather = type(gather)(
        name="g", op="Gather", native_op="Gather", inputs=("words", "x"), outputs=("y",),
        attributes={"axis": 0},
    )  # fmt: skip
    made = model([other, tokens], [spec("scores", ("batch", 61))], [gather], constants=constants)
    found = decoder_signature(made, "reference", {})
    assert (found.tokens.name, found.logits, found.caches) == ("x", "scores", ())
    assert found.fixed_tokens is None


@pytest.mark.parametrize(
    ("made", "code", "mentions"),
    [
        (decoder(spec("memory", TAKEN)), "CACHE_NOT_RECOGNIZED", "--cache memory=OUTPUT"),
        (decoder(outputs=[]), "NO_LOGITS", "present_0"),
        (decoder(spec("cache_position", ("tokens",), "int64"), caches=False), "CACHE_INSIDE",
         "inputs and outputs"),
        (model([spec("embeds", ("batch", "tokens", 8))], [spec("logits", ("batch", 61))]),
         "NO_TOKENS", "embeds"),
    ],
)  # fmt: skip
def test_what_is_not_recognized_is_an_error_that_helps(made, code, mentions):
    with pytest.raises(UsageError) as caught:
        decoder_signature(made, "candidate", {})
    assert caught.value.code == code
    assert any(mentions in line for line in caught.value.lines)
    assert "candidate" in caught.value.sentence
