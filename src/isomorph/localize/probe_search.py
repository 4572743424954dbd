"""Search for inputs on which what probes of single nodes found reaches an output."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.errors import IsomorphError
from isomorph.core.limits import ATTRIBUTE_SCALES, SELECTION_INPUTS
from isomorph.core.messages import message
from isomorph.core.messages.phrases import named_node
from isomorph.core.not_done import not_done
from isomorph.core.report import Fact, Finding, FindingEffect, FindingStatus, Skipped
from isomorph.core.stated_numbers import CONFIRMING_INPUTS
from isomorph.localize.hidden_decisions import hidden_difference
from isomorph.localize.input_search import (
    Carry,
    Trial,
    encoded,
    first_that_differs,
    one_framework,
    other_inputs,
    scales_to,
    shown_differences,
)
from isomorph.localize.latent import Latent, Probes, latent
from isomorph.localize.output_effect import differ_as_stored, numeric
from isomorph.match.attributes import digest
from isomorph.match.topology import Topology
from isomorph.measure.compare import Terms
from isomorph.measure.evaluated_model import EvaluatedModel

if TYPE_CHECKING:
    from isomorph.core.report import Binding
    from isomorph.localize.locate import Located


def reached(
    found: Sequence[Latent],
    sides: tuple[EvaluatedModel, EvaluatedModel],
    outputs: Sequence[Binding],
    terms: Terms,
    carry: Carry,
) -> list[Finding]:
    """Return the findings, each with the input that makes it reach an output, if one was found.

    A node is no finding where inputs reach it and the nodes after it make up for the difference.
    """
    reference, candidate = sides
    findings = {str(each.finding.node): each.finding for each in found}
    made_up_for: Counter[str] = Counter()
    tried = 0
    for trial in other_inputs(
        reference, terms, scales=_scales(found, reference), ties=one_framework(sides)
    ):
        tried += 1
        ref = reference.with_feeds(trial.feeds)
        try:
            cand = candidate.with_feeds(carry(ref))
            nodes = _touched(found, ref, cand)
            if not nodes:
                continue
            if _equal_outputs(ref, cand, outputs):
                made_up_for.update(nodes)
                continue
            wrong = shown_differences((ref, cand), sides, outputs, terms)
        except IsomorphError:
            continue  # an input that a model rejects reaches nothing
        if not wrong:
            continue
        for node in nodes:
            if findings[node].fact(Fact.REACHED_BY) is None:
                findings[node] = with_input(findings[node], trial, str(wrong[0].candidate_output))
        if all(each.fact(Fact.REACHED_BY) is not None for each in findings.values()):
            break
    return [
        each if each.fact(Fact.REACHED_BY) is not None else _not_reached(each, tried)
        for node, each in findings.items()
        if each.fact(Fact.REACHED_BY) is not None or made_up_for[node] < CONFIRMING_INPUTS
    ]


def _scales(found: Sequence[Latent], reference: EvaluatedModel) -> tuple[float, ...]:
    """Return factors of the inputs that bring data to the constants of the nodes."""
    scales: dict[float, None] = {}
    for each in found:
        names = [ref for ref, _, _ in each.departure.span.sources]
        scales.update(dict.fromkeys(scales_to(each.numbers, names, reference)))
    return tuple(ATTRIBUTE_SCALES.first(scales))


def _equal_outputs(ref: EvaluatedModel, cand: EvaluatedModel, outputs: Sequence[Binding]) -> bool:
    """Whether all outputs are equal as they are stored; those that are no numbers count as not."""
    one, two = numeric(ref.oracle_outputs()), numeric(cand.oracle_outputs())
    if any(pair.reference not in one or pair.candidate not in two for pair in outputs):
        return False
    named = {pair.candidate: one[pair.reference] for pair in outputs}
    return not differ_as_stored({name: two[name] for name in named}, named)


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """The result of probing and searching.

    ``differs`` describes the first node that differs on an input that was found; it is empty
    where none was. ``located`` holds the faults that a search found there, with the models on that
    input.
    """

    findings: tuple[Finding, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    differs: str = ""
    located: tuple[EvaluatedModel, EvaluatedModel, Located] | None = None


def probed(
    sides: tuple[EvaluatedModel, EvaluatedModel],
    outputs: Sequence[Binding],
    terms: Terms,
    carry: Carry,
) -> Probed:
    """Probe both sides, then search for inputs that reach what was found."""
    try:
        probes = latent(*sides)
        found, skipped = probes.found, tuple(probes.skipped)
        findings = reached(found, sides, outputs, terms, carry) if found else []
        shown = {each.node for each in findings if each.fact(Fact.REACHED_BY) is not None}
        differs = next((each.description for each in found if each.finding.node in shown), "")
        if not differs and any(probes.unpaired):
            selection = _unpaired_selection(probes, sides, outputs, terms, carry)
            if selection is not None:
                findings.append(selection)
                differs = message("DIVERGENT.on_other_inputs", node=selection.node)
        if not differs:
            hidden = hidden_difference(sides, outputs, terms, carry)
            skipped += (hidden.skipped,) if hidden.skipped is not None else ()
            if hidden.finding is not None and hidden.trial is not None:
                findings.append(with_input(hidden.finding, hidden.trial, hidden.output))
                differs = message("DIVERGENT.on_other_inputs", node=hidden.finding.node)
    except IsomorphError as error:
        return Probed(skipped=(not_done("probes", error.sentence),))
    return Probed(findings=tuple(findings), skipped=skipped, differs=differs)


def _unpaired_selection(
    probes: Probes,
    sides: tuple[EvaluatedModel, EvaluatedModel],
    outputs: Sequence[Binding],
    terms: Terms,
    carry: Carry,
) -> Finding | None:
    """Return a finding for selections that one model makes alone, where an input shows it.

    Which values a node selects may be the same on all given inputs, and was then written down as a
    constant. No tensor of the other model is equal to the decision, so only the outputs show it.
    """
    reference, candidate = sides
    trials = other_inputs(reference, terms, ties=one_framework(sides))
    unlike = SELECTION_INPUTS.first(_unlike(trials, reference))
    shown = first_that_differs(unlike, sides, outputs, terms, carry)
    if shown is None:
        return None
    return _selection(probes, shown.trial, str(shown.wrong[0].candidate_output), candidate)


def _unlike(trials: Iterator[Trial], model: EvaluatedModel) -> Iterator[Trial]:
    """Yield the inputs that are not the given ones again."""
    given = {name: np.asarray(value) for name, value in model.feeds.items()}
    for trial in trials:
        if any(not np.array_equal(value, given[name]) for name, value in trial.feeds.items()):
            yield trial


def _selection(probes: Probes, trial: Trial, output: str, candidate: EvaluatedModel) -> Finding:
    own, others = probes.unpaired[1], probes.unpaired[0]
    node = own[0] if own else Topology(candidate.model.graph).maker.get(output)
    named = node.name if node is not None else output
    side, decides = ("candidate", own[0]) if own else ("reference", others[0])
    finding = Finding(
        rank=0,
        code="LATENT",
        cause="control_flow",
        status=FindingStatus.SUSPECTED,
        effect=FindingEffect.LATENT,
        summary=message("LATENT.decides", place=named_node(decides.op, decides.name), side=side),
        node=named,
        nodes=(named,),
        tensors=tuple(name for name in decides.outputs[:1] if name),
        reference_nodes=tuple(each.name for each in others[:1]),
        source=decides.source,
        evidence={Fact.NUMBERS: digest(*(each.name for each in (*others, *own)))},
    )
    return with_input(finding, trial, output)


def _touched(found: Sequence[Latent], ref: EvaluatedModel, cand: EvaluatedModel) -> list[str]:
    """Return the nodes that differ between the two models on this input, in float64."""
    left = {each.departure.span.reference for each in found}
    right = {each.departure.span.candidate for each in found}
    here = ref.oracle().run(ref.feeds, sorted(left))
    there = cand.oracle().run(cand.feeds, sorted(right))
    touched = []
    for each in found:
        span = each.departure.span
        one = span.moved.array(np.asarray(here[span.reference], np.float64))
        two = np.asarray(there[span.candidate], np.float64)
        # A difference in float32 is worth judging; the outputs show whether it matters.
        with np.errstate(all="ignore"):
            apart = one.shape == two.shape and np.any(np.float32(one) != np.float32(two))
        if apart:
            touched.append(str(each.finding.node))
    return touched


def with_input(finding: Finding, trial: Trial, output: str) -> Finding:
    """Add the input on which the difference reaches an output to a finding."""
    evidence: dict[str, Any] = {**finding.evidence, Fact.REACHED_BY: trial.recipe}
    evidence[Fact.OUTPUT] = output
    fix = None
    if (inputs := encoded(trial)) is not None:
        evidence[Fact.INPUTS] = inputs
        fix = message("FIX.see")
    return replace(
        finding,
        summary=message("LATENT.reached", text=finding.summary, inputs=trial.recipe, output=output),
        evidence=evidence,
        fix=fix,
    )


def _not_reached(finding: Finding, tried: int) -> Finding:
    """Add to a finding how many inputs were tried; that none reaches it proves nothing."""
    return replace(
        finding,
        summary=message("LATENT.not_reached", text=finding.summary, tried=tried),
        evidence={**finding.evidence, "inputs_tried": tried},
    )
