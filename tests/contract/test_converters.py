"""Every converter says where it leads, what it needs and what it loses."""

import json

import pytest

from isomorph import registry
from isomorph.core.conversion import AS_IS, WIDTHS

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
