"""Dynamic axes of a pair: which have one size, and for which every size is proven."""

import numpy as np
import pytest
from onnx import parser

import isomorph
from isomorph.checking.prove_sizes import DynamicAxis, arranged_shape, with_sizes
from isomorph.core.proof import Assumptions, OpenReason, OutputProof, Proof, Reason, Standing
from isomorph.proof.sizes import Symbol, UndecidedSizeError, same, symbolic
from isomorph.proof.term import NoMeaningError

N = symbolic(Symbol("n", 7))


REASON = OpenReason(reason=Reason.NO_MEANING, node="k")


def proof(*standings, rounding=0.0):
    outputs = tuple(
        OutputProof(
            reference=f"y{at}", candidate=f"z{at}", standing=each,
            open=None if each is Standing.PROVEN else REASON,
        )
        for at, each in enumerate(standings)
    )  # fmt: skip
    return Proof(
        reference="a", candidate="b", outputs=outputs, nodes=(), chance=1e-9, seed=1,
        assumptions=Assumptions(shapes={"x": (7, 4)}, largest_rounding=rounding),
    )  # fmt: skip


WHOLE, OPEN = proof(Standing.PROVEN), proof(Standing.OPEN)
AXES = tuple(DynamicAxis(name=name, places=(("x", at),), size=7) for at, name in enumerate("nm"))


def settled(known, axes, answer):
    asked = []

    def attempts(sizes):
        asked.append(frozenset(axis for _, axis in sizes))
        yield answer(sizes)

    found = with_sizes(known, axes, attempts)
    return {each.name: each for each in found.axes}, asked, found


def test_all_axes_are_asked_about_together_first():
    found, asked, whole = settled(WHOLE, AXES, lambda _: WHOLE)
    assert asked == [{0, 1}]
    assert all(each.every_size and not each.alone for each in found.values())
    assert whole.chance == pytest.approx(2e-9)


def test_axes_that_fail_together_are_asked_about_alone():
    found, asked, _ = settled(
        WHOLE, AXES, lambda sizes: WHOLE if set(sizes) == {("x", 0)} else OPEN
    )
    assert asked == [{0, 1}, {0}, {1}]
    assert found["n"].every_size
    assert found["n"].alone
    assert not found["m"].every_size
    assert found["m"].open.node == "k"


def test_one_output_that_is_not_proven_again_is_enough():
    both = proof(Standing.PROVEN, Standing.PROVEN)
    found, _, _ = settled(both, AXES[:1], lambda _: proof(Standing.PROVEN, Standing.OPEN))
    assert not found["n"].every_size
    half = proof(Standing.PROVEN, Standing.OPEN)
    found, _, _ = settled(half, AXES[:1], lambda _: half)
    assert found["n"].every_size


def test_a_proof_that_rests_on_more_is_none():
    found, _, _ = settled(WHOLE, AXES[:1], lambda _: proof(Standing.PROVEN, rounding=1e-7))
    assert not found["n"].every_size


def test_nothing_is_asked_where_nothing_is_proven_or_free():
    found, asked, _ = settled(OPEN, AXES[:1], lambda _: WHOLE)
    assert not asked
    assert not found["n"].every_size
    fixed = DynamicAxis(name="n", places=(("x", 0),), size=7, fixed="the candidate fixes it")
    found, asked, _ = settled(WHOLE, (fixed,), lambda _: WHOLE)
    assert not asked
    assert found["n"].open.details == "the candidate fixes it"


def test_an_attempt_that_needs_a_number_says_so():
    def refused(_):
        raise NoMeaningError("a number")

    found, _, _ = settled(WHOLE, AXES[:1], refused)
    assert found["n"].open.details == "a number"


def test_an_input_in_another_order_keeps_its_sizes():
    assert same(arranged_shape((N, 4, 1), (7, 4)), (N, 4))
    assert same(arranged_shape((N, 4), (1, 7, 4)), (1, N, 4))
    assert arranged_shape((7, 4), (4, 7)) == (4, 7)
    with pytest.raises(UndecidedSizeError):
        arranged_shape((N, 4), (7, 2, 2))


def model(inputs, body):
    made = parser.parse_model(f"""<ir_version: 10, opset_import: ["" : 18]>
        g ({inputs}) => (float y) {{ {body} }}""")
    made.graph.output[0].type.tensor_type.ClearField("shape")
    return made


def test_axes_that_one_side_calls_equal_have_one_size():
    body = "y = Add(x, z)"
    one = model("float[n,4] x, float[n,4] z", body)
    other = model("float[a,4] x, float[b,4] z", body)
    for left, right in ((one, other), (other, one)):
        found = isomorph.prove(left, right, in_process=True)
        (axis,) = found.axes
        assert axis.every_size
        assert {(each.input, each.axis) for each in axis.places} == {("x", 0), ("z", 0)}


def test_sizes_that_both_sides_tell_apart_stay_apart():
    body = "t = Transpose(z)\n y = MatMul(x, t)"
    pair = [model("float[n,4] x, float[m,4] z", body) for _ in range(2)]
    given = {"x": np.ones((3, 4), np.float32), "z": np.ones((3, 4), np.float32)}
    found = isomorph.prove(*pair, inputs=given, in_process=True)
    assert [(each.name, each.every_size) for each in found.axes] == [("n", True), ("m", True)]
