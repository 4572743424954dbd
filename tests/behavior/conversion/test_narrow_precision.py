"""``convert --precision float16`` keeps the nodes in float32 that need it, and says why."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph
from isomorph.core.conversion import KeptReason
from isomorph.core.divergence import Verdict
from isomorph.core.errors import UsageError


def save(path, nodes, constants, shapes):
    graph = helper.make_graph(
        nodes,
        "narrow",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shapes[0])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shapes[1])],
        [numpy_helper.from_array(v.astype(np.float32), k) for k, v in constants.items()],
    )
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=9), path)
    return path


@pytest.fixture
def large_variance(tmp_path):
    """A convolution with large results, normalized by a variance that float16 cannot hold."""
    draw = np.random.default_rng(0)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], name="first"),
        helper.make_node("BatchNormalization", ["c", "s", "b", "m", "v"], ["n"], name="norm"),
        helper.make_node("Conv", ["n", "u"], ["y"], name="second"),
    ]
    constants = {
        "w": 300 * draw.standard_normal((4, 3, 3, 3)), "u": draw.standard_normal((2, 4, 1, 1)),
        "s": np.ones(4), "b": np.zeros(4), "m": np.zeros(4), "v": np.full(4, 2e6),
    }  # fmt: skip
    return save(tmp_path / "variance.onnx", nodes, constants, ([1, 3, 8, 8], [1, 2, 6, 6]))


@pytest.fixture
def large_residual(tmp_path):
    """A residual stream that passes 65504 in its second block and is normalized at the end."""
    draw = np.random.default_rng(0)
    nodes, constants, stream = [], {"g": np.ones(16)}, "x"
    for block, size in enumerate((1.0, 60000.0, 1.0)):
        constants[f"w{block}"] = size * draw.standard_normal((16, 16)) / 4
        nodes += [
            helper.make_node("LayerNormalization", [stream, "g"], [f"l{block}"], f"norm{block}"),
            helper.make_node("MatMul", [f"l{block}", f"w{block}"], [f"h{block}"], f"dense{block}"),
            helper.make_node("Add", [stream, f"h{block}"], [f"a{block}"], f"add{block}"),
        ]
        stream = f"a{block}"
    nodes.append(helper.make_node("LayerNormalization", [stream, "g"], ["y"], "last"))
    return save(tmp_path / "residual.onnx", nodes, constants, ([2, 5, 16], [2, 5, 16]))


def convert(source, **words):
    done = isomorph.convert(source, source.with_name("half.onnx"), precision="float16", **words)
    (hop,) = done.chosen
    return done, hop


def test_a_variance_beyond_float16_keeps_its_node_in_float32(large_variance):
    done, hop = convert(large_variance)
    assert done.verdict is Verdict.DEGRADED
    (kept,) = hop.kept
    assert (kept.node, kept.tensor, kept.value) == ("norm", "v", pytest.approx(2e6))
    assert kept.reason is KeptReason.CONSTANT
    assert hop.narrowable == 3
    written = onnx.load(large_variance.with_name("half.onnx"))
    stored = {each.name: each.data_type for each in written.graph.initializer}
    assert stored["v"] == TensorProto.FLOAT
    assert TensorProto.FLOAT16 in stored.values()


def test_the_same_variance_without_a_search_is_divergent(large_variance):
    target = large_variance.with_name("plain.onnx")
    done = isomorph.convert(large_variance, target, quantize="float16")
    assert done.verdict is Verdict.DIVERGENT


def test_a_residual_beyond_float16_stays_in_float32_from_its_maker_to_its_last_reader(
    large_residual,
):
    done, hop = convert(large_residual)
    assert done.verdict is Verdict.DEGRADED
    by_name = {each.node: each for each in hop.kept}
    assert list(by_name) == ["dense1", "add1", "norm2", "add2", "last"]
    assert by_name["dense1"].reason is KeptReason.OVERFLOW
    assert by_name["last"].reason is KeptReason.READS_OVERFLOW
    assert abs(by_name["add1"].value) > 65504
    # ONNX Runtime computes in float32 on a CPU and hides an overflow; none may be left.
    assert not [each for each in hop.report.findings if each.code == "OVERFLOW_HIDDEN"]


def test_what_the_next_input_may_take_beyond_float16_stays_in_float32(tmp_path):
    """The sum reaches two thirds of the type on the inputs at hand, and varies by half."""
    nodes = [
        helper.make_node("Mul", ["x", "x"], ["squares"], name="square"),
        helper.make_node("ReduceSum", ["squares", "axes"], ["total"], name="total", keepdims=0),
        helper.make_node("Log", ["total"], ["y"], name="log"),
    ]
    source = tmp_path / "sum.onnx"
    save(source, nodes, {}, ([1, 64], [1]))
    model = onnx.load(source)
    model.graph.initializer.append(numpy_helper.from_array(np.array([1]), "axes"))
    onnx.save(model, source)
    data, draw = tmp_path / "data", np.random.default_rng(0)
    data.mkdir()
    for place, reach in enumerate(np.linspace(0.3, 0.65, 8)):
        x = draw.uniform(0.5, 1.0, (1, 64))
        x *= np.sqrt(reach * 65504 / np.square(x).sum())
        np.savez(data / f"{place}.npz", x=x.astype(np.float32))
    done, hop = convert(source, data=data)
    assert done.exit_code == 0
    by_name = {each.node: each for each in hop.kept}
    assert list(by_name) == ["total", "log"]
    assert by_name["total"].reason is KeptReason.NEAR_OVERFLOW
    assert by_name["total"].value > 65504


def test_nothing_stays_in_float32_where_nothing_needs_it(tmp_path):
    draw = np.random.default_rng(0)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], name="dense")]
    constants = {"w": draw.standard_normal((8, 4))}
    source = save(tmp_path / "plain.onnx", nodes, constants, ([2, 8], [2, 4]))
    done, hop = convert(source)
    assert done.exit_code == 0
    assert (hop.kept, hop.narrowable) == ((), 1)


def test_a_stated_budget_is_reached_with_nodes_in_float32_and_repeated(tmp_path):
    draw = np.random.default_rng(0)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="wide"),
        helper.make_node("Relu", ["h"], ["r"], name="positive"),
        helper.make_node("MatMul", ["r", "u"], ["y"], name="small"),
    ]
    constants = {"w": draw.standard_normal((8, 8)), "u": draw.standard_normal((8, 4))}
    source = save(tmp_path / "plain.onnx", nodes, constants, ([2, 8], [2, 4]))
    done, hop = convert(source, budget=1e-6)
    assert done.exit_code == 0
    assert len(hop.kept) > 0
    assert {each.reason for each in hop.kept} <= {KeptReason.ROUNDING, KeptReason.OPERATOR}
    assert "--precision float16" in done.repeat
    assert "--budget 1e-06" in done.repeat


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"precision": "bfloat16"}, "no converter writes bfloat16"),
        ({"precision": "float8"}, "--precision 'float8' is not known"),
        ({"precision": "float16", "quantize": "int8"}, "both state the type"),
    ],
)
def test_other_precisions_are_refused(large_variance, words, message):
    with pytest.raises(UsageError, match=message):
        isomorph.convert(large_variance, large_variance.with_name("half.onnx"), **words)
