"""The graphs and weights whose checks are measured."""

import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def large_graphs(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import large_graphs

    yield large_graphs
    del sys.modules["large_graphs"]


def test_two_stacks_read_the_same_weights_under_other_names(large_graphs, monkeypatch, tmp_path):
    monkeypatch.setattr(large_graphs, "_ROWS", 64)
    models = [onnx.load(path) for path in large_graphs.write_stack(50e-6, tmp_path)]
    for model in models:
        onnx.checker.check_model(model, full_check=True)
    reference, candidate = (
        {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
        for model in models
    )
    assert len(reference) == 3
    assert not reference.keys() & candidate.keys()
    for one, two in zip(reference.values(), candidate.values(), strict=True):
        np.testing.assert_array_equal(one, two)
    assert len({each.tobytes() for each in reference.values()}) == 3


def test_what_onnx_runtime_takes_to_open_a_file_is_left_out_of_the_growth(large_graphs):
    rows = [
        large_graphs.Checked(
            graph="wide", nodes=nodes, cpu_seconds=1.0 + nodes + nodes**2, wall_seconds=0.0,
            peak_bytes=0, opening_cpu_seconds=float(nodes**2),
        )
        for nodes in (1, 3, 10)
    ]  # fmt: skip
    assert large_graphs.growth(rows, lambda each: each.own_cpu_seconds) == pytest.approx(1.0)
    assert large_graphs.growth(rows, lambda each: each.cpu_seconds) > 1.5
