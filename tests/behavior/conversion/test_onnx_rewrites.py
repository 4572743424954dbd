"""ONNX to ONNX: another opset, simpler, narrower."""

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from onnx import TensorProto, helper, numpy_helper

import isomorph
from isomorph import registry
from isomorph.conversion.cpu_support import never_saturates, scope
from isomorph.core.conversion import Order
from isomorph.core.cpu import CpuScope
from isomorph.core.errors import UsageError
from isomorph.diagnose.int16_saturation import lost
from isomorph.sessions.in_process import InProcessHost
from isomorph.sessions.model_handle import ModelHandle


@pytest.fixture
def order(tmp_path, monkeypatch):
    """For a dense network with a constant sub-graph that can be folded."""
    draw = np.random.default_rng(0)
    weights = {
        name: draw.standard_normal(shape).astype(np.float32)
        for name, shape in (("w", (8, 8)), ("v", (8, 4)), ("a", (4,)), ("b", (4,)))
    }
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="hidden"),
        helper.make_node("Relu", ["h"], ["r"], name="positive"),
        helper.make_node("MatMul", ["r", "v"], ["s"], name="scores"),
        helper.make_node("Add", ["a", "b"], ["c"], name="foldable"),
        helper.make_node("Add", ["s", "c"], ["y"], name="shifted"),
    ]
    graph = helper.make_graph(
        nodes,
        "rewrites",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    source = tmp_path / "source.onnx"
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=9), source)
    samples = []
    for number in range(4):
        samples.append(str(tmp_path / f"{number}.npz"))
        np.savez(samples[-1], x=draw.standard_normal((2, 8)).astype(np.float32))
    monkeypatch.chdir(tmp_path)
    return lambda **about: Order(
        source=str(source),
        target=str(tmp_path / "target.onnx"),
        example=samples[0],
        samples=tuple(samples),
        **about,
    )


def checked(order):
    with np.load(order.example) as arrays:
        inputs = dict(arrays)
    return isomorph.check(order.source, order.target, inputs=inputs, in_process=True)


def test_an_opset_that_there_is_no_adapter_for_is_a_number_alone_where_nodes_allow(order):
    converter = registry.converter("onnx_opset")
    with pytest.raises(RuntimeError, match="Relu"):
        converter.convert(order(options={"opset": "13"}))
    (workaround,) = converter.workarounds
    changed = order(options={"opset": "13", **workaround.options})
    converter.convert(changed)
    assert onnx.load(changed.target).opset_import[0].version == 13
    assert checked(changed).verdict == "equivalent"


def test_a_node_that_an_opset_lacks_is_not_called_valid_there(order):
    (workaround,) = registry.converter("onnx_opset").workarounds
    given = order(options={"opset": "16", **workaround.options})
    model = onnx.load(given.source)
    model.graph.node.append(helper.make_node("LayerNormalization", ["s", "a"], ["n"], name="norm"))
    onnx.save(model, given.source)
    with pytest.raises(onnx.checker.ValidationError, match="LayerNormalization"):
        registry.converter("onnx_opset").convert(given)


@pytest.mark.parametrize("opset", [15, 21])
def test_another_opset(order, opset):
    asked = order(options={"opset": str(opset)})
    registry.converter("onnx_opset").convert(asked)
    assert onnx.load(asked.target).opset_import[0].version == opset
    assert checked(asked).verdict == "equivalent"


def test_no_opset_is_wrong_use(order):
    with pytest.raises(UsageError):
        registry.converter("onnx_opset").convert(order())


def test_simpler(order):
    asked = order()
    (note,) = registry.converter("onnx_slim").convert(asked)
    assert note.startswith("5 nodes became ")
    assert len(onnx.load(asked.target).graph.node) < 5
    assert checked(asked).verdict == "equivalent"


@pytest.mark.parametrize("name", ["onnx_to_float16", "onnx_to_int8", "onnx_to_dynamic"])
def test_narrower(order, name):
    asked = order(width=name.removeprefix("onnx_to_"))
    registry.converter(name).convert(asked)
    assert checked(asked).verdict == "degraded"


@pytest.mark.parametrize("name", ["onnx_to_float16", "onnx_to_int8", "onnx_to_dynamic"])
def test_every_workaround_leaves_the_same_function(order, name, saturates):
    converter = registry.converter(name)
    for workaround in converter.workarounds:
        asked = order(width=name.removeprefix("onnx_to_"), options=workaround.options)
        converter.convert(asked)
        report = checked(asked)
        if saturates and workaround.options == {"weights": "signed"}:
            assert report.verdict == "divergent"
            assert "saturate at 16 bits" in report.findings[0].summary
        else:
            assert report.verdict == "degraded", workaround.name


@pytest.mark.parametrize("name", ["onnx_to_int8", "onnx_to_dynamic"])
@pytest.mark.parametrize(
    ("weights", "dtype", "expected"),
    [
        (None, np.uint8, CpuScope.EVERY),
        ("7 bits", np.int8, CpuScope.EVERY),
        ("signed", np.int8, CpuScope.EXACT_SUMS),
    ],
)
def test_each_form_of_the_weights_reports_where_it_holds(order, name, weights, dtype, expected):
    options = {"weights": weights} if weights else {}
    asked = order(width=name.removeprefix("onnx_to_"), options=options)
    registry.converter(name).convert(asked)
    graph = onnx.load(asked.target).graph
    stored = [numpy_helper.to_array(each) for each in graph.initializer]
    assert {array.dtype.type for array in stored if array.ndim == 2} == {dtype}
    host = InProcessHost()
    opened = ModelHandle(
        role="candidate",
        model=host.load(asked.target, "onnx", {}),
        host=host,
        runtime="onnxruntime",
        settings={},
    )
    assert scope(opened) is expected
    host.close()


@given(
    a=arrays(np.uint8, (3, 6)),
    b=arrays(np.int8, (6, 2), elements=st.integers(-128, 127) | st.integers(-66, 66)),
)
def test_weights_that_never_saturate_lose_nothing(a, b):
    if never_saturates(b):
        assert not lost(a, b).any()
        assert not lost(np.full_like(a, 255), b).any()


def test_the_bound_on_weights_is_the_last_one():
    largest = np.full((1, 2), 255, np.uint8)
    for one, other in ((64, 64), (1, 127), (-64, -64), (-128, 0)):
        assert never_saturates(np.int8([one, other]))
    for one, other in ((64, 65), (-64, -65)):
        pair = np.int8([[one], [other]])
        assert not never_saturates(pair)
        assert lost(largest, pair).any()


def test_plain_names_keep_those_of_inputs_and_outputs(order):
    asked = order(width="int8", options={"names": "plain"})
    registry.converter("onnx_to_int8").convert(asked)
    graph = onnx.load(asked.target).graph
    assert [graph.input[0].name, graph.output[0].name] == ["x", "y"]
    assert not {"hidden", "positive"} & {node.name for node in graph.node}
