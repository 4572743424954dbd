"""F: values, shapes and types that a careless comparison gets wrong."""

import numpy as np
import pytest
from onnx import TensorProto, helper

from making import FLOAT, INT64, matrix, model, node, save, stored, value

NAN, INF = float("nan"), float("inf")
TINY = 1e-42
"""A subnormal float32."""


def _passing(width=6):
    return model([node("Identity", ["x"], ["y"])], [value("x", [width])], [value("y", [width])])


def _floats(special):
    return np.array([special, 1.0, 2.0, 3.0, 4.0, 5.0], np.float32)


POLICY = {
    "nan_on_both_sides": (NAN, NAN, True, {"nonfinite_mismatch": 0}),
    "nan_expected": (1.0, NAN, False, {"nonfinite_mismatch": 1}),
    "nan_got": (NAN, 1.0, False, {"nonfinite_mismatch": 1}),
    "infinity_on_both_sides": (INF, INF, True, {"nonfinite_mismatch": 0}),
    "infinities_of_other_sign": (INF, -INF, False, {"nonfinite_mismatch": 1}),
    "infinity_and_nan": (INF, NAN, False, {"nonfinite_mismatch": 1}),
    "infinity_and_the_largest": (INF, 3.4028235e38, False, {"nonfinite_mismatch": 1}),
    "zeros_of_other_sign": (-0.0, 0.0, True, {"signed_zero_mismatch": 1, "differing": 0}),
    "subnormal_on_both_sides": (TINY, TINY, True, {"differing": 0}),
    "subnormal_and_zero": (TINY, 0.0, True, {"differing": 1}),
    "subnormal_and_normal": (TINY, 1e-30, False, {"differing": 1}),
}


def test_f01_policy_of_special_values(isomorph, tmp_path):
    """One output for each row of the table, judged on its own."""
    inputs = [value(f"in_{name}", [6]) for name in POLICY]
    outputs = [value(name, [6]) for name in POLICY]
    nodes = [node("Identity", [f"in_{name}"], [name]) for name in POLICY]
    save(tmp_path / "m.onnx", model(nodes, inputs, outputs))
    np.savez(tmp_path / "x.npz", **{f"in_{n}": _floats(got) for n, (got, *_) in POLICY.items()})
    np.savez(tmp_path / "y.npz", **{n: _floats(marks) for n, (_, marks, *_) in POLICY.items()})
    ran = isomorph("check", "y.npz", "m.onnx", "--inputs", "x.npz", "--format", "json")
    assert ran.exit == 1
    outputs = {each["candidate_output"]: each for each in ran.report["outputs"]}
    for name, (got, expected, agrees, marks) in POLICY.items():
        assert (outputs[name]["verdict"] == "equivalent") == agrees, name
        distance = outputs[name]["observed"]["distance"]
        assert {key: distance[key] for key in marks} == marks, name
        assert "nan" not in map(str, distance.values()), f"{name}: a figure is silently NaN"
        assert distance["compared"] == 5 + bool(np.isfinite(got) and np.isfinite(expected)), name
    (signed,) = [each for each in ran.report["findings"] if each["code"] == "SIGNED_ZERO"]
    assert signed["tensors"] == ["zeros_of_other_sign"]


def test_f01_nothing_but_nan(isomorph, tmp_path):
    save(tmp_path / "m.onnx", _passing(2))
    for name in ("x", "y"):
        np.savez(tmp_path / f"{name}.npz", **{name: np.full(2, NAN, np.float32)})
    ran = isomorph("check", "y.npz", "m.onnx", "--inputs", "x.npz", "--format", "json")
    assert ran.exit == 3, ran
    (output,) = ran.report["outputs"]
    distance = output["observed"]["distance"]
    assert distance["compared"] == 0
    assert all(distance[key] is None for key in ("max_abs", "rms", "cosine", "sqnr_db"))


@pytest.mark.parametrize("special", [NAN, INF, -INF])
def test_f01_special_values_in_inputs_of_a_pair(isomorph, tmp_path, special):
    nodes = [node("MatMul", ["x", "w"], ["t"]), node("Relu", ["t"], ["y"])]
    made = model(nodes, [value("x", [2, 4])], [value("y", [2, 4])], [stored("w", matrix())])
    save(tmp_path / "m.onnx", made)
    given = matrix(2, 4)
    given[0, 1] = special
    np.savez(tmp_path / "x.npz", x=given)
    ran = isomorph("check", "m.onnx", "m.onnx", "--inputs", "x.npz", "--format", "json")
    assert ran.exit == 0, ran


