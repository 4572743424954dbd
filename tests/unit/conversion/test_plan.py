"""Which ways there are, and in which order they are tried."""

import pytest

from isomorph.conversion.plan import routes
from isomorph.core.errors import UsageError


def converters(*args, **kwargs):
    return [tuple(step.converter for step in route.steps) for route in routes(*args, **kwargs)]


def test_the_shortest_way_comes_first_and_exporters_by_their_rank():
    found = converters("pytorch", "tflite")
    assert found[0] == ("pytorch_to_tflite",)
    assert found.index(("pytorch_to_onnx", "onnx_to_tflite")) < found.index(
        ("pytorch_to_onnx_legacy", "onnx_to_tflite")
    )
    assert found == sorted(found, key=len)


def test_stops_fix_every_format_in_between():
    assert converters("pytorch", "tflite", via=("onnx", "tensorflow")) == [
        ("pytorch_to_onnx", "onnx_to_tensorflow", "tensorflow_to_tflite"),
        ("pytorch_to_onnx_legacy", "onnx_to_tensorflow", "tensorflow_to_tflite"),
    ]


def test_a_converter_that_is_named_is_used():
    found = converters("pytorch", "onnx", via=("pytorch_to_onnx_legacy",))
    assert found
    assert all("pytorch_to_onnx_legacy" in route for route in found)


def test_what_narrows_comes_last():
    for route in routes("pytorch", "tflite", "int8"):
        assert [step.width for step in route.steps[:-1]] == [""] * (len(route.steps) - 1)
        assert route.steps[-1].width == "int8"


def test_rewriting_is_done_only_where_it_is_named():
    assert not any("onnx_slim" in route for route in converters("pytorch", "onnx"))
    assert converters("onnx", "onnx", via=("onnx_slim",)) == [("onnx_slim",)]
    with pytest.raises(UsageError) as caught:
        routes("onnx", "onnx")
    assert caught.value.code == "NO_ROUTE"


def test_without_a_route_the_error_lists_the_targets():
    with pytest.raises(UsageError) as caught:
        routes("onnx", "pytorch")
    assert caught.value.code == "NO_ROUTE"
    assert "tflite" in caught.value.fix


@pytest.mark.parametrize("wrong", [{"width": "int3"}, {"via": ("nonesuch",)}])
def test_unknown_words_are_refused(wrong):
    with pytest.raises(UsageError):
        routes("pytorch", "onnx", **wrong)


def test_what_is_not_installed_is_listed_with_the_command_that_installs_it(strange):
    (route,) = routes("onnx", "onnx", via=("absent",))
    assert route.missing == ("pip install nonesuch",)
