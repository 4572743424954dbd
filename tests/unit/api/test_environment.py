"""What the user allows and adds."""

from dataclasses import fields

import pytest

from isomorph import api
from isomorph.api.environment import check_config, load_options, trusted_names
from isomorph.api.options import CheckOptions
from isomorph.checking.config import CheckConfig
from isomorph.core.errors import UsageError


def test_a_state_is_for_factories():
    stated = load_options("package.module:factory", "m.onnx", trust=True, state="w.safetensors")
    assert stated["state"] == "w.safetensors"


@pytest.mark.parametrize("sources", [("m.onnx",), ("m.pt2", "m.onnx"), (object(),)])
def test_a_state_that_nobody_would_load_is_refused(sources):
    with pytest.raises(UsageError) as caught:
        load_options(*sources, trust=True, state="w.safetensors")
    assert caught.value.code == "BAD_OPTION"


def test_a_configuration_takes_every_option_of_a_check_but_those_that_the_verb_reads():
    read_by_the_verb = {"runtime", "baseline", "pair", "decode", "caches"}
    configured = {each.name for each in fields(CheckConfig)}
    assert {each.name for each in fields(CheckOptions)} - configured == read_by_the_verb
    options = CheckOptions(strict=True, locate=False, layouts={"x": [0, 2, 1]})
    config = check_config(options, CheckOptions, seed=3)
    assert (config.strict, config.locate, config.seed) == (True, False, 3)
    assert config.layouts == {"x": (0, 2, 1)}


def test_other_verbs_leave_the_options_of_a_check_alone():
    config = check_config(CheckOptions(locate=False, bind_inputs={"a": "b"}))
    assert config.locate
    assert config.bind_inputs == {"a": "b"}


def test_only_trusted_models_are_named():
    assert trusted_names("a.pt", None, trust=True) == ("a.pt",)
    assert trusted_names("a.pt", trust=False) == ()


@pytest.mark.parametrize(
    ("keywords", "code"),
    [
        ({"only_given": True}, "NOTHING_GIVEN"),
        ({"metric": "scores:top1"}, "BAD_OPTION"),
        ({"inputs": "x.npz", "data": "samples"}, "BAD_OPTION"),
    ],
)
def test_samples_that_do_not_fit_are_refused_before_a_model_is_loaded(keywords, code):
    with pytest.raises(UsageError) as caught:
        api.check("reference.onnx", "candidate.onnx", **keywords)
    assert caught.value.code == code


def test_a_conversion_takes_inputs_or_a_test_set():
    with pytest.raises(UsageError, match="--inputs and --data are both given"):
        api.convert("model.onnx", "model.tflite", inputs="x.npz", data="samples")
