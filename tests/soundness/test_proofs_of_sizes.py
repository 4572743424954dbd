"""What differs at another size of a dynamic axis is never proven for every size of it."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser
from onnx.reference import ReferenceEvaluator

import isomorph

TRIED = 7
X, LINE, SQUARE = "float[n,4] x", "float[1,3,n] x", "float[n,m] x"
SIZE = "s = Shape<start=0,end=1>(x)\n "

DIFFERENT = {
    "a frozen reshape": (X, "y = Identity(x)", "y = Reshape(x, c7_4)"),
    "a frozen reshape of rows": (X, "y = Flatten<axis=0>(x)", "y = Reshape(x, c1_28)"),
    "a mean with a stored count": (
        X, "y = ReduceMean<keepdims=1>(x, c0)",
        "z = ReduceSum<keepdims=1>(x, c0)\n y = Mul(z, f7th)",
    ),
    "a mean divided by a count": (
        X, "y = ReduceMean<keepdims=1>(x, c0)", "z = ReduceSum<keepdims=1>(x, c0)\n y = Div(z, f7)",
    ),
    "a mean of everything with a stored count": (
        X, "y = ReduceMean<keepdims=0>(x)", "z = ReduceSum<keepdims=0>(x)\n y = Mul(z, f28th)",
    ),
    "an expansion to a number": (
        X, f"{SIZE}t = Concat<axis=0>(s, c4)\n y = Expand(row, t)", "y = Expand(row, c7_4)",
    ),
    "a repetition by a number": (
        X, f"{SIZE}t = Concat<axis=0>(s, c4)\n y = Expand(row, t)", "y = Tile(row, c7_1)",
    ),
    "a table of the size tried": (
        X, f"{SIZE}t = Slice(table, c0, s, c0)\n y = Add(x, t)", "y = Add(x, table7)",
    ),
    "a table on both sides": (X, "y = Add(x, table7)", "y = Add(table7, x)"),
    "a choice by the size": (
        X, "y = Identity(x)",
        f"{SIZE}q = Equal(s, c7)\n t = Mul(x, f7)\n y = Where(q, x, t)",
    ),
    "a choice by a large size": (
        X, "y = Identity(x)",
        f"{SIZE}q = Less(s, c100)\n t = Mul(x, f7)\n y = Where(q, x, t)",
    ),
    "a smaller size": (
        X, "y = Identity(x)", f"{SIZE}e = Min(s, c100)\n y = Slice(x, c0, e, c0)",
    ),
    "numbers of rows": (
        X, (f"{SIZE}i = Squeeze(s)\n r = Range(zero, i, one)\n f = Cast<to=1>(r)\n"
        " u = Unsqueeze(f, c1)\n y = Add(x, u)"), "y = Add(x, count7)",
    ),
    "a choice by the number of a row": (
        X, "y = Identity(x)",
        (f"{SIZE}i = Squeeze(s)\n r = Range(zero, i, one)\n u = Unsqueeze(r, c1)\n"
        " q = Less(u, c7)\n t = Mul(x, f7)\n y = Where(q, x, t)"),
    ),
    "a size as a factor": (
        X, f"{SIZE}f = Cast<to=1>(s)\n y = Mul(x, f)", "y = Mul(x, f7)",
    ),
    "a size as a divisor": (
        X, f"{SIZE}f = Cast<to=1>(s)\n y = Div(x, f)", "y = Mul(x, f7th)",
    ),
    "a root of a size": (
        X, f"{SIZE}f = Cast<to=1>(s)\n r = Sqrt(f)\n y = Mul(x, r)", "y = Mul(x, root7)",
    ),
    "a number of elements": (
        X, "s = Size(x)\n f = Cast<to=1>(s)\n y = Mul(x, f)", "y = Mul(x, f28)",
    ),
    "half a size twice": (
        X, "y = Slice(x, c0, cm1, c0)",
        f"{SIZE}h = Div(s, c2)\n d = Mul(h, c2)\n y = Slice(x, c0, d, c0)",
    ),
    "a remainder of a size": (
        X, "y = Identity(x)", (f"{SIZE}r = Mod(s, c4)\n f = Cast<to=1>(r)\n t = Mul(f, third)\n"
        " y = Mul(x, t)"),
    ),
    "the first rows": (X, "y = Identity(x)", "y = Slice(x, c0, c7, c0)"),
    "up to a hundred rows": (X, "y = Identity(x)", "y = Slice(x, c0, c100, c0)"),
    "listed rows": (X, "y = Identity(x)", "y = Gather(x, list7)"),
    "listed rows backward": (
        X, "y = Slice(x, cm1, cmin, c0, cm1)", "y = Gather(x, back7)",
    ),
    "rows twice and cut": (
        X, "y = Identity(x)", "d = Concat<axis=0>(x, x)\n y = Slice(d, c0, c7, c0)",
    ),
    "the last of rows twice": (
        X, "y = Identity(x)", "d = Concat<axis=0>(x, x)\n y = Slice(d, c7, cmax, c0)",
    ),
    "sums of rows up to each": (X, "y = CumSum(x, izero)", "y = MatMul(triangle7, x)"),
    "a softmax of rows of a number": (
        X, "y = Softmax<axis=0>(x)",
        "z = Reshape(x, c7_4)\n y = Softmax<axis=0>(z)",
    ),
    "rows counted by a sum of ones": (
        X, "y = ReduceSum<keepdims=1>(x, c0)", "o = MatMul(ones1_7, x)\n y = Identity(o)",
    ),
    "a loop over a number of rows": (
        X, "y = ReduceSum<keepdims=0>(x, c0)",
        ("a = Gather(x, i0)\n b = Gather(x, i1)\n c = Gather(x, i2)\n d = Gather(x, i3)\n"
        " e = Gather(x, i4)\n f = Gather(x, i5)\n g = Gather(x, i6)\n"
         " y = Sum(a, b, c, d, e, f, g)"),
    ),
    "rows that are paired": (
        "float[n,4] x", "y = Identity(x)", "p = Reshape(x, cm1_28)\n y = Reshape(p, cm1_4)",
    ),
    "a border that sizes decide": (
        LINE, "y = MaxPool<kernel_shape=[3],strides=[2]>(x)",
        "y = MaxPool<kernel_shape=[3],strides=[2],ceil_mode=1>(x)",
    ),
    "a border by name": (
        LINE, 'y = MaxPool<kernel_shape=[3],strides=[2],auto_pad="SAME_UPPER">(x)',
        "y = MaxPool<kernel_shape=[3],strides=[2],pads=[1,1]>(x)",
    ),
    "a global pool as a window": (
        LINE, "y = GlobalAveragePool(x)", "y = AveragePool<kernel_shape=[7]>(x)",
    ),
    "a resize to a number": (
        LINE, 'y = Identity(x)',
        ('y = Resize<mode="nearest",coordinate_transformation_mode="asymmetric",'
        'nearest_mode="floor">(x, , , c1_3_7)'),
    ),
    "axes exchanged at equal sizes": (
        SQUARE, "y = Identity(x)",
        ("a = Shape<start=0,end=1>(x)\n b = Shape<start=1,end=2>(x)\n"
        " t = Concat<axis=0>(b, a)\n y = Reshape(x, t)"),
    ),
    "a triangle of a number": (
        SQUARE, "y = Trilu<upper=0>(x)", "y = Mul(x, triangle7)",
    ),
    "sizes that happen to be equal": (
        SQUARE, "a = Shape<start=0,end=1>(x)\n f = Cast<to=1>(a)\n y = Mul(x, f)",
        "a = Shape<start=1,end=2>(x)\n f = Cast<to=1>(a)\n y = Mul(x, f)",
    ),
    "a sum beside one over the other axis": (
        SQUARE, "a = ReduceMean<keepdims=0>(x)\n y = Identity(a)",
        ("a = ReduceSum<keepdims=0>(x)\n s = Shape<start=1,end=2>(x)\n f = Cast<to=1>(s)\n"
        " t = Mul(f, f)\n q = Squeeze(t)\n y = Div(a, q)"),
    ),
}  # fmt: skip
"""Equal for 7 rows, and different functions, or none, for others."""

ONE_ROW = {
    "rows less their sum": (
        X, "y = Sub(x, x)", "s = ReduceSum<keepdims=1>(x, c0)\n y = Sub(x, s)",
    ),
    "rows less their largest": (
        X, "y = Sub(x, x)", "s = ReduceMax<keepdims=1>(x, c0)\n y = Sub(x, s)",
    ),
    "the last row added": (
        X, "y = Add(x, x)", "s = Slice(x, cm1, cmax, c0)\n y = Add(x, s)",
    ),
    "a first row added": (X, "y = Add(x, x)", "s = Slice(x, c0, c1, c0)\n y = Add(x, s)"),
    "products of all rows": (
        X, "q = Mul(x, x)\n s = ReduceSum<keepdims=1>(q, c1)\n y = Mul(x, s)",
        "t = Transpose(x)\n p = MatMul(x, t)\n y = MatMul(p, x)",
    ),
    "merged rows": (
        "float[n,2,4] x", "y = Relu(x)",
        ("t = Transpose<perm=[1,0,2]>(x)\n f = Reshape(t, cm1_4)\n r = Relu(f)\n"
        " y = Reshape(r, cm1_2_4)"),
    ),
}  # fmt: skip
"""Equal for one row, where random elements of one row show no difference."""

EQUAL = {
    "elementwise": (X, "z = Relu(x)\n y = Mul(z, f7)",
            "z = Relu(x)\n d = Mul(z, f6)\n y = Add(d, z)"),
    "a product in two parts": (
        X, "y = MatMul(x, w)", "a = MatMul(x, w)\n b = Mul(a, f7)\n c = Mul(a, f6)\n y = Sub(b, c)",
    ),
    "rows merged and parted": (
        "float[n,2,4] x", "y = Relu(x)",
        ("f = Reshape(x, cm1_4)\n r = Relu(f)\n d = Mul(r, f7)\n e = Mul(r, f6)\n"
        " g = Sub(d, e)\n y = Reshape(g, cm1_2_4)"),
    ),
    "a size of the input": (
        X, f"{SIZE}t = Concat<axis=0>(s, c2, c2)\n y = Reshape(x, t)", "y = Reshape(x, cm1_2_2)",
    ),
    "an expansion to the size": (
        X, f"{SIZE}t = Concat<axis=0>(s, c4)\n e = Expand(row, t)\n y = Add(x, e)",
        "y = Add(x, row)",
    ),
    "a softmax of rows": (
        X, "y = Softmax<axis=0>(x)",
        "m = ReduceMax(x, c0)\n d = Sub(x, m)\n e = Exp(d)\n t = ReduceSum(e, c0)\n y = Div(e, t)",
    ),
    "a mean by the size": (
        X, "y = ReduceMean<keepdims=1>(x, c0)",
        (f"z = ReduceSum<keepdims=1>(x, c0)\n {SIZE}q = Squeeze(s)\n f = Cast<to=1>(q)\n"
         " y = Div(z, f)"),
    ),
    "a slice of everything": (X, "y = Neg(x)", "z = Slice(x, c0, cmax, c0)\n y = Neg(z)"),
    "a global pool as a mean": (
        LINE, "y = GlobalAveragePool(x)", "y = ReduceMean<keepdims=1>(x, c2)",
    ),
    "attention of all rows": (
        "float[1,n,4] x",
        ("k = Transpose<perm=[0,2,1]>(x)\n s = MatMul(x, k)\n p = Softmax<axis=2>(s)\n"
         " y = MatMul(p, x)"),
        ("k = Transpose<perm=[0,2,1]>(x)\n s = MatMul(x, k)\n m = ReduceMax(s, c2)\n"
         " d = Sub(s, m)\n"
        " e = Exp(d)\n t = ReduceSum(e, c2)\n p = Div(e, t)\n y = MatMul(p, x)"),
    ),
    "a convolution along the axis": (
        LINE, "y = Conv<pads=[1,1]>(x, kernel)",
        "z = Pad(x, border)\n y = Conv(z, kernel)",
    ),
    "two axes": (
        SQUARE, "y = Relu(x)",
        "f = Reshape(x, cm1)\n r = Relu(f)\n s = Shape(x)\n y = Reshape(r, s)",
    ),
}  # fmt: skip


def constants() -> dict[str, np.ndarray]:
    """The initializers that the graphs name."""
    whole = {
        "c0": [0], "c1": [1], "c2": [2], "c4": [4], "c7": [7], "c100": [100], "cm1": [-1],
        "c7_4": [7, 4], "c7_1": [7, 1], "c1_28": [1, 28], "cm1_28": [-1, 28], "cm1_4": [-1, 4],
        "cm1_2_4": [-1, 2, 4], "cm1_2_2": [-1, 2, 2], "c1_3_7": [1, 3, 7],
        "cmax": [2**63 - 1], "cmin": [-(2**63)], "list7": list(range(7)),
        "back7": list(range(6, -1, -1)), "border": [0, 0, 1, 0, 0, 1],
    }  # fmt: skip
    found = {name: np.array(value, np.int64) for name, value in whole.items()}
    found |= {f"i{at}": np.array(at, np.int64) for at in range(7)}
    found |= {"zero": np.array(0, np.int64), "one": np.array(1, np.int64)}
    found |= {"izero": np.array(0, np.int64)}
    draw = np.random.default_rng(3)
    floats = {
        "f6": 6.0, "f7": 7.0, "f7th": 1 / 7, "f28th": 1 / 28, "root7": 7**0.5, "third": 1 / 3,
        "f28": 28.0, "row": draw.normal(size=(1, 4)), "table": draw.normal(size=(64, 4)),
        "count7": np.arange(7.0).reshape(7, 1), "triangle7": np.tril(np.ones((7, 7))),
        "ones1_7": np.ones((1, 7)), "w": draw.normal(size=(4, 3)),
        "kernel": draw.normal(size=(2, 3, 3)),
    }  # fmt: skip
    found |= {name: np.array(value, np.float32) for name, value in floats.items()}
    found["table7"] = found["table"][:7]
    return found


def model(inputs: str, body: str) -> onnx.ModelProto:
    """A graph of one result without any declared size."""
    made = parser.parse_model(f"""<ir_version: 10, opset_import: ["" : 18]>
        g ({inputs}) => (float y) {{ {body} }}""")
    made.graph.output[0].type.tensor_type.ClearField("shape")
    used = {name for node in made.graph.node for name in node.input}
    for name, value in constants().items():
        if name in used:
            made.graph.initializer.append(numpy_helper.from_array(value, name))
    return made


def sizes(inputs: str, number: int) -> dict[str, int]:
    return {axis: number for axis in ("n", "m") if axis in declared(inputs)}


def declared(inputs: str) -> list[str]:
    """The declared sizes of the only input."""
    return inputs[inputs.index("[") + 1 : inputs.index("]")].split(",")


def proof(inputs: str, one: str, other: str, tried: int = TRIED) -> isomorph.Proof:
    return isomorph.prove(
        model(inputs, one), model(inputs, other), dims=sizes(inputs, tried), in_process=True, seed=5
    )


def outcome(inputs: str, body: str, number: int) -> np.ndarray | None:
    """What the reference evaluator of the onnx package computes; None where it refuses."""
    dims = sizes(inputs, number) | ({"m": number + 2} if "m" in sizes(inputs, number) else {})
    shape = [dims[each] if each in dims else int(each) for each in declared(inputs)]
    given = np.random.default_rng(number).normal(size=shape).astype(np.float32)
    try:
        return np.asarray(ReferenceEvaluator(model(inputs, body)).run(None, {"x": given})[0])
    except Exception:
        return None


@pytest.mark.parametrize("name", sorted(DIFFERENT))
def test_what_differs_at_another_size_is_proven_for_the_size_tried_alone(name):
    inputs, one, other = DIFFERENT[name]
    for left, right in ((one, other), (other, one)):
        found = proof(inputs, left, right)
        assert found.axes
        assert not any(each.every_size for each in found.axes), found.axes


@pytest.mark.parametrize("name", sorted(ONE_ROW))
def test_what_is_equal_for_one_row_is_proven_for_one_row_alone(name):
    inputs, one, other = ONE_ROW[name]
    for left, right in ((one, other), (other, one)):
        found = proof(inputs, left, right, 1)
        assert found.whole, found.outputs
        assert not any(each.every_size for each in found.axes), found.axes


@pytest.mark.parametrize("name", sorted(DIFFERENT | ONE_ROW))
def test_the_pairs_differ_at_another_size(name):
    inputs, one, other = (DIFFERENT | ONE_ROW)[name]
    differs = False
    for number in (3, 8, 120):
        left, right = outcome(inputs, one, number), outcome(inputs, other, number)
        same = left is not None and right is not None and left.shape == right.shape
        differs = differs or not (same and np.allclose(left, right, rtol=1e-4, atol=1e-4))
    assert differs


@pytest.mark.parametrize("name", sorted(DIFFERENT))
@pytest.mark.parametrize("tried", [1, 2])
def test_no_other_size_that_is_tried_leads_to_a_claim(name, tried):
    inputs, one, other = DIFFERENT[name]
    assert not any(each.every_size for each in proof(inputs, one, other, tried).axes)


@pytest.mark.parametrize("name", sorted(EQUAL))
def test_what_is_equal_at_every_size_is_proven_so(name):
    inputs, one, other = EQUAL[name]
    for left, right in ((one, other), (other, one)):
        found = proof(inputs, left, right)
        assert found.whole, found.outputs
        assert all(each.every_size for each in found.axes), found.axes
        assert all(each.least == 1 for each in found.axes)
        assert all(each.size == TRIED for each in found.axes)


def test_a_shape_that_one_row_changes_is_proven_from_two_rows_on():
    inputs = "float[n,1,4] x"
    found = proof(inputs, "z = Squeeze(x)\n y = Relu(z)", "z = Relu(x)\n y = Squeeze(z, c1)")
    assert [(each.every_size, each.least) for each in found.axes] == [(True, 2)]


def test_an_axis_that_the_candidate_fixes_is_named():
    one, other = model(X, "y = Relu(x)"), model("float[7,4] x", "y = Relu(x)")
    found = isomorph.prove(one, other, dims={"n": 7}, in_process=True)
    assert found.whole
    assert not found.axes[0].every_size
    assert "fixes axis 0 of x" in found.axes[0].open.details
    assert not isomorph.prove(other, one, in_process=True).axes


def test_the_node_that_needs_a_number_is_named():
    found = proof(X, "y = Identity(x)", "z = Neg(x)\n v = Reshape(z, c7_4)\n y = Neg(v)")
    assert found.whole
    assert found.axes[0].open.op == "Reshape"