def _empty(columns=4, *, with_more=False):
    nodes = [node("Relu", ["x"], ["y"])]
    inputs, outputs = [value("x", [0, columns])], [value("y", [0, columns])]
    if with_more:
        nodes.append(node("Neg", ["v"], ["z"]))
        inputs.append(value("v", [3]))
        outputs.append(value("z", [3]))
    return model(nodes, inputs, outputs)


def test_f02_only_an_empty_output_is_nothing_compared(isomorph, tmp_path):
    save(tmp_path / "m.onnx", _empty())
    ran = isomorph("check", "m.onnx", "m.onnx", "--format", "json")
    assert ran.exit == 3
    assert ran.report["reason"] == "no value was compared"


def test_f02_an_empty_output_beside_another_is_no_failure(isomorph, tmp_path):
    save(tmp_path / "m.onnx", _empty(with_more=True))
    ran = isomorph("check", "m.onnx", "m.onnx", "--format", "json")
    assert ran.exit == 0
    empty, other = ran.report["outputs"]
    assert empty["shape"] == [0, 4]
    assert empty["verdict"] == "equivalent"
    figures = empty["observed"]["distance"]
    assert figures["elements"] == figures["compared"] == 0
    assert all(figures[key] is None for key in ("max_abs", "max_ulp", "rms", "cosine"))
    assert other["observed"]["distance"]["compared"] == 3
    assert isomorph("check", "m.onnx", "m.onnx").exit == 0


def test_f02_empty_outputs_of_other_shapes(isomorph, tmp_path):
    save(tmp_path / "m.onnx", _empty())
    np.savez(tmp_path / "y.npz", y=np.zeros((0, 5), np.float32))
    np.savez(tmp_path / "x.npz", x=np.zeros((0, 4), np.float32))
    ran = isomorph("check", "y.npz", "m.onnx", "--inputs", "x.npz", "--format", "json")
    assert ran.exit == 1
    assert "SHAPE_MISMATCH" in ran.codes


def _numbers(dtype, values):
    return helper.make_tensor("w", dtype, [len(values)], values)


TYPES = {
    "scalar": (np.float32(1.5), np.float32(1.25)),
    "string": (np.array(["a", "ü", ""], object), np.array(["a", "u", ""], object)),
    "bool": (np.array([True, False]), np.array([True, True])),
    "beyond_2_to_53": (np.array([2**53 + 1]), np.array([2**53])),
    "int64_extremes": (np.array([-(2**63)]), np.array([2**63 - 1])),
    "uint64": (np.array([2**64 - 1], np.uint64), np.array([2**64 - 2], np.uint64)),
    "float64": (np.array([1.0]), np.array([1.0 + 2**-40])),
    "float16": (np.array([1.0], np.float16), np.array([1.25], np.float16)),
    "bfloat16": (
        _numbers(TensorProto.BFLOAT16, [1.0, 2.0]),
        _numbers(TensorProto.BFLOAT16, [1.0, 3.0]),
    ),
    "float8": (
        _numbers(TensorProto.FLOAT8E4M3FN, [1.0, 2.0]),
        _numbers(TensorProto.FLOAT8E4M3FN, [1.0, 4.0]),
    ),
}


def _every_type(side):
    """Stored tensors of every type as outputs, beside something computed."""
    nodes, outputs, weights = [node("Neg", ["x"], ["computed"])], [value("computed", [2])], []
    for name, pair in TYPES.items():
        tensor = pair[side] if hasattr(pair[side], "data_type") else stored("w", pair[side])
        tensor.name = f"w_{name}"
        weights.append(tensor)
        nodes.append(node("Identity", [tensor.name], [name]))
        outputs.append(value(name, list(tensor.dims), tensor.data_type))
    return model(nodes, [value("x", [2])], outputs, weights, opset=21)


def _int4(scale):
    """ONNX Runtime moves no int4 about, but it quantizes to it."""
    zero = helper.make_tensor("zero", TensorProto.INT4, [], [1])
    nodes = [node("QuantizeLinear", ["x", "scale", "zero"], ["y"])]
    outputs = [value("y", [6], TensorProto.INT4)]
    weights = [stored("scale", np.float32(scale)), zero]
    return model(nodes, [value("x", [6])], outputs, weights, opset=21)


