"""A kernel that quantizes its activations loses what its node declares; that is no rounding."""

import numpy as np
import pytest

import isomorph
from isomorph.core.divergence import Verdict
from packed_decoder import INNER, NAMES, ROWS, at, network

CODE = "ACTIVATIONS_QUANTIZED"
SOME = ("down1", "up2")
OTHERS = tuple(name for name in NAMES if name not in SOME)


def checked(reference, candidate, *, seed=3):
    feeds = {"x": np.random.default_rng(seed).standard_normal((ROWS, INNER)).astype(np.float32)}
    return isomorph.check(reference, candidate, inputs=feeds, in_process=True)


def named(report):
    """The nodes that quantize activations in one run alone: the candidate's, the reference's."""
    found = [each for each in report.findings if each.code == CODE]
    assert len(found) <= 1
    return tuple((*each.nodes, *(f"reference {name}" for name in each.reference_nodes))
                 for each in found)  # fmt: skip


@pytest.mark.parametrize(
    ("reference", "candidate", "verdict", "nodes"),
    [
        (at(0), at(0), Verdict.EQUIVALENT, ()),
        (at(0), at(4), Verdict.DEGRADED, (NAMES,)),
        (at(0), at(4, *SOME), Verdict.DEGRADED, (SOME,)),
        (at(0), at(1), Verdict.EQUIVALENT, ()),
        (at(4), at(4), Verdict.EQUIVALENT, ()),
        (at(4, *SOME), at(4), Verdict.DEGRADED, (OTHERS,)),
        (at(4), at(0), Verdict.EQUIVALENT, (tuple(f"reference {name}" for name in NAMES),)),
        (None, at(4), Verdict.DEGRADED, (NAMES,)),
        (None, at(0), Verdict.DEGRADED, ()),
    ],
)
def test_who_quantizes_decides(reference, candidate, verdict, nodes):
    report = checked(network(reference), network(candidate))
    assert report.verdict is verdict
    assert named(report) == nodes


@pytest.mark.parametrize("bits", [4, 8])
def test_the_step_of_the_candidate_is_no_rounding(bits):
    report = checked(network(at(0), bits=bits), network(at(4), bits=bits))
    assert report.verdict is Verdict.DEGRADED
    (found,) = report.outputs
    assert found.rounding.within  # the graphs are the same …
    assert found.translation.distance.max_abs == 0.0
    assert found.execution_candidate.within  # … and the run loses what it declares
    assert found.observed.distance.max_abs > 100 * found.execution_reference.distance.max_abs


def scaled(name, fields, scales, zeros):
    return fields, scales * np.float32(1.002 if name == "down1" else 1.0), zeros


def shifted(name, fields, scales, zeros):
    return fields, scales, (zeros ^ np.uint8(0x11) if name == "down1" else zeros)


@pytest.mark.parametrize("level", [0, 4])
@pytest.mark.parametrize(
    ("wrong", "node"),
    [({"epsilon": 1e-2}, "norm1"), ({"change": scaled}, "down1"), ({"change": shifted}, "down1")],
)
def test_a_fault_that_is_smaller_than_the_step_is_found(level, wrong, node):
    report = checked(network(at(level)), network(at(4), **wrong))
    assert report.verdict is Verdict.DIVERGENT
    assert report.findings[0].node == node


def test_a_check_of_one_model_names_them_as_well():
    report = isomorph.check(network(at(4, "head")), in_process=True)
    assert report.verdict is Verdict.EQUIVALENT
    assert [each.nodes for each in report.findings if each.code == CODE] == [("head",)]
