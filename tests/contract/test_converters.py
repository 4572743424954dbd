"""Every converter says where it leads, what it needs and what it loses."""

import json
import re

import pytest

from isomorph import registry
from isomorph.core.conversion import AS_IS, WIDTHS
from isomorph.core.converter_abilities import (
    OPSET,
    WITHOUT_PASSES,
    HasPasses,
    RunsInReleases,
    TakesOpset,
    WritesConversion,
)

CONVERTERS = [registry.converter(name) for name in registry.names("converters")]
FRAMEWORKS = set(registry.names("frameworks"))


def test_every_pair_that_is_promised_has_a_converter():
    pairs = {(each.source, each.target) for each in CONVERTERS}
    assert pairs >= {
        ("pytorch", "onnx"),
        ("pytorch", "tflite"),
        ("tensorflow", "onnx"),
        ("tensorflow", "tflite"),
        ("onnx", "tensorflow"),
        ("onnx", "tflite"),
        ("onnx", "onnx"),
        ("tflite", "onnx"),
        ("onnx", "openvino"),
        ("pytorch", "openvino"),
        ("tensorflow", "openvino"),
        ("openvino", "openvino"),
    }


@pytest.mark.parametrize("converter", CONVERTERS, ids=lambda each: each.name)
def test_a_converter_is_described(converter):
    assert converter.source in FRAMEWORKS
    # What no framework reads is proven by the source, in the runtime that it is meant for.
    assert converter.target in FRAMEWORKS or converter.proven_as[0] in registry.names("runtimes")
    assert converter.widths <= {AS_IS, *WIDTHS}
    assert converter.widths
    assert converter.packages
    assert converter.install.startswith("pip install ")
    assert converter.suffix == "" or converter.suffix.startswith(".")
    assert isinstance(converter.rank, int)
    assert isinstance(converter.named, bool)
    assert all(
        workaround.name and workaround.description and workaround.options
        for workaround in converter.workarounds
    )
    assert all(isinstance(each, str) and each for each in converter.loses)


# These read their tables without a heavy import; the others are asked in tests/unit/linting.
@pytest.mark.parametrize("name", ["onnx_to_tensorflow", "onnx_to_tflite"])
def test_abilities_are_plain_data(name):
    abilities = registry.converter(name).abilities()
    assert json.loads(json.dumps(abilities)) == abilities
    assert abilities


@pytest.mark.parametrize(
    "converter",
    [each for each in CONVERTERS if isinstance(each, RunsInReleases)],
    ids=lambda each: each.name,
)
def test_what_another_release_needs_is_declared(converter):
    for package, needs in converter.releases.items():
        assert package.strip()
        compile(needs.statement, package, "exec")
        assert package not in needs.beside


@pytest.mark.parametrize(
    "converter",
    [each for each in CONVERTERS if isinstance(each, WritesConversion)],
    ids=lambda each: each.name,
)
def test_the_call_of_a_converter_is_plain_python(converter):
    options = {OPSET: "17", WITHOUT_PASSES: "first\nsecond"}
    text = "\n".join(converter.conversion_lines(options))
    compile(text, converter.name, "exec")
    assert "isomorph" not in text
    assert {"source", "target"} <= set(re.findall(r"\w+", text))


def test_abilities_of_bisections_are_declared_where_they_are_known():
    names = {each.name for each in CONVERTERS if isinstance(each, TakesOpset)}
    assert {"onnx_opset", "pytorch_to_onnx", "tensorflow_to_onnx"} <= names
    assert all(each.takes_opset for each in CONVERTERS if isinstance(each, TakesOpset))
    names = {each.name for each in CONVERTERS if isinstance(each, HasPasses)}
    assert {"onnx_slim", "pytorch_to_onnx", "tensorflow_to_onnx"} <= names