def test_f03_every_type_has_a_meaning(isomorph, tmp_path):
    """Equal is equal; different is seen; and neither is skipped in silence."""
    save(tmp_path / "a.onnx", _every_type(0))
    save(tmp_path / "b.onnx", _every_type(1))
    same = isomorph("check", "a.onnx", "a.onnx", "--format", "json")
    assert same.exit == 0, same
    outputs = {each["candidate_output"]: each for each in same.report["outputs"]}
    assert set(outputs) == {*TYPES, "computed"}
    for name, each in outputs.items():
        assert each["observed"]["distance"]["compared"] > 0, name
    different = isomorph("check", "a.onnx", "b.onnx", "--format", "json")
    assert different.exit == 1, different
    outputs = {each["candidate_output"]: each for each in different.report["outputs"]}
    assert outputs.pop("computed")["verdict"] == "equivalent"
    for name, each in outputs.items():
        assert each["verdict"] == "divergent", name
        assert each["observed"]["distance"]["differing"] > 0, name


def test_f03_int4(isomorph, tmp_path):
    save(tmp_path / "a.onnx", _int4(0.3))
    save(tmp_path / "b.onnx", _int4(0.1))
    same = isomorph("check", "a.onnx", "a.onnx", "--format", "json")
    assert same.exit == 0, same
    assert same.report["outputs"][0]["dtype"] == "int4"
    assert same.report["outputs"][0]["observed"]["distance"]["compared"] == 6
    assert isomorph("check", "a.onnx", "b.onnx").exit == 1


def test_f03_quantized_outputs_are_not_free_to_be_anything(isomorph, tmp_path):
    """Where noise moves an integer by a step, a step is accepted, and not a hundred."""
    for name, factor in (("a", 1.0), ("b", -3.0)):
        nodes = [
            node("MatMul", ["x", "w"], ["t"], "product"),
            node("QuantizeLinear", ["t", "scale", "zero"], ["y"]),
        ]
        weights = [
            stored("w", matrix() * np.float32(factor)),
            stored("scale", np.float32(0.05)),
            stored("zero", np.uint8(128)),
        ]
        outputs = [value("y", [2, 4], TensorProto.UINT8)]
        save(tmp_path / f"{name}.onnx", model(nodes, [value("x", [2, 4])], outputs, weights))
    assert isomorph("check", "a.onnx", "a.onnx").exit == 0
    assert isomorph("check", "a.onnx", "b.onnx").exit == 1


def test_f03_type_that_the_runtime_cannot_move(isomorph, tmp_path):
    """Not compared is not equal: the operator and the runtime are named."""
    tensor = helper.make_tensor("w", TensorProto.INT4, [3], [1, -8, 7])
    nodes = [node("Identity", ["w"], ["y"], "carry"), node("Neg", ["x"], ["z"])]
    outputs = [value("y", [3], TensorProto.INT4), value("z", [2])]
    save(tmp_path / "m.onnx", model(nodes, [value("x", [2])], outputs, [tensor], opset=21))
    ran = isomorph("check", "m.onnx", "m.onnx", "--format", "json")
    assert ran.exit in (0, 3), ran
    if ran.exit == 3:
        assert "UNSUPPORTED_OP" in ran.codes
        assert any("carry" in each["summary"] for each in ran.report["findings"])


_COMPLEX = """
import torch

class Spin(torch.nn.Module):
    def __init__(self, angle):
        super().__init__()
        self.register_buffer("turn", torch.tensor([complex(0.6, angle)]))

    def forward(self, x):
        return torch.complex(x, -x) * self.turn

def right(): return Spin(0.8).eval(), (torch.randn(3, generator=torch.manual_seed(0)),)

def wrong(): return Spin(0.7).eval(), (torch.randn(3, generator=torch.manual_seed(0)),)
"""


def test_f03_complex(isomorph, tmp_path):
    (tmp_path / "spin.py").write_text(_COMPLEX)
    words = ["--trust", "--format", "json"]
    same = isomorph("check", "spin:right", "spin:right", *words, makes=["__pycache__"])
    assert same.exit == 0, same
    (output,) = same.report["outputs"]
    assert output["dtype"] == "complex64"
    assert output["observed"]["distance"]["compared"] == 3
    different = isomorph("check", "spin:right", "spin:wrong", *words, makes=["__pycache__"])
    assert different.exit == 1, different


