"""Four faults that no sample shows: none is proven, and the node is named."""

import numpy as np
import pytest
from onnx import numpy_helper, parser

import isomorph
from isomorph.core.proof import Reason


def model(body, inputs, outputs, constants="", **weights):
    made = parser.parse_model(
        f'<ir_version: 10, opset_import: ["": 21]> g ({inputs}) => ({outputs}) {constants}'
        f"{{ {body} }}"
    )
    made.graph.initializer.extend(
        numpy_helper.from_array(np.asarray(value, np.float32), name)
        for name, value in weights.items()
    )
    return made


def behind_a_dead_relu(last):
    random = np.random.default_rng(0)
    first, second = random.normal(size=(2, 4, 4))
    second[3] = last
    return model(
        "h = Gemm(x, first, bias) r = Relu(h) y = MatMul(r, second)",
        "float[2,4] x", "float[2,4] y",
        first=first, second=second, bias=[1.0, 1.0, 1.0, -1e6],
    )  # fmt: skip


def clipped(bound):
    return model("t = Tanh(x) y = Clip(t, , bound)", "float[2,4] x", "float[2,4] y", bound=bound)


def branched(op):
    branches = "".join(
        f"{name} = {name[0]} () => (float[2,4] {name[0]}o) {{ {name[0]}o = {each}(x) }}{comma}"
        for name, each, comma in (("then_branch", "Relu", ","), ("else_branch", op, ""))
    )
    body = f"m = ReduceMax<keepdims=0>(x) c = Greater(m, least) y = If(c) <{branches}>"
    return model(body, "float[2,4] x", "float[2,4] y", constants="<float least = {-1000000.0}>")


def pooled(mode):
    return model(
        f"y = MaxPool<kernel_shape=[2,2], strides=[2,2], ceil_mode={mode}>(x)",
        "float[1,3,H,W] x", "float[1,3,P,Q] y",
    )  # fmt: skip


FAULTS = {
    "a weight behind a dead ReLU": (
        behind_a_dead_relu(1.0), behind_a_dead_relu(2.0), "MatMul", Reason.UNEXPLAINED_CONSTANT, {},
    ),
    "a bound that is never reached": (
        clipped(100.0), clipped(200.0), "Clip", Reason.UNEXPLAINED_CONSTANT, {},
    ),
    "the branch that is not taken": (
        branched("Neg"), branched("Abs"), "If", Reason.DIFFERENT_IDENTITY, {},
    ),
    "ceil_mode at another size": (
        pooled(0), pooled(1), "MaxPool", Reason.INTERFACE, {"dims": {"H": 5, "W": 5}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_it_is_not_proven_and_the_node_is_named(name):
    one, other, op, reason, options = FAULTS[name]
    for left, right in ((one, other), (other, one)):
        (output,) = isomorph.prove(left, right, in_process=True, **options).outputs
        assert output.standing == "open"
        found = output.open
        assert (found.node, found.op, found.reason) == (f"{op}@y", op, reason)


def test_a_branch_that_is_the_same_is_proven():
    assert isomorph.prove(branched("Neg"), branched("Neg"), in_process=True).whole


def test_a_size_at_which_ceil_mode_does_nothing_is_proven_for_that_size_alone():
    proof = isomorph.prove(pooled(0), pooled(1), in_process=True, dims={"H": 4, "W": 6})
    assert proof.whole
    assert proof.assumptions.shapes == {"x": (1, 3, 4, 6)}
