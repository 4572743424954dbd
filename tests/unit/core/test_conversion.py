"""Routes in words, and which hop the next may build on."""

import pytest

from isomorph.core.conversion import Hop, HopStatus, Route, Step

STEPS = (
    Step(converter="pytorch_to_onnx", source="pytorch", target="onnx", missing="pip install a"),
    Step(converter="onnx_to_tflite", source="onnx", target="tflite"),
    Step(converter="other", source="tflite", target="onnx", missing="pip install a"),
)


def test_a_route_names_its_formats_and_its_converters():
    assert Route(steps=STEPS[:2]).words == (
        "pytorch → onnx → tflite (pytorch_to_onnx, onnx_to_tflite)"
    )


def test_each_command_that_installs_something_is_named_once():
    assert Route(steps=STEPS).missing == ("pip install a",)
    assert Route(steps=STEPS[1:2]).missing == ()


@pytest.mark.parametrize("status", HopStatus)
def test_the_next_hop_builds_on_what_is_proven_or_repaired(status):
    hop = Hop(step=STEPS[0], status=status, seconds=0.0)
    assert hop.usable is (status in {"proven", "repaired"})
