from dataclasses import fields

import pytest

from isomorph.api.option_keywords import (
    CheckKeywords,
    ConvertKeywords,
    PairKeywords,
    RuntimeKeywords,
    with_keywords,
)
from isomorph.api.options import (
    CheckOptions,
    ConvertOptions,
    Limits,
    PairOptions,
    RuntimeOptions,
)


def _names(options):
    """The keywords that state the fields of an options class, nested ones included."""
    nested = {"runtime": RuntimeOptions, "limits": Limits}
    for each in fields(options):
        if each.name in nested:
            yield from _names(nested[each.name])
        else:
            yield "runtime" if (options, each.name) == (RuntimeOptions, "name") else each.name


@pytest.mark.parametrize(
    ("options", "keywords"),
    [
        (RuntimeOptions, RuntimeKeywords),
        (PairOptions, PairKeywords),
        (CheckOptions, CheckKeywords),
        (ConvertOptions, ConvertKeywords),
    ],
)
def test_every_field_has_a_keyword_and_every_keyword_a_field(options, keywords):
    assert set(_names(options)) == set(keywords.__annotations__)


def test_a_keyword_takes_precedence_and_leaves_the_rest():
    runtime = RuntimeOptions(name="onnxruntime", limits=Limits(memory=1 << 30, timeout=5.0))
    options = CheckOptions(strict=True, runtime=runtime)
    stated = with_keywords(options, {"runtime": "openvino", "timeout": 60.0, "locate": False})
    assert (stated.strict, stated.locate) == (True, False)
    assert stated.runtime.name == "openvino"
    assert stated.runtime.limits == Limits(memory=1 << 30, timeout=60.0)


def test_a_runtime_is_a_name_or_an_object():
    whole = RuntimeOptions(name="openvino", settings={"threads": "1"})
    assert with_keywords(CheckOptions(), {"runtime": whole}).runtime == whole
    limited = with_keywords(CheckOptions(), {"runtime": whole, "timeout": 3.0}).runtime
    assert (limited.name, limited.limits.timeout) == ("openvino", 3.0)


def test_none_states_no_binding():
    options = PairOptions(bind_inputs={"a": "b"})
    assert with_keywords(options, {"bind_inputs": None, "settings": None}) == options


def test_limits_of_a_conversion_are_keywords():
    stated = with_keywords(ConvertOptions(opset=17), {"timeout": 9.0, "state": "w.safetensors"})
    assert stated == ConvertOptions(opset=17, state="w.safetensors", limits=Limits(timeout=9.0))


@pytest.mark.parametrize("options", [RuntimeOptions(), CheckOptions(), ConvertOptions()])
def test_an_unknown_keyword_is_refused(options):
    with pytest.raises(TypeError, match="'colour'"):
        with_keywords(options, {"colour": 1})
