"""The proof beside a check, from the same opened models, and what the two say together.

A proof is about the graphs, in real arithmetic and for inputs of some shapes. So it says nothing
about a run: a fault of a kernel or an optimizer, or a loss of precision, may stand beside it. It
contradicts only what was measured of the same thing: graphs that differ on inputs of these shapes,
or of other sizes that the proof is about.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.cost import phase
from isomorph.core.divergence import Verdict
from isomorph.core.errors import IsomorphError
from isomorph.core.messages import message
from isomorph.core.not_done import not_done
from isomorph.core.proof import NodeProof, OutputProof, Proof, Standing
from isomorph.core.report import (
    Fact,
    Finding,
    FindingEffect,
    FindingStatus,
    Report,
)
from isomorph.measure import findings as output_findings
from isomorph.measure.verdict import graphs_measured_to_differ
from isomorph.store.reported_inputs import decoded_inputs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from isomorph.checking.prepare import PreparedPair
    from isomorph.core.alignment import Alignment
    from isomorph.core.divergence import Divergence
    from isomorph.core.model import Graph
    from isomorph.core.report import Binding
    from isomorph.core.trace import Array
    from isomorph.inputs.feeds import Sample

Shapes = dict[str, tuple[int, ...]]

CODE = "PROOF_CONTRADICTED"

_SHOWN_ON_OTHER_INPUTS = "LATENT"

_AGREED = frozenset({Verdict.EQUIVALENT, Verdict.DEGRADED})
"""Within the budget of the output on every sample."""


@dataclass(slots=True, kw_only=True)
class ProofBeside:
    """Notes which outputs differ at which shapes, and adds the proof to the report."""

    requested: bool
    _differing: list[tuple[Shapes, str]] = field(default_factory=list)

    def note(self, feeds: Mapping[str, object], divergences: Iterable[Divergence]) -> None:
        """Take what was measured of both models on feeds of the reference."""
        if self.requested:
            shapes = _shapes(feeds)
            self._differing += [
                (shapes, each.reference_output)
                for each in divergences
                if each.reference_output is not None and graphs_measured_to_differ(each)
            ]

    def added(
        self,
        report: Report,
        prepared: PreparedPair,
        outputs: Sequence[Binding],
        samples: Sequence[Sample],
    ) -> Report:
        """The report with the proof; ``samples`` are those of the check, in their order."""
        if not self.requested:
            return report
        sample = _first(prepared, samples)
        if prepared.options.on_progress is not None:
            prepared.options.on_progress("prove", "")
        try:
            from isomorph.checking.prove import prove_prepared

            with phase("proof"):
                proof = prove_prepared(replace(prepared, outputs=tuple(outputs)), sample)
        except IsomorphError as error:
            # The check has its answer; a model that the proof cannot evaluate is not proven.
            skipped = not_done("proof", error.sentence)
            return replace(report, skipped=(*report.skipped, skipped))
        graphs = (prepared.reference.model.graph, prepared.candidate.model.graph)
        proof = with_tested(proof, report.outputs, report.alignment, graphs)
        proof = replace(proof, contradicted=self._contradicted(proof, report.findings))
        findings = [_contradiction(name) for name in proof.contradicted]
        ranked = output_findings.ranked((*findings, *report.findings))
        return replace(report, proof=proof, findings=ranked if findings else report.findings)

    def _contradicted(self, proof: Proof, findings: Sequence[Finding]) -> tuple[str, ...]:
        """The proven outputs whose graphs were measured to differ on inputs that it is about."""
        wrong = {name for shapes, name in self._differing if proof.covers(shapes)}
        wrong |= {_shown_output(each, proof) for each in findings}
        return tuple(
            each.reference
            for each in proof.outputs
            if each.standing is Standing.PROVEN and {each.reference, each.candidate} & wrong
        )


def _first(prepared: PreparedPair, samples: Sequence[Sample]) -> Sample:
    """The first sample of the test set, or of the check."""
    data = prepared.options.data
    if data is not None:
        inputs = prepared.reference.model.graph.inputs
        for drawn in data.samples(inputs, prepared.options.dims):
            return drawn.sample
    return samples[0] if samples else prepared.generated_samples()[0]


def _shapes(feeds: Mapping[str, object]) -> Shapes:
    return {name: tuple(np.shape(np.asarray(value))) for name, value in feeds.items()}


def _shown_output(finding: Finding, proof: Proof) -> str:
    """The output that differs on an input of these shapes which the check searched for.

    A weight that differs without such an input was not seen to change anything. Which node a
    latent finding names may be a suspicion; that the output differs on its input was measured.
    """
    output, encoded = finding.fact(Fact.OUTPUT), finding.fact(Fact.INPUTS)
    measured = finding.status is FindingStatus.CONFIRMED or finding.code == _SHOWN_ON_OTHER_INPUTS
    if not measured or not output or encoded is None:
        return ""
    inputs: Mapping[str, Array] = decoded_inputs(encoded)
    return str(output) if proof.covers(_shapes(inputs)) else ""


def with_tested(
    proof: Proof,
    outputs: Sequence[Divergence],
    alignment: Alignment | None,
    graphs: tuple[Graph, Graph],
) -> Proof:
    """The proof, with what is not proven but agreed on every sample marked as tested.

    A node is tested if each of its outputs has a counterpart of the same values in the alignment.
    """
    agreed = {(each.reference_output, each.candidate_output) for each in outputs
              if each.verdict in _AGREED}  # fmt: skip
    all_of = alignment.pairs if alignment is not None else ()
    pairs = [pair for pair in all_of if "value" in pair.evidence]
    matched: dict[str, set[str]] = {
        "reference": {name for each in pairs for name in each.reference},
        "candidate": {each.candidate for each in pairs},
    }
    made = {
        side: {node.name: [name for name in node.outputs if name] for node in graph.nodes}
        for side, graph in zip(("reference", "candidate"), graphs, strict=True)
    }

    def tested(each: NodeProof) -> bool:
        names = made[each.side].get(each.node, [])
        return bool(names) and matched[each.side].issuperset(names)

    return replace(
        proof,
        outputs=tuple(
            _raised(each) if (each.reference, each.candidate) in agreed else each
            for each in proof.outputs
        ),
        nodes=tuple(
            replace(each, standing=Standing.TESTED)
            if each.standing is Standing.OPEN and tested(each)
            else each
            for each in proof.nodes
        ),
    )


def _raised(each: OutputProof) -> OutputProof:
    return replace(each, standing=Standing.TESTED) if each.standing is Standing.OPEN else each


def _contradiction(output: str) -> Finding:
    return Finding(
        code=CODE,
        status=FindingStatus.CONFIRMED,
        effect=FindingEffect.NONE,
        summary=message("PROOF_CONTRADICTED.output", output=output),
        evidence={Fact.OUTPUT: output},
        fix=message("FIX.contradiction"),
    )
