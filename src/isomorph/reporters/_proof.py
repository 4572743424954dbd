"""The proof of a report, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from isomorph.core.divergence import Verdict
from isomorph.core.messages import message
from isomorph.core.proof import AxisProof, OpenReason, OutputProof, Proof, Reason, Standing

if TYPE_CHECKING:
    from isomorph.core.divergence import Divergence
    from isomorph.core.report import Report

MOST_OUTPUTS = 12
_REASONS = {
    Reason.DOMAIN: "PROVE.domain",
    Reason.INTERFACE: "PROVE.interface",
    Reason.MEASURED: "PROVE.measured",
}


def why_open(reason: OpenReason | None) -> str:
    """Why something is not proven, and at which node."""
    if reason is None:
        return message("PROVE.unknown")
    match reason.reason:
        case Reason.NO_MEANING:
            text = message("PROVE.no_definition")
            if reason.node:
                text = message("PROVE.no_meaning", op=reason.op, node=reason.node)
            return _detailed(text, reason)
        case Reason.UNEXPLAINED_CONSTANT:
            found = message("PROVE.unexplained_constant", constant=reason.details)
            return message("PROVE.unexplained", place=_placed(found, reason))
        case Reason.DIFFERENT_IDENTITY:
            found = _placed(message("PROVE.different_identity"), reason)
            return message("PROVE.different", place=found)
        case _:
            return _detailed(_placed(message(_REASONS[reason.reason]), reason), reason)


def _placed(text: str, reason: OpenReason) -> str:
    if not reason.node:
        return text
    return message("PROVE.at", text=text, node=reason.node, op=reason.op)


def _detailed(text: str, reason: OpenReason) -> str:
    return message("PROVE.details", text=text, details=reason.details) if reason.details else text


def assumptions(proof: Proof) -> str:
    """What a proof rests on, without its shapes."""
    parts = [message("PROVE.assumed")]
    rounding = proof.assumptions.largest_rounding
    if rounding:
        parts.append(message("PROVE.assumed_constants", rounding=rounding))
    if proof.assumptions.vanishing:
        parts.append(message("PROVE.assumed_vanishing"))
    return "; ".join(parts)


def axis_words(axis: AxisProof) -> str:
    """A dynamic axis: whether what is proven holds for every size of it, and why not."""
    places = ", ".join(
        message("PROVE.axis", axis=each.axis, input=each.input) for each in axis.places
    )
    named = f"{axis.name} ({places})" if axis.name else places
    if axis.every_size:
        key = "PROVE.every_size_from" if axis.least > 1 else "PROVE.every_size"
        text = message(key, axis=named, least=axis.least)
        return message("PROVE.others_as_tried", text=text) if axis.alone else text
    text = message("PROVE.one_size", axis=named, size=axis.size)
    if axis.open is None:
        return text
    text = message("PROVE.details", text=text, details=why_open(axis.open))
    return message("PROVE.in_side", text=text, side=axis.open.side) if axis.open.side else text


def error_probability(proof: Proof) -> str:
    """How likely a wrong equality passed at most, and how to repeat the proof."""
    if not proof.chance:
        return message("PROVE.certain", seed=proof.seed)
    return message("PROVE.chance", chance=proof.chance, seed=proof.seed)


def share(proof: Proof) -> str:
    """How many nodes of the reference are proven."""
    proven, all_of = proof.proven_nodes
    return message("PROVE.share", proven=proven, count=all_of)


def counts(proof: Proof) -> str:
    """How many outputs are proven, tested and open: ``2 of 3 outputs proven, 1 tested``."""
    found = {each: sum(one.standing is each for one in proof.outputs) for each in Standing}
    parts = [message("PROVE.outputs", proven=found[Standing.PROVEN], count=len(proof.outputs))]
    parts += [f"{found[each]} {each}" for each in (Standing.TESTED, Standing.OPEN) if found[each]]
    return ", ".join(parts)


def output_words(one: OutputProof, report: Report) -> str:
    """One output: its standing, and why it is not proven, or what was measured all the same."""
    measured = _measured(report.outputs, one)
    if one.standing is Standing.PROVEN:
        return message(_beside(one, measured, report))
    key = "PROVE.output_tested" if one.standing is Standing.TESTED else "PROVE.output_open"
    return message(key, why=why_open(one.open))


def _beside(one: OutputProof, measured: Divergence | None, report: Report) -> str:
    """The key of what stands beside a proof: it is about graphs and these shapes, not a run."""
    if report.proof is not None and one.reference in report.proof.contradicted:
        return "PROVE.contradicted"
    if measured is None or measured.verdict is Verdict.EQUIVALENT:
        return "PROVE.output_proven"
    if measured.verdict is Verdict.DEGRADED:
        return "PROVE.loses_precision"
    return "PROVE.run_differs" if measured.verdict is Verdict.DIVERGENT else "PROVE.not_judged"


def _measured(outputs: Sequence[Divergence], one: OutputProof) -> Divergence | None:
    names = one.reference, one.candidate
    return next((d for d in outputs if (d.reference_output, d.candidate_output) == names), None)


def proof_lines(report: Report) -> Iterator[tuple[str, str]]:
    """The section of a report: a label, which may be empty, and the text."""
    proof = report.proof
    if proof is None:
        return
    section = message("PROVE.section", shapes=proof.shape_words, counts=counts(proof))
    yield "proof", section
    yield "", share(proof)
    for axis in proof.axes[:MOST_OUTPUTS]:
        yield "", message("PROVE.section_size", axis=axis_words(axis))
    for one in proof.outputs[:MOST_OUTPUTS]:
        yield "", f"{one.reference}: {output_words(one, report)}"
    if len(proof.outputs) > MOST_OUTPUTS:
        yield "", message("PROVE.more", count=len(proof.outputs) - MOST_OUTPUTS)
    shown = any(one.verdict is Verdict.DIVERGENT for one in report.outputs)
    if report.proven and report.verdict is Verdict.DIVERGENT and not shown:
        yield "", message("PROVE.unshown")
    if any(one.standing is Standing.PROVEN for one in proof.outputs):
        yield "", message("PROVE.section_assumes", assumptions=assumptions(proof))
        yield "", message("PROVE.section_chance", chance=error_probability(proof))
