"""Operands from the wrong tensor, packed recurrent weights, bodies, and integers of operators."""

import numpy as np
import onnx
import pytest

from cause_examples import drawn, edited
from faulty_pairs import believed, chain, network
from isomorph import api

X = drawn(3, 4)
ROUNDS = (
    "g (float[3,4] x) => (float[3,4] y) {"
    " z, hs = Loop (trips, , x) <body = inner (int64 i, bool go, float[3,4] h)"
    " => (bool on, float[3,4] n, float[3,4] s)"
    " { on = Identity (go) m = MatMul (h, w) n = Tanh (m) s = Identity (n) }>"
    " y = Abs (z) }"
)


def renamed(proto, old, new, op):
    def edit(copy):
        node = next(node for node in copy.graph.node if node.op_type == op)
        place = list(node.input).index(old)
        node.input[place] = new

    return edited(proto, edit)


def test_an_operand_of_another_tensor():
    steps = ("a = Tanh (x)", "b = Sigmoid (a)", "c = Exp (b)", "d = Add (c, b)", "y = Relu (d)")
    right = chain(*steps)
    found = believed(right, renamed(right, "b", "a", "Add"), x=X)
    assert (found.cause, found.certainty) == ("layout", 3)
    assert found.evidence["should_read"] == "b"


def test_computed_indices_of_another_tensor():
    """Positions that begin at 0 instead of behind those in the cache."""
    text = (
        "g (float[2,4] x, int64 past) => (float[2,4] y) {"
        " sizes = Shape (x) count = Gather (sizes, first) length = Squeeze (count)"
        " end = Add (past, length) places = Range (past, end, one)"
        " fresh = Range (zero, length, one) other = Cast <to: int = 1> (fresh)"
        " rows = Gather (table, places) shifted = Add (x, rows)"
        " column = Unsqueeze (other, last) y = Add (shifted, column) }"
    )
    right = network(
        text, table=drawn(8, 4), first=np.array([0]), last=np.array([1]), one=np.array(1),
        zero=np.array(0),
    )  # fmt: skip
    wrong = edited(right, lambda copy: _read(copy, "rows", 1, "fresh"))
    found = believed(right, wrong, x=drawn(2, 4), past=np.array(3))
    assert (found.cause, found.certainty) == ("layout", 3)
    assert found.evidence["should_read"] == "places"


def _read(copy, output, place, tensor):
    node = next(node for node in copy.graph.node if node.output[0] == output)
    node.input[place] = tensor


def recurrent(bias):
    """A layer as ONNX packs it."""
    text = (
        "g (float[5,2,4] x) => (float[5,1,2,6] y) {"
        " h, last = RNN <hidden_size: int = 6> (x, w, r, b) y = Abs (h) }"
    )
    return network(text, w=drawn(1, 6, 4), r=drawn(1, 6, 6), b=bias)


def test_a_packed_bias_of_zeros():
    right = recurrent(drawn(1, 12))
    found = believed(right, recurrent(np.zeros((1, 12), np.float32)), x=drawn(5, 2, 4))
    assert (found.cause, found.certainty) == ("weight", 3)


def gated(more):
    text = (
        "g (float[5,2,4] x) => (float[5,2,2,3] y) {"
        f' h, last, cell = LSTM <hidden_size: int = 3, direction: string = "bidirectional"{more}>'
        " (x, w, r, b) y = Abs (h) }"
    )
    return network(text, w=drawn(2, 12, 4), r=drawn(2, 12, 3), b=drawn(2, 24))


def test_activations_of_a_gate():
    other = ', activations: strings = ["Sigmoid","Tanh","Sigmoid","Sigmoid","Tanh","Tanh"]'
    found = believed(gated(""), gated(other), x=drawn(5, 2, 4))
    assert (found.cause, found.certainty) == ("attribute", 3)
    assert "activations" in found.summary


@pytest.mark.parametrize("wrong", [{"w": 1.01 * drawn(4, 4)}, {"trips": np.array(3)}])
def test_what_a_loop_reads_from_around_it_is_repaired(tmp_path, wrong):
    constants = {"trips": np.array(4), "w": drawn(4, 4)}
    paths = []
    for number, given in enumerate((constants, constants | wrong)):
        weights = {name: v.astype("f4") if name == "w" else v for name, v in given.items()}
        paths.append(tmp_path / f"{number}.onnx")
        onnx.save(network(ROUNDS, **weights), paths[-1])
    done = api.fix(*paths, output=tmp_path / "f.onnx", inputs={"x": X}, in_process=True)
    assert done.repaired
    kept = {
        t.name: onnx.numpy_helper.to_array(t)
        for t in onnx.load(tmp_path / "f.onnx").graph.initializer
    }
    assert np.allclose(kept["w"], drawn(4, 4))
    assert kept["trips"] == 4


def integers(weight, bias):
    scale = np.float32(1 / 32)
    text = (
        "g (float[1,3,8] x) => (float[1,5,6] y) {"
        " q = QuantizeLinear (x, s, z) c = QLinearConv (q, s, z, w, ws, wz, t, z, b)"
        " y = DequantizeLinear (c, t, z) }"
    )
    whole = np.clip(np.rint(weight / scale), -127, 127).astype(np.int8)
    counted = np.rint(bias / (scale * scale)).astype(np.int32)
    zero, step = np.int8(0), np.float32(0.05)
    return network(text, s=scale, z=zero, w=whole, ws=scale, wz=zero, t=step, b=counted)


@pytest.mark.parametrize(
    ("weight", "bias", "cause"), [(1, 4.0, "quantization"), (-1, 1.0, "weight")]
)
def test_integers_that_an_operator_multiplies_as_they_are(tmp_path, weight, bias, cause):
    w, b, x = drawn(5, 3, 3), drawn(5), drawn(1, 3, 8)
    real = "g (float[1,3,8] x) => (float[1,5,6] y) { y = Conv (x, w, b) }"
    reference, wrong = network(real, w=w, b=b), integers(w[::weight], bias * b)
    found = believed(reference, wrong, x=x)
    assert (found.cause, found.certainty) == (cause, 3)
    onnx.save(reference, tmp_path / "r.onnx")
    onnx.save(wrong, tmp_path / "c.onnx")
    done = api.fix(tmp_path / "r.onnx", tmp_path / "c.onnx", output=tmp_path / "f.onnx",
                   inputs={"x": x}, in_process=True)  # fmt: skip
    assert done.repaired


def test_another_function_inside_what_the_reference_has_as_one():
    steps = ("h = Softplus (x)", "t = {} (h)", "y = Mul (t, x)")
    found = believed(chain("y = Mish (x)"), chain(*(s.format("Sin") for s in steps)), x=X)
    assert (found.cause, found.certainty, found.node) == ("missing_op", 3, "Sin@t")


def test_something_that_is_not_read_at_all():
    steps = (
        "a = Tanh (x)",
        "b = Sin (x)",
        "c = Exp (x)",
        "s = {}",
        "y = Mul (s, s)",
        "z = Abs (c)",
    )
    both = [chain(*(s.format(how) for s in steps)) for how in ("Sum (a, b, c)", "Add (a, b)")]
    found = believed(*both, x=X)
    assert (found.cause, found.evidence["unread"]) == ("missing_op", ["c"])