def _sequence(scale=1.0, count=2):
    nodes = [
        node("Mul", ["x", "s"], ["a"], "mul"),
        node("SequenceConstruct", ["a", "x"][:count], ["y"], "gather"),
    ]
    output = helper.make_tensor_sequence_value_info("y", FLOAT, None)
    return model(nodes, [value("x", [2])], [output], [stored("s", np.float32(scale))])


def test_f04_sequence(isomorph, tmp_path):
    save(tmp_path / "a.onnx", _sequence(1.5))
    save(tmp_path / "b.onnx", _sequence(1.25))
    save(tmp_path / "short.onnx", _sequence(1.5, count=1))
    same = isomorph("check", "a.onnx", "a.onnx", "--format", "json")
    assert same.exit == 0
    assert [each["reference_output"] for each in same.report["outputs"]] == ["y[0]", "y[1]"]
    different = isomorph("check", "a.onnx", "b.onnx", "--format", "json")
    assert different.exit == 1
    verdicts = {each["reference_output"]: each["verdict"] for each in different.report["outputs"]}
    assert verdicts == {"y[0]": "divergent", "y[1]": "equivalent"}
    assert isomorph("check", "a.onnx", "short.onnx").exit == 1


def _optional(full):
    kind = helper.make_optional_type_proto(helper.make_tensor_type_proto(FLOAT, [2]))
    inputs = ["x"] if full else []
    more = {} if full else {"type": helper.make_tensor_type_proto(FLOAT, [2])}
    nodes = [node("Optional", inputs, ["o"], "perhaps", **more), node("Neg", ["x"], ["y"])]
    return model(nodes, [value("x", [2])], [helper.make_value_info("o", kind), value("y", [2])])


def test_f04_optional(isomorph, tmp_path):
    save(tmp_path / "full.onnx", _optional(True))
    save(tmp_path / "none.onnx", _optional(False))
    assert isomorph("check", "full.onnx", "full.onnx").exit == 0
    none = isomorph("check", "none.onnx", "none.onnx", "--format", "json")
    assert none.exit == 0
    assert [each["candidate_output"] for each in none.report["outputs"]] == ["o", "y"]
    assert isomorph("check", "full.onnx", "none.onnx").exit == 1
    assert isomorph("check", "none.onnx", "full.onnx").exit == 1


def _map(scale):
    kind = helper.make_map_type_proto(INT64, helper.make_tensor_type_proto(FLOAT, []))
    kind = helper.make_sequence_type_proto(kind)
    nodes = [
        node("Mul", ["x", "s"], ["a"], "mul"),
        node("ZipMap", ["a"], ["y"], "zip", domain="ai.onnx.ml", classlabels_int64s=[7, 9]),
    ]
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3)]
    weights = [stored("s", np.float32(scale))]
    return model(
        nodes, [value("x", [3, 2])], [helper.make_value_info("y", kind)], weights, opsets=opsets
    )


def test_f04_map(isomorph, tmp_path):
    save(tmp_path / "a.onnx", _map(1.5))
    save(tmp_path / "b.onnx", _map(1.25))
    same = isomorph("check", "a.onnx", "a.onnx", "--format", "json")
    assert same.exit == 0, same
    names = {each["candidate_output"] for each in same.report["outputs"]}
    assert names == {f"y[{row}].{part}" for row in range(3) for part in ("keys", "values")}
    different = isomorph("check", "a.onnx", "b.onnx", "--format", "json")
    assert different.exit == 1, different


def _reshaped(shape, *steps):
    sizes = [stored(f"s{n}", np.array(step)) for n, step in enumerate(steps)]
    nodes = [node("MatMul", ["x", "w"], ["t0"], "product")]
    for place, _ in enumerate(steps):
        nodes.append(node("Reshape", [f"t{place}", f"s{place}"], [f"t{place + 1}"]))
    nodes[-1].output[0] = "y"
    weights = [stored("w", matrix(4, 3)), *sizes]
    return model(nodes, [value("x", [2, 4])], [value("y", list(shape))], weights)


