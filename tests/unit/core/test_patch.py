"""A patch lists what it touches; a proof holds only where everything measured is good."""

from dataclasses import replace

import numpy as np
import pytest

from isomorph.core import patch as edits
from isomorph.core.divergence import Verdict
from isomorph.core.patch import EDITS, Patch
from isomorph.core.repair import Measured, Proof, Repair

GOOD = Measured(origin="given", verdict=Verdict.EQUIVALENT, reason="the same")
BAD = replace(GOOD, verdict=Verdict.DIVERGENT)
PATCH = Patch(
    summary="all kinds",
    edits=(
        edits.SetAttribute(node="a", name="axis", value=1),
        edits.SetConstant(tensor="w", value=np.zeros(2)),
        edits.SetInput(node="b", index=1, tensor="t"),
        edits.InsertBehind(tensor="u", op="Add", name="new", inputs=("", "c")),
        edits.InsertAhead(node="a", index=0, op="Neg", name="other"),
    ),
)


def test_a_patch_knows_what_it_changes_and_what_it_reads():
    assert PATCH.cost == 5
    assert PATCH.nodes == ("a", "b")
    assert PATCH.tensors == ("w", "u")
    assert PATCH.reads == ("t", "c")


def test_every_edit_has_its_word():
    assert {type(edit).__name__ for edit in PATCH.edits} <= set(EDITS)
    assert all(EDITS[word].__name__ == word for word in EDITS)


@pytest.mark.parametrize(
    ("after", "holds"), [((GOOD, GOOD), True), ((GOOD, BAD), False), ((GOOD,), False), ((), False)]
)
def test_a_proof_needs_more_than_one_measurement_and_all_of_them_good(after, holds):
    assert Proof(before=(BAD,), after=after).holds is holds


@pytest.mark.parametrize(
    ("repaired", "verdict", "code"),
    [
        (True, Verdict.DEGRADED, 0),
        (False, Verdict.DIVERGENT, 1),
        (False, Verdict.UNKNOWN, 3),
    ],
)
def test_the_exit_code_reports_the_result(repaired, verdict, code):
    proof = Proof(before=(BAD,))
    repair = Repair(verdict=verdict, reason="", repaired=repaired, proof=proof)
    assert repair.exit_code == code
