"""What the given inputs do not show is repaired all the same, and proven where it shows."""

import numpy as np
import onnx

import isomorph
from cause_examples import network

TEXT = """g (float[2,6] x) => (float[2,6] y) {{
  h = Tanh (x) z = Mul (h, scale) y = Clip (z, low, {high})
}}"""
LIMITS = {"low": np.float32(-5.0), "high": np.float32(5.0), "wrong": np.float32(4.0)}
INPUTS = {"x": np.full((2, 6), 0.1, np.float32)}


def saved(path, high):
    onnx.save(network(TEXT.format(high=high), scale=np.float32(6.0), **LIMITS), path)
    return path


def test_a_limit_that_the_given_input_does_not_reach(tmp_path):
    pair = saved(tmp_path / "right.onnx", "high"), saved(tmp_path / "wrong.onnx", "wrong")
    report = isomorph.check(*pair, inputs=INPUTS, in_process=True)
    assert report.verdict.value == "divergent"
    report.save(tmp_path / "report.json")
    for asked in (pair, (tmp_path / "report.json",)):
        done = isomorph.fix(*asked, output=tmp_path / "fixed.onnx", inputs=INPUTS, in_process=True)
        assert done.repaired
        assert len(done.applied) == 1
        assert any(each.origin.startswith("found:") for each in done.proof.after)
        assert isomorph.check(pair[0], tmp_path / "fixed.onnx", in_process=True).verdict.value == (
            "equivalent"
        )
