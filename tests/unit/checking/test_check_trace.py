"""What a trace leaves open is in the headline and among what was skipped."""

import numpy as np
import onnx
import pytest

import isomorph
from weight_pairs import F32, floats, model, node

SHUT = np.array([[1, -1], [1, -1], [1, -1]], F32)
MOVED = SHUT * np.array([[1, 1.3]], F32)
GIVEN = {"x": np.array([[1, 2, 3], [4, 5, 6]], F32)}


def layer(weight):
    nodes = [node("MatMul", "x w", "h"), node("Relu", "h", "y")]
    return model(nodes, {"x": floats(2, 3)}, {"y": floats(2, 2)}, {"w": weight})


@pytest.mark.parametrize("traced", [(0,), (1,), (0, 1)])
def test_a_trace_covers_its_input_only(tmp_path, traced):
    """The second column is negative on the recorded input, whatever its weights are."""
    sides = []
    for place, weight in enumerate((SHUT, MOVED)):
        path = tmp_path / f"{place}.onnx"
        onnx.save(layer(weight), path)
        if place in traced:
            folder = tmp_path / f"trace{place}"
            isomorph.trace(str(path), output=folder, inputs=GIVEN, in_process=True)
            path = folder
        sides.append(str(path))
    report = isomorph.check(*sides, in_process=True)
    assert report.headline == "EQUIVALENT on 1 given input only"
    assert any("weights" in each.what for each in report.skipped)