def _transposed():
    nodes = [
        node("MatMul", ["x", "w"], ["t"], "product"),
        node("Transpose", ["t"], ["y"], perm=[1, 0]),
    ]
    return model(nodes, [value("x", [2, 4])], [value("y", [3, 2])], [stored("w", matrix(4, 3))])


@pytest.mark.parametrize(
    "candidate",
    [_reshaped([1, 2, 3], [1, 2, 3]), _reshaped([2, 1, 3, 1], [2, 1, 3, 1]), _transposed()],
    ids=["unsqueezed", "units inside", "transposed"],
)
def test_f05_same_values_in_another_shape(isomorph, tmp_path, candidate):
    save(tmp_path / "a.onnx", _reshaped([2, 3]))
    save(tmp_path / "b.onnx", candidate)
    ran = isomorph("check", "a.onnx", "b.onnx", "--format", "json")
    assert ran.exit == 1, ran
    moved = ran.finding("SHAPE_MISMATCH")
    assert moved["cause"] == "interface"
    assert ran.report["outputs"][0]["kind"] == "shape"


def test_f05_another_arrangement_that_is_stated(isomorph, tmp_path):
    save(tmp_path / "a.onnx", _reshaped([2, 3]))
    save(tmp_path / "b.onnx", _transposed())
    ran = isomorph("check", "a.onnx", "b.onnx", "--layout", "y=1,0", "--format", "json")
    assert ran.exit == 0, ran
    assert ran.finding("OUTPUT_SHAPE")["cause"] == "interface"
    assert ran.report["outputs"][0]["observed"]["distance"]["compared"] == 6


@pytest.mark.parametrize(
    "candidate",
    [_reshaped([6], [6]), _reshaped([3, 2], [3, 2])],
    ids=["flattened", "reshaped, not transposed"],
)
def test_f05_another_shape_that_nothing_proves(isomorph, tmp_path, candidate):
    save(tmp_path / "a.onnx", _reshaped([2, 3]))
    save(tmp_path / "b.onnx", candidate)
    ran = isomorph("check", "a.onnx", "b.onnx", "--format", "json")
    assert ran.exit == 1, ran
    assert ran.finding("SHAPE_MISMATCH")["cause"] == "interface"


def test_f05_never_broadcast(isomorph, tmp_path):
    """A constant row equals every row of its repetition, and is another tensor all the same."""
    save(tmp_path / "m.onnx", _passing(4))
    np.savez(tmp_path / "x.npz", x=np.ones(4, np.float32))
    for name, shape in (("one", (1,)), ("many", (3, 4)), ("scalar", ())):
        np.savez(tmp_path / f"{name}.npz", y=np.ones(shape, np.float32))
        ran = isomorph("check", f"{name}.npz", "m.onnx", "--inputs", "x.npz", "--format", "json")
        assert ran.exit == 1, name
        assert "SHAPE_MISMATCH" in ran.codes


def _two(first, second, names=("p", "q")):
    nodes = [node(first, ["x"], [names[0]]), node(second, ["x"], [names[1]])]
    return model(nodes, [value("x", [5])], [value(name, [5]) for name in names])


def test_f05_outputs_in_another_order(isomorph, tmp_path):
    save(tmp_path / "a.onnx", _two("Tanh", "Exp"))
    save(tmp_path / "renamed.onnx", _two("Exp", "Tanh", names=("u", "v")))
    save(tmp_path / "swapped.onnx", _two("Exp", "Tanh", names=("q", "p")))
    for name in ("renamed.onnx", "swapped.onnx"):
        ran = isomorph("check", "a.onnx", name, "--format", "json")
        assert ran.exit == 1
        assert ran.finding("OUTPUT_ORDER")["cause"] == "interface"


def test_f05_another_number_of_outputs(isomorph, tmp_path):
    save(tmp_path / "two.onnx", _two("Tanh", "Exp"))
    single = model([node("Tanh", ["x"], ["p"])], [value("x", [5])], [value("p", [5])])
    save(tmp_path / "one.onnx", single)
    lacking = isomorph("check", "two.onnx", "one.onnx", "--format", "json")
    assert lacking.exit == 1
    assert any("'q'" in each["summary"] for each in lacking.report["findings"])
    more = isomorph("check", "one.onnx", "two.onnx", "--format", "json")
    assert any("'q'" in each["summary"] for each in more.report["findings"])


