"""Findings for attributes that differ, where an input shows that they change the function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isomorph.core.experiments import experiment
from isomorph.core.messages import message
from isomorph.core.messages.phrases import named_node
from isomorph.core.not_done import not_done
from isomorph.core.report import Experiment, Fact, Finding, FindingEffect, FindingStatus, Skipped
from isomorph.localize.attribute_effect import AttributeEffect, AttributeExperiment
from isomorph.localize.input_search import encoded
from isomorph.localize.limit_effect import shown_limit
from isomorph.match.attributes import AttributeDifference, attribute_differences, digest
from isomorph.match.grid_differences import grid_differences

if TYPE_CHECKING:
    from isomorph.core.model import Model
    from isomorph.localize.weight_effect import ConstantExperiment

_MOST_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedAttributes:
    """The result of comparing attributes; ``differs`` describes one that an input shows."""

    findings: tuple[Finding, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    differs: str = ""


def compared_attributes(
    reference: Model,
    candidate: Model,
    experiment: ConstantExperiment,
    known: Sequence[Finding],
) -> ComparedAttributes:
    """Compare the attributes of corresponding nodes, and search for an input that shows one."""
    models = reference, candidate
    differences = [*attribute_differences(*models), *grid_differences(*models)]
    search = AttributeExperiment(experiment, differences)
    effect = search.effect()
    if effect.difference is None:
        limit = shown_limit(experiment)
        effect = limit if limit.difference is not None else effect
    shown = effect.difference
    if shown is None:
        named = {name for each in known for name in (each.node, *each.nodes)}
        left = [e for e in search.differences if (e.holder or e.node).name not in named]
        return ComparedAttributes(skipped=_not_shown(left, effect.tried))
    differs = shown.text
    if not effect.responsible and len(search.differences) > 1 and effect.trial is not None:
        differs = message("DIVERGENT.on_inputs", inputs=effect.trial.recipe)
    return ComparedAttributes(findings=(_finding(shown, effect),), differs=differs)


def _not_shown(left: Sequence[AttributeDifference], tried: int) -> tuple[Skipped, ...]:
    if not left:
        return ()
    named = "; ".join(each.text for each in left[:_MOST_NAMED])
    if len(left) > _MOST_NAMED:
        more = len(left) - _MOST_NAMED
        named = message("SKIPPED.attributes_more.why", differences=named, count=more)
    key = "SKIPPED.attributes_tried.why" if tried else "SKIPPED.attributes_untried.why"
    return (not_done("attributes", message(key, differences=named, tried=tried)),)


def _finding(difference: AttributeDifference, effect: AttributeEffect) -> Finding:
    node, counterpart = difference.holder or difference.node, difference.counterpart
    where = message("LATENT.in_body", node=node.name) if difference.holder is not None else ""
    text = message(
        "LATENT.attribute",
        name=difference.name,
        place=named_node(difference.node.op, difference.node.name),
        where=where,
        right=counterpart.name,
        values=difference.values,
    )
    evidence: dict[str, Any] = {
        "attribute": difference.name,
        "difference": difference.values,
        Fact.NUMBERS: digest(difference.name, difference.expected, difference.actual),
        "inputs_tried": effect.tried,
    }
    fix = message("FIX.give_attribute", name=difference.name, node=difference.node.name)
    evidence[Fact.REACHED_BY] = message("INPUT.given")
    if effect.trial is not None:
        evidence[Fact.REACHED_BY] = effect.trial.recipe
        if effect.output is not None:
            evidence[Fact.OUTPUT] = effect.output
            text = message(
                "LATENT.reached", text=text, inputs=effect.trial.recipe, output=effect.output
            )
        else:
            text = message("LATENT.reached_somewhere", text=text, inputs=effect.trial.recipe)
        if (inputs := encoded(effect.trial)) is not None:
            evidence[Fact.INPUTS] = inputs
            fix = message("FIX.then_see", fix=fix)
    return Finding(
        code="LATENT",
        cause="attribute",
        status=FindingStatus.CONFIRMED if effect.responsible else FindingStatus.SUSPECTED,
        effect=FindingEffect.LATENT,
        summary=text,
        node=node.name,
        nodes=tuple(dict.fromkeys((node.name, difference.node.name))),
        tensors=tuple(name for name in node.outputs[:1] if name),
        reference_nodes=(counterpart.name,),
        source=counterpart.source,
        evidence=evidence,
        experiments=(_experiment(difference),) if effect.responsible else (),
        fix=fix,
    )


def _experiment(difference: AttributeDifference) -> Experiment:
    return experiment("fault.attribute", name=difference.name, node=difference.node.name)
