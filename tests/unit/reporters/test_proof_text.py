"""A proof as text: the headline says no more than what is proven."""

from dataclasses import replace

from isomorph.core.proof import (
    Assumptions,
    AxisPlace,
    AxisProof,
    NodeProof,
    OpenReason,
    OutputProof,
    Proof,
    Reason,
    Rerounded,
    Standing,
)
from isomorph.reporters.proof_text import lines

PROVEN = OutputProof(reference="y", candidate="z", standing=Standing.PROVEN)
OPEN = replace(
    PROVEN,
    reference="p",
    standing=Standing.OPEN,
    open=OpenReason(reason=Reason.NO_MEANING, node="n", op="TopK", details="why"),
)
PROOF = Proof(
    reference="a",
    candidate="b",
    outputs=(PROVEN,),
    nodes=(NodeProof(side="reference", node="n", op="Relu", standing=Standing.PROVEN),),
    chance=1e-15,
    seed=5,
    assumptions=Assumptions(
        shapes={"x": (2, 3)},
        largest_rounding=1e-7,
        rerounded=(Rerounded(constant="w", expression="mul(c, c)", relative=1e-7),),
    ),
)


def test_a_whole_proof_names_the_shapes_and_the_assumptions():
    text = "\n".join(lines(PROOF))
    assert text.startswith("EQUIVALENT for every input of these shapes: x [2, 3]")
    assert "up to 1e-07" in text
    assert "w = mul(c, c)" in text
    assert "at most 1.0e-15 that a wrong equality passed (seed 5)" in text


def test_an_open_output_is_named_with_its_node_and_nothing_is_called_equivalent():
    found = replace(PROOF, outputs=(PROVEN, OPEN))
    text = "\n".join(lines(found))
    assert "EQUIVALENT" not in text
    assert text.startswith("OPEN: 1 of 2 outputs")
    assert "p: operator TopK at n is not defined for proofs: why" in text
    assert found.exit_code == 3
    assert PROOF.exit_code == 0


def test_no_outputs_are_no_proof():
    assert not replace(PROOF, outputs=()).whole


def axis(**options):
    return AxisProof(name="n", places=(AxisPlace(input="x", axis=0),), size=2, **options)


def test_an_axis_of_every_size_is_named_in_the_headline():
    text = "\n".join(lines(replace(PROOF, axes=(axis(every_size=True),))))
    assert text.startswith("EQUIVALENT for every input of these shapes: x [n, 3]")
    assert "sizes        n (axis 0 of x): every size\n" in text
    text = "\n".join(lines(replace(PROOF, axes=(axis(every_size=True, least=2, alone=True),))))
    assert text.startswith("EQUIVALENT for every input of these shapes: x [2, 3]")
    assert "every size from 2 on, with the other axes as tried" in text


def test_an_axis_of_the_size_tried_has_its_reason_with_the_node_and_its_side():
    reason = OpenReason(
        reason=Reason.NO_MEANING, node="k", op="Reshape", details="why", side="candidate"
    )
    text = "\n".join(lines(replace(PROOF, axes=(axis(open=reason),))))
    tried = "n (axis 0 of x): only the size tried, 2"
    why = "operator Reshape at k is not defined for proofs: why"
    assert f"{tried}: {why} in the candidate" in text