def _dynamic(shape_x, shape_z):
    nodes = [node("Add", ["x", "z"], ["y"])]
    inputs = [value("x", shape_x), value("z", shape_z)]
    return model(nodes, inputs, [value("y", None)])


def test_f06_rank_unknown(isomorph, tmp_path):
    save(tmp_path / "m.onnx", _dynamic(None, ["n"]))
    isomorph("check", "m.onnx").refused("UNBOUND_DIM", mentions=("'x'", "--inputs"))


def test_f06_one_name_with_two_sizes(isomorph, tmp_path):
    save(tmp_path / "m.onnx", _dynamic(["n"], ["n"]))
    np.savez(tmp_path / "i.npz", x=np.ones(3, np.float32), z=np.ones(4, np.float32))
    isomorph("check", "m.onnx", "--inputs", "i.npz").refused(
        "UNBOUND_DIM", mentions=("'n'", "3", "4", "--dim n=")
    )


def test_f06_an_axis_that_nobody_has(isomorph, tmp_path):
    save(tmp_path / "m.onnx", _dynamic(["n"], ["n"]))
    assert isomorph("check", "m.onnx", "--dim", "n=3").exit == 0
    isomorph("check", "m.onnx", "--dim", "m=3").refused("UNBOUND_DIM", mentions=("'m'", "n"))


def _random(op):
    if op == "Dropout":
        noise = node("Dropout", ["x", "ratio", "yes"], ["y"], "dice")
    else:
        noise = node(op, ["x"], ["y"], "dice")
    weights = [stored("ratio", np.float32(0.5)), stored("yes", np.array(True))]
    return model([noise], [value("x", [64])], [value("y", [64])], weights)


@pytest.mark.parametrize("op", ["RandomNormalLike", "Dropout"])
def test_f07_random_models(isomorph, tmp_path, op):
    save(tmp_path / "random.onnx", _random(op))
    save(tmp_path / "steady.onnx", _passing(64))
    np.savez(tmp_path / "y.npz", y=np.ones(64, np.float32))
    left = isomorph("check", "random.onnx", "steady.onnx", "--format", "json")
    assert left.exit == 3
    assert left.finding("REFERENCE_NOT_DETERMINISTIC")["node"] == "dice"
    assert "TRANSLATION" not in left.codes, "never the converter's fault"
    np.savez(tmp_path / "x.npz", x=np.ones(64, np.float32))
    for reference in ("steady.onnx", "y.npz"):
        given = ("--inputs", "x.npz", "--format", "json")
        right = isomorph("check", reference, "random.onnx", *given)
        assert right.exit == 1, right
        found = right.finding("NONDETERMINISM")
        assert found["cause"] == "nondeterminism"
        assert found["node"] == "dice"


_DROPOUT = """
import torch

def make():
    return torch.nn.Dropout(0.5).train(), (torch.ones(64),)
"""


def test_f07_torch_module_in_training_mode(isomorph, tmp_path):
    (tmp_path / "drop.py").write_text(_DROPOUT)
    ran = isomorph(
        "check", "drop:make", "drop:make", "--trust", "--format", "json", makes=["__pycache__"]
    )
    assert ran.exit == 3
    assert "REFERENCE_NOT_DETERMINISTIC" in ran.codes


def test_f08_constant_zero_output(isomorph, tmp_path):
    nodes = [node("Mul", ["x", "zero"], ["y"])]
    made = model(nodes, [value("x", [4])], [value("y", [4])], [stored("zero", np.float32(0))])
    save(tmp_path / "m.onnx", made)
    ran = isomorph("check", "m.onnx", "m.onnx", "--format", "json")
    assert ran.exit == 0
    figures = ran.report["outputs"][0]["observed"]["distance"]
    assert figures["max_abs"] == 0
    assert figures["cosine"] is None
    assert figures["sqnr_db"] is None
    assert "Warning" not in ran.err


def test_f08_single_element(isomorph, tmp_path):
    nodes = [node("ReduceMean", ["x"], ["y"], keepdims=0)]
    save(tmp_path / "m.onnx", model(nodes, [value("x", [4])], [value("y", [])]))
    ran = isomorph("check", "m.onnx", "m.onnx", "--format", "json")
    assert ran.exit == 0
    figures = ran.report["outputs"][0]["observed"]["distance"]
    assert figures["compared"] == 1
    assert figures["argmax_agreement"] is None
    assert "Warning" not in ran.err
