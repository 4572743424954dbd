"""Names, order, shapes and budgets: the interface is part of the function."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph
from isomorph.core.errors import UsageError

ROW = np.array([[1, 2, 3], [4, 5, 6]], np.float32)


def model(nodes, inputs, outputs, constants=None, metadata=None):
    made = [
        helper.make_node(op, ins.split(), outs.split(), f"{op}_{outs.split()[0]}", **attributes)
        for op, ins, outs, attributes in nodes
    ]
    specs = [
        [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in side.items()]
        for side in (inputs, outputs)
    ]
    stored = [numpy_helper.from_array(np.asarray(a), k) for k, a in (constants or {}).items()]
    graph = helper.make_graph(made, "g", *specs, stored)
    built = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    helper.set_model_props(built, metadata or {})
    return built


def scaled(factors, metadata=None):
    """Outputs that are the input times a factor each."""
    float32 = TensorProto.FLOAT, [2, 3]
    return model(
        [("Mul", f"x k{place}", name, {}) for place, name in enumerate(factors)],
        {"x": float32},
        dict.fromkeys(factors, float32),
        {f"k{place}": np.float32(factor) for place, factor in enumerate(factors.values())},
        metadata,
    )


def check(reference, candidate, inputs=None, budget=None, **options):
    return isomorph.check(
        reference,
        candidate,
        inputs={"x": ROW} if inputs is None else inputs,
        budget=budget,
        in_process=True,
        options=isomorph.CheckOptions(locate=False, **options),
    )


@pytest.mark.parametrize("written", [{}, {"outputs": "unordered"}, {"outputs": "by name"}])
def test_metadata_of_a_file_excuses_no_order(written):
    exchanged = scaled({"p": 2, "q": 1.5}, written)
    report = check(scaled({"a": 1.5, "b": 2}), exchanged)
    assert report.verdict == "divergent"
    assert "OUTPUT_ORDER" in {finding.code for finding in report.findings}


def test_every_output_is_compared_while_others_are_exchanged():
    report = check(scaled({"a": 1.5, "b": 2, "c": 3}), scaled({"p": 2, "q": 1.5, "c": 99}))
    assert report.verdict == "divergent"
    assert {each.reference_output for each in report.outputs} == {"a", "b", "c"}


def test_an_output_is_bound_once():
    pair = scaled({"a": 1.5, "b": 1.5}), scaled({"a": 1.5, "b": 9})
    with pytest.raises(UsageError, match="bound twice"):
        check(*pair, bind_outputs={"a": "a", "b": "a"})


@pytest.mark.parametrize("budget", [-1.0, float("nan"), float("inf"), {"y": -1e-9}, True, "1"])
def test_a_budget_that_is_none_is_wrong_use(budget):
    with pytest.raises(UsageError, match="budget"):
        check(scaled({"y": 1}), scaled({"y": 1.5}), budget=budget)
    with pytest.raises(UsageError, match="budget"):
        isomorph.fix(scaled({"y": 1}), scaled({"y": 1.5}), budget=budget, in_process=True)


@pytest.mark.parametrize(
    ("budget", "verdict"),
    [(0, "divergent"), (0.5, "divergent"), (1, "equivalent"), (2, "equivalent")],
)
@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.int64])
def test_a_budget_of_whole_numbers_is_their_distance(kind, budget, verdict):
    largest = np.iinfo(kind).max
    onnx_kind = helper.np_dtype_to_tensor_dtype(np.dtype(kind))

    def counted(last):
        spec = onnx_kind, [2]
        return model(
            [("Where", "c y0 n", "y", {})],
            {"n": spec},
            {"y": spec},
            {"c": np.array([True, False]), "y0": np.array([last, last], kind)},
        )

    inputs = {"n": np.array([1, 2], kind)}
    pair = counted(largest), counted(largest - 1)
    assert check(*pair, budget=float(budget), inputs=inputs).verdict == verdict


@pytest.mark.parametrize(
    "shape", [[1, 2, 3], [2, 1, 3], [6], [3, 2]], ids=["unsqueezed", "inside", "flat", "other"]
)
def test_another_shape_of_the_same_values_is_another_function(shape):
    spec = TensorProto.FLOAT
    reference = model([("Relu", "x", "y", {})], {"x": (spec, [2, 3])}, {"y": (spec, [2, 3])})
    candidate = model(
        [("Relu", "x", "r", {}), ("Reshape", "r s", "y", {})],
        {"x": (spec, [2, 3])},
        {"y": (spec, shape)},
        {"s": np.array(shape, np.int64)},
    )
    report = check(reference, candidate)
    assert report.verdict == "divergent"
    named = "×".join(map(str, shape))
    assert f"2×3 in the reference, {named} in the candidate" in report.reason
    assert {f.cause for f in report.findings if f.code == "SHAPE_MISMATCH"} == {"interface"}


def turned(axes, shape=(1, 2, 3, 4)):
    spec = TensorProto.FLOAT
    nodes = [("Relu", "x", "r", {}), ("Transpose", "r", "y", {"perm": list(axes)})]
    after = [shape[axis] for axis in axes]
    return model(nodes, {"x": (spec, list(shape))}, {"y": (spec, after)})


def plain(shape=(1, 2, 3, 4)):
    spec = TensorProto.FLOAT, list(shape)
    return model([("Relu", "x", "y", {})], {"x": spec}, {"y": spec})


def test_a_transposed_output_within_one_framework_is_divergent_unless_it_is_stated():
    inputs = {"x": np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)}
    pair = plain(), turned((0, 2, 3, 1))
    assert check(*pair, inputs=inputs).verdict == "divergent"
    assert check(*pair, inputs=inputs, layouts={"y": (0, 2, 3, 1)}).verdict == "equivalent"
    assert check(*pair, inputs=inputs, layouts={"y": (0, 3, 1, 2)}).verdict == "divergent"
    with pytest.raises(UsageError, match="--layout names 'z'"):
        check(*pair, inputs=inputs, layouts={"z": (0, 2, 3, 1)})


def test_a_stated_layout_holds_where_the_shapes_are_equal():
    shape = (2, 3, 3)
    inputs = {"x": np.arange(18, dtype=np.float32).reshape(shape)}
    pair = plain(shape), turned((0, 2, 1), shape)
    assert check(*pair, inputs=inputs).verdict == "divergent"
    assert check(*pair, inputs=inputs, layouts={"y": (0, 2, 1)}).verdict == "equivalent"


def test_a_lost_axis_can_be_stated():
    spec = TensorProto.FLOAT
    reference = model([("Relu", "x", "y", {})], {"x": (spec, [1, 3])}, {"y": (spec, [1, 3])})
    candidate = model(
        [("Relu", "x", "r", {}), ("Squeeze", "r a", "y", {})],
        {"x": (spec, [1, 3])},
        {"y": (spec, [3])},
        {"a": np.array([0], np.int64)},
    )
    inputs = {"x": ROW[:1]}
    assert check(reference, candidate, inputs=inputs).verdict == "divergent"
    assert check(reference, candidate, inputs=inputs, layouts={"y": (1,)}).verdict == "equivalent"


def quantized(scale, zero):
    return model(
        [("QuantizeLinear", "x s z", "y", {})],
        {"x": (TensorProto.FLOAT, [2, 3])},
        {"y": (TensorProto.INT8 if zero.dtype == np.int8 else TensorProto.UINT8, [2, 3])},
        {"s": np.float32(scale), "z": zero},
    )


@pytest.mark.parametrize(("scale", "zero"), [(0.1, 129), (0.2, 128)])
def test_integers_whose_grid_only_a_node_knows_are_the_output(scale, zero):
    reference = quantized(0.1, np.uint8(128))
    assert check(reference, quantized(scale, np.uint8(zero))).verdict == "divergent"


def test_integers_of_another_type_are_compared_by_what_they_stand_for():
    report = check(quantized(0.1, np.uint8(128)), quantized(0.1, np.int8(0)))
    assert report.verdict == "equivalent"
    assert any(each.code == "INTERFACE" for each in report.findings)


def test_an_output_is_bound_by_a_name_that_both_models_have():
    report = check(scaled({"a": 2, "b": 3}), scaled({"b": 2, "c": 3}))
    assert report.verdict == "divergent"
    assert check(scaled({"a": 2, "b": 3}), scaled({"b": 3, "c": 2})).verdict == "equivalent"


@pytest.mark.parametrize(("first", "verdict"), [(2**24, "divergent"), (2**20, "equivalent")])
def test_integers_that_a_float_cannot_hold_are_others(first, verdict):
    whole, real = (TensorProto.INT64, [3]), (TensorProto.FLOAT, [3])
    one = {"o": np.int64(1)}
    reference = model([("Add", "x o", "y", {})], {"x": whole}, {"y": whole}, one)
    nodes = [("Add", "x o", "a", {}), ("Cast", "a", "y", {"to": TensorProto.FLOAT})]
    candidate = model(nodes, {"x": whole}, {"y": real}, one)
    report = check(reference, candidate, inputs={"x": np.array([first, 2 * first, 5])})
    assert report.verdict == verdict
