"""A repair holds where every measurement after it is good, on more than one input."""

import pytest

from isomorph.core.divergence import Verdict
from isomorph.core.repair import Measured, Proof, Repair


def measured(*verdicts):
    return tuple(Measured(origin="", verdict=each, reason="") for each in verdicts)


@pytest.mark.parametrize(
    ("verdicts", "holds"),
    [
        (("equivalent", "equivalent"), True),
        (("equivalent", "degraded"), True),
        (("equivalent",), False),
        ((), False),
        (("equivalent", "divergent"), False),
        (("equivalent", "equivalent", "unknown"), False),
    ],
)
def test_one_input_proves_nothing_and_one_bad_measurement_is_enough(verdicts, holds):
    proof = Proof(before=(), after=measured(*map(Verdict, verdicts)))
    assert proof.holds is holds


@pytest.mark.parametrize(
    ("verdict", "repaired", "code"),
    [("divergent", False, 1), ("unknown", False, 3), ("equivalent", True, 0), ("unknown", True, 0)],
)
def test_only_a_repair_passes(verdict, repaired, code):
    found = Repair(verdict=Verdict(verdict), reason="", repaired=repaired, proof=Proof(before=()))
    assert found.exit_code == code
