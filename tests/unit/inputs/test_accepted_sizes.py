"""Dynamic axes that do not take every size: made-up samples have one that the model takes."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph
from isomorph.core.divergence import Verdict


def _folded(path, rows, epsilon=1e-5):
    """A graph that needs a multiple of ``rows`` samples, though it declares any number."""
    constants = {"fold": np.array([rows, -1], np.int64), "s": np.ones(3, np.float32)}
    graph = helper.make_graph(
        [
            helper.make_node("LayerNormalization", ["x", "s"], ["n"], "norm", epsilon=epsilon),
            helper.make_node("Reshape", ["n", "fold"], ["f"], "fold_rows"),
            helper.make_node("ReduceMean", ["f"], ["y"], "mean", keepdims=0, axes=[0]),
        ],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["left"])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    return path


@pytest.mark.parametrize(("rows", "named"), [(1, False), (2, False), (4, True), (8, True)])
def test_a_batch_that_the_model_takes_is_found(tmp_path, rows, named):
    report = isomorph.check(_folded(tmp_path / "net.onnx", rows), in_process=True)
    assert report.verdict is Verdict.EQUIVALENT
    origins = {each.origin for each in report.inputs}
    assert all((f"batch={rows}" in origin) is named for origin in origins)


def test_a_size_that_no_try_fits_is_a_failure(tmp_path):
    report = isomorph.check(_folded(tmp_path / "net.onnx", 7), in_process=True)
    assert report.verdict is Verdict.UNKNOWN
    assert any(each.code == "RUNTIME_FAILED" for each in report.findings)


def test_a_stated_size_is_kept(tmp_path):
    path = _folded(tmp_path / "net.onnx", 4)
    report = isomorph.check(path, dims={"batch": 3}, in_process=True)
    assert report.verdict is Verdict.UNKNOWN


def test_pairs_are_compared_at_that_size(tmp_path):
    sides = _folded(tmp_path / "a.onnx", 4), _folded(tmp_path / "b.onnx", 4, epsilon=0.1)
    report = isomorph.check(*sides, in_process=True)
    assert (report.verdict, report.findings[0].node) == (Verdict.DIVERGENT, "norm")


def test_a_decoder_gets_a_mask_over_its_caches(tmp_path):
    graph = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["": 18]> g (int64[b, t] ids, float[b, p, 4] past,'
        " int64[b, m] attention_mask) => (float[b, m, 4] y) <float[10, 4] table> {"
        " e = Gather (table, ids) k = Concat <axis = 1> (past, e)"
        " f = Cast <to = 1> (attention_mask) axis = Constant <value_ints = [2]> ()"
        " u = Unsqueeze (f, axis) y = Mul (k, u) }"
    )
    table = np.arange(40, dtype=np.float32).reshape(10, 4)
    graph.graph.initializer.append(numpy_helper.from_array(table, "table"))
    onnx.save(graph, tmp_path / "decoder.onnx")
    report = isomorph.check(tmp_path / "decoder.onnx", in_process=True)
    assert report.verdict is Verdict.EQUIVALENT
    assert any("m=32" in each.origin for each in report.inputs)
