"""A proof as text: the headline says no more than what is proven."""

from dataclasses import replace

from isomorph.core.proof import (
    Assumptions,
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
    assert "p: no meaning for operator TopK at n: why" in text
    assert found.exit_code == 3
    assert PROOF.exit_code == 0


def test_no_outputs_are_no_proof():
    assert not replace(PROOF, outputs=()).whole
