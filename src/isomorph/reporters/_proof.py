"""The proof of a report, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from isomorph.core.divergence import Verdict
from isomorph.core.proof import AxisProof, OpenReason, OutputProof, Proof, Reason, Standing

if TYPE_CHECKING:
    from isomorph.core.divergence import Divergence
    from isomorph.core.report import Report

MOST_OUTPUTS = 12
_ASSUMED = (
    "real arithmetic; finite inputs; "
    "an operator's own numbers (epsilon, slope) are rounded to the type it computes in"
)
_WORDS = {
    Reason.DOMAIN: "equal only where a divisor, root or logarithm of one side is defined",
    Reason.INTERFACE: "the interface differs",
    Reason.MEASURED: "float64 values on a sample differ by more than rounded constants explain",
}


def why_open(reason: OpenReason | None) -> str:
    """Why something is not proven, and at which node."""
    if reason is None:
        return "unknown"
    place = f" at {reason.node} ({reason.op})" if reason.node else ""
    details = f": {reason.details}" if reason.details else ""
    match reason.reason:
        case Reason.NO_MEANING:
            return f"no meaning for operator {reason.op} at {reason.node}{details}"
        case Reason.UNEXPLAINED_CONSTANT:
            found = f"unexplained constant {reason.details}{place}"
            return f"{found}: it is none of the reference's, nor computed from them"
        case Reason.DIFFERENT_IDENTITY:
            found = f"different identity{place}"
            return f"{found}: the two differ, or are equal by an identity that is not known here"
        case _:
            return f"{_WORDS[reason.reason]}{place}{details}"


_VANISHING = "; weights of a softmax that no IEEE 754 type holds for any input count as zero"


def assumptions(proof: Proof) -> str:
    """What a proof rests on, without its shapes."""
    rounding = proof.assumptions.largest_rounding
    constants = f"; constants equal up to {rounding:.2g} of their values" if rounding else ""
    return f"{_ASSUMED}{constants}{_VANISHING if proof.assumptions.vanishing else ''}"


def axis_words(axis: AxisProof) -> str:
    """A dynamic axis: whether what is proven holds for every size of it, and why not."""
    places = ", ".join(f"axis {each.axis} of {each.input}" for each in axis.places)
    named = f"{axis.name} ({places})" if axis.name else places
    if axis.every_size:
        least = f" from {axis.least} on" if axis.least > 1 else ""
        others = ", with the other axes as tried" if axis.alone else ""
        return f"{named}: every size{least}{others}"
    beside = f" in the {axis.open.side}" if axis.open is not None and axis.open.side else ""
    why = f": {why_open(axis.open)}{beside}" if axis.open is not None else ""
    return f"{named}: only the size tried, {axis.size}{why}"


def error_probability(proof: Proof) -> str:
    """How likely a wrong equality passed at most, and how to repeat the proof."""
    if not proof.chance:
        return f"none: no equality rests on random numbers (seed {proof.seed})"
    return f"at most {proof.chance:.1e} that a wrong equality passed (seed {proof.seed})"


def share(proof: Proof) -> str:
    """How many nodes of the reference are proven."""
    proven, all_of = proof.proven_nodes
    return f"{proven} of {all_of} nodes of the reference are proven"


def counts(proof: Proof) -> str:
    """How many outputs are proven, tested and open: ``2 of 3 outputs proven, 1 tested``."""
    found = {each: sum(one.standing is each for one in proof.outputs) for each in Standing}
    parts = [f"{found[Standing.PROVEN]} of {len(proof.outputs)} outputs proven"]
    parts += [f"{found[each]} {each}" for each in (Standing.TESTED, Standing.OPEN) if found[each]]
    return ", ".join(parts)


def output_words(one: OutputProof, report: Report) -> str:
    """One output: its standing, and why it is not proven, or what was measured all the same."""
    measured = _measured(report.outputs, one)
    if one.standing is Standing.PROVEN:
        return f"proven{_beside(one, measured, report)}"
    tested = "tested: agreed on samples only" if one.standing is Standing.TESTED else "open"
    return f"{tested}; {why_open(one.open)}"


def _beside(one: OutputProof, measured: Divergence | None, report: Report) -> str:
    """What stands beside a proof: it is about graphs and these shapes, not about a run."""
    if report.proof is not None and one.reference in report.proof.contradicted:
        return ", and its graphs were measured to differ: a defect of isomorph"
    if measured is None or measured.verdict is Verdict.EQUIVALENT:
        return ""
    if measured.verdict is Verdict.DEGRADED:
        return "; what is lost is precision of the run, not the function"
    if measured.verdict is Verdict.DIVERGENT:
        return "; the graphs agree at these shapes, and what differs is a run or another size"
    return "; as it runs, it could not be judged"


def _measured(outputs: Sequence[Divergence], one: OutputProof) -> Divergence | None:
    names = one.reference, one.candidate
    return next((d for d in outputs if (d.reference_output, d.candidate_output) == names), None)


def proof_lines(report: Report) -> Iterator[tuple[str, str]]:
    """The section of a report: a label, which may be empty, and the text."""
    proof = report.proof
    if proof is None:
        return
    yield "proof", f"for every input of these shapes ({proof.shape_words}): {counts(proof)}"
    yield "", share(proof)
    for axis in proof.axes[:MOST_OUTPUTS]:
        yield "", f"size {axis_words(axis)}"
    for one in proof.outputs[:MOST_OUTPUTS]:
        yield "", f"{one.reference}: {output_words(one, report)}"
    if len(proof.outputs) > MOST_OUTPUTS:
        yield "", f"… and {len(proof.outputs) - MOST_OUTPUTS} more: --format json"
    shown = any(one.verdict is Verdict.DIVERGENT for one in report.outputs)
    if report.proven and report.verdict is Verdict.DIVERGENT and not shown:
        yield "", "what makes it divergent changes no output at these shapes: see the findings"
    if any(one.standing is Standing.PROVEN for one in proof.outputs):
        yield "", f"assumes {assumptions(proof)}"
        yield "", f"chance of error: {error_probability(proof)}"
