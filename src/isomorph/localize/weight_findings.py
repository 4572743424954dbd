"""Findings for weights that differ, and their consequence for the verdict."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from isomorph.core.errors import IsomorphError
from isomorph.core.experiments import experiment
from isomorph.core.limits import MOST_SUSPECT_CONSTANTS
from isomorph.core.messages import message
from isomorph.core.messages.phrases import named_node
from isomorph.core.not_done import not_done
from isomorph.core.report import Experiment, Fact, Finding, FindingEffect, FindingStatus, Skipped
from isomorph.localize.input_search import encoded
from isomorph.localize.other_checkpoint import CODE as CHECKPOINT
from isomorph.localize.output_effect import ConstantEffect, Effect
from isomorph.localize.weight_effect import ConstantExperiment
from isomorph.match.blocked_origins import PackedOrigins, blocked_origins
from isomorph.match.constant_difference import ConstantDifference, WeightComparison
from isomorph.match.rounding_grids import OtherGrid
from isomorph.match.stored_weights import Weights
from isomorph.match.structural_constants import Isolation
from isomorph.match.weight_differences import compared_weights

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.sessions.model_handle import ModelHandle

CODE = "CONSTANT_DIFFERS"
_MOST_TENSORS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedConstants:
    """The result of comparing the weights.

    ``differs`` describes the first weight that changes the function; it is empty if none does.
    """

    findings: tuple[Finding, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    differs: str = ""


class ComparedWeights:
    """The weights of both models, read and compared once, when they are asked for."""

    def __init__(self, reference: ModelHandle, candidate: ModelHandle) -> None:
        self._handles = reference, candidate

    @cached_property
    def sides(self) -> tuple[Weights, Weights]:
        """The weights of the reference and of the candidate."""
        reference, candidate = self._handles
        return Weights.of(reference), Weights.of(candidate)

    @cached_property
    def comparison(self) -> WeightComparison:
        """The weights that differ, and what narrow ones were rounded from."""
        return compared_weights(*self.sides)

    @cached_property
    def packed_origins(self) -> PackedOrigins | None:
        """What packed weights were rounded from; None where more than weights is narrow."""
        return blocked_origins(*self.sides)

    @property
    def differences(self) -> tuple[ConstantDifference, ...]:
        """The weights that differ, in graph order."""
        return self.comparison.differences


def compared_constants(
    reference: ModelHandle,
    candidate: ModelHandle,
    experiment: ConstantExperiment | None,
    known: Sequence[Finding],
    *,
    stated_budget: bool = False,
    weights: ComparedWeights | None = None,
) -> ComparedConstants:
    """Compare the weights of both models, without those that ``known`` findings explain.

    With a ``stated_budget`` a weight counts only where an input shows outputs beyond it.
    ``weights`` may have been compared before.
    """
    try:
        weights = weights or ComparedWeights(reference, candidate)
        sides, differences = weights.sides, list(weights.differences)
    except IsomorphError as error:
        return ComparedConstants(skipped=(not_done("constants", error.sentence),))
    findings: list[Finding] = []
    differs = ""
    not_shown: list[Skipped] = []
    differences = [e for e in differences if not any(_explains(each, e) for each in known)]
    # A constant that a Cast makes of another one is read by the same nodes as this.
    differences = list({_identity_of(each): each for each in reversed(differences)}.values())
    differences.reverse()
    # Many at once may be another rounding of all weights: then the runs judge those reached.
    groups = [[each for each in differences if each.certain is sure] for sure in (True, False)]
    suspects = _Suspects(experiment, sides, many=len(groups[0]) > MOST_SUSPECT_CONSTANTS)
    for difference in (each for group in groups for each in group[:MOST_SUSPECT_CONSTANTS]):
        effect = suspects.effect(difference)
        if not suspects.counts(difference, effect):
            limit = difference.isolation is Isolation.ONLY_LIMIT
            if (difference.inside or limit) and effect.effect is Effect.NOT_REACHED:
                not_shown.append(_not_shown(difference, effect))
            continue
        findings.append(_finding(difference, effect, sides))
        if not differs and (effect.divergent or not stated_budget):
            differs = message(
                "CONSTANT_DIFFERS.verdict",
                constant=difference.weight.name,
                text=difference.text,
            )
    if findings and stated_budget and not differs:
        not_shown.append(not_done("constants_differ", message("SKIPPED.constants_budget.why")))
    skipped = [_left_out(group) for group in groups if len(group) > MOST_SUSPECT_CONSTANTS]
    return ComparedConstants(
        findings=tuple(findings), skipped=(*skipped, *not_shown), differs=differs
    )


class _Suspects:
    """What inputs show of weights that differ, and which of them make another function."""

    def __init__(
        self,
        experiment: ConstantExperiment | None,
        sides: tuple[Weights, Weights],
        *,
        many: bool,
    ) -> None:
        self._experiment, self._sides, self._many = experiment, sides, many
        self._in_bodies: ConstantEffect | None = None

    def effect(self, difference: ConstantDifference) -> ConstantEffect:
        """What the difference does on the inputs that are tried."""
        if self._experiment is None:
            return ConstantEffect(effect=Effect.NOT_REACHED)
        if difference.replaceable:
            return self._experiment.effect(difference)
        # Nothing is put in for a constant of a body: one search answers for all of them.
        self._in_bodies = self._in_bodies or self._experiment.effect(difference)
        return self._in_bodies

    def counts(self, difference: ConstantDifference, effect: ConstantEffect) -> bool:
        """Whether it makes another function, and the runs do not judge it already."""
        if effect.effect is Effect.REFUTED:
            return False
        if not difference.replaceable and effect.given and effect.divergent:
            return False  # the runs show a fault already, and nothing says that it is this one
        known_otherwise = difference.sole or difference.isolation is not Isolation.UNKNOWN
        if known_otherwise and not difference.certain:
            first = difference.sole or difference.isolation is Isolation.FIRST
            if effect.given and (first or not effect.divergent):
                return False  # the runs reach it, and judge what it does
            return effect.divergent or self._by_place(difference, effect)
        unseen = self._experiment is not None and effect.effect is Effect.NOT_REACHED
        sure = difference.certain and (unseen or not self._many)
        if difference.replaceable and self._experiment is not None and not sure:
            sure = (
                difference.alone
                and (
                    self._experiment.reads_same_data(difference, self._sides)
                    or self._experiment.only_rounded_otherwise(difference, self._sides)
                )
            ) or (unseen and self._experiment.only_difference(difference, self._sides))
        return sure or effect.divergent

    def _by_place(self, difference: ConstantDifference, effect: ConstantEffect) -> bool:
        if self._experiment is None:
            return difference.isolation is Isolation.ONLY
        if difference.sole:
            unseen = effect.effect is Effect.NOT_REACHED
            return unseen and self._experiment.applied_to_same_data(difference, self._sides)
        return self._experiment.counts(difference, effect, self._sides)


def _not_shown(difference: ConstantDifference, effect: ConstantEffect) -> Skipped:
    why = message(
        "SKIPPED.constant_in_body.why" if difference.inside else "SKIPPED.constant_limit.why",
        constant=difference.weight.name,
        right=difference.reference[0],
        tried=effect.tried,
    )
    return not_done("constants_differ", why)


def _left_out(suspects: Sequence[ConstantDifference]) -> Skipped:
    """Describe the suspect constants that were not examined."""
    certain = suspects[0].certain
    why = message(
        "SKIPPED.constants_certain.why" if certain else "SKIPPED.constants_unknown.why",
        count=len(suspects),
        most=MOST_SUSPECT_CONSTANTS,
    )
    return not_done("constants_differ", why)


def _identity_of(difference: ConstantDifference) -> tuple[object, ...]:
    """Identify a difference by its numbers and by what reads them."""
    readers = tuple(sorted({each.node.name for each in difference.weight.readers}))
    numbers = difference.shown or difference.weight.name
    return difference.reference, difference.certain, numbers, readers


def _explains(finding: Finding, difference: ConstantDifference) -> bool:
    """Whether a finding that a run proved is about this weight or its reader."""
    if finding.effect != FindingEffect.REACHES_OUTPUT:
        return False
    if finding.node is None and finding.code != CHECKPOINT:
        return False
    if finding.fact(Fact.CONSTANT) == difference.weight.name:
        return True
    readers = {each.node.name for each in difference.weight.readers}
    return finding.node in readers or bool(readers & set(finding.nodes))


def _finding(
    difference: ConstantDifference, effect: ConstantEffect, sides: tuple[Weights, Weights]
) -> Finding:
    weight, (reference, candidate) = difference.weight, sides
    parameter = _wrong_parameter(difference, candidate)
    node = weight.readers[0].node
    ref_nodes = _reference_nodes(difference, reference)
    source = next((each.source for each in ref_nodes if each.source is not None), node.source)
    shown = effect.effect is Effect.SHOWN
    evidence: dict[str, Any] = {
        Fact.CONSTANT: weight.name,
        "reference_constant": difference.reference[0],
        "difference": difference.text,
        Fact.NUMBERS: _numbers(difference, reference),
        "known_by": list(difference.evidence),
        "elements": [
            {"index": list(place), "reference": right, "candidate": wrong}
            for place, right, wrong in difference.shown
        ],
        "effect": effect.effect.value,
    }
    right = repr(difference.reference[0])
    fix = message("FIX.give", constant=weight.name, right=right)
    if difference.shared:
        fix = message("FIX.own_constant", node=node.name, right=right)
    if effect.trial is not None:
        evidence[Fact.REACHED_BY] = effect.trial.recipe
        if effect.output is not None:
            evidence[Fact.OUTPUT] = effect.output
        if (inputs := encoded(effect.trial)) is not None:
            evidence[Fact.INPUTS] = inputs
            fix = message("FIX.then_see", fix=fix)
    named = (*filter(None, node.outputs[:1]), *parameter, weight.name, *node.outputs[1:])
    tensors = tuple(dict.fromkeys(filter(None, named)))
    return Finding(
        code=CODE,
        cause="quantization" if isinstance(difference.grid, OtherGrid) else "weight",
        status=FindingStatus.CONFIRMED if shown else FindingStatus.SUSPECTED,
        effect=FindingEffect.REACHES_OUTPUT if shown else FindingEffect.LATENT,
        summary=_summary(difference, effect, node),
        node=node.name,
        nodes=tuple(dict.fromkeys(each.node.name for each in weight.readers)),
        tensors=tensors[:_MOST_TENSORS],
        reference_nodes=tuple(each.name for each in ref_nodes),
        source=source,
        evidence=evidence,
        experiments=(_experiment(difference, effect),) if effect.tried else (),
        fix=fix,
    )


def _wrong_parameter(difference: ConstantDifference, candidate: Weights) -> list[str]:
    """Return the constant that holds the scale or the zero point, where that is what differs.

    The scale of a product of integers is multiplied behind it, so only its number tells it.
    """
    grid, stated = difference.grid, difference.weight.grid
    if not isinstance(grid, OtherGrid) or stated is None:
        return []
    kind, numbers = ("int", stated.zero_point) if grid.shift else ("float", stated.scale)
    holding = [
        name
        for name, constant in candidate.graph.constants.items()
        if kind in constant.dtype and tuple(constant.values or ()) == tuple(numbers)
    ]
    read = candidate.grid_constants(difference.weight.name)
    found = [name for name in holding if name in read] or (holding if kind == "float" else [])
    return found if len(found) == 1 else []


def _reference_nodes(difference: ConstantDifference, reference: Weights) -> list[Node]:
    weight = reference.stored.get(difference.reference[0])
    readers = weight.readers if weight is not None else ()
    return list({each.node.name: each.node for each in readers}.values())


def _numbers(difference: ConstantDifference, reference: Weights) -> str:
    """Hash the values of both constants, to identify this difference in a baseline."""
    stored = (reference.graph.constants.get(name) for name in difference.reference)
    digests = [
        difference.weight.digest,
        *(each.digest if each is not None else "" for each in stored),
    ]
    text = "\n".join([*digests, difference.text, repr(difference.shown)])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _summary(difference: ConstantDifference, effect: ConstantEffect, node: Node) -> str:
    name, ref = difference.weight.name, difference.reference[0]
    details = ""
    if difference.shown:
        place, right, wrong = difference.shown[0]
        at = f"[{', '.join(map(str, place))}]" if place else "it"
        details = message(
            "CONSTANT_DIFFERS.details", text=difference.text, at=at, wrong=wrong, right=right
        )
    text = message(
        "CONSTANT_DIFFERS.constant",
        constant=name,
        place=named_node(node.op, node.name),
        reference="" if ref == name else f" {ref!r}",
        details=details,
    )
    if effect.trial is not None and effect.output is not None:
        inputs = effect.trial.recipe
        return message("CONSTANT_DIFFERS.shown", text=text, inputs=inputs, output=effect.output)
    if effect.effect is Effect.NOT_REACHED:
        if not effect.tried:
            return text
        return message("CONSTANT_DIFFERS.not_reached", text=text, tried=effect.tried)
    key = "CONSTANT_DIFFERS.given" if effect.given else "CONSTANT_DIFFERS.others"
    return message(key, text=text)


_EXPERIMENTS = {
    Effect.SHOWN: "constant.shown",
    Effect.NOT_REACHED: "constant.not_reached",
    Effect.UNDECIDED: "constant.undecided",
    Effect.REFUTED: "constant.refuted",
}


def _experiment(difference: ConstantDifference, effect: ConstantEffect) -> Experiment:
    return experiment(
        _EXPERIMENTS[effect.effect],
        agrees=effect.effect is Effect.SHOWN,
        constant=difference.weight.name,
        difference=difference.text,
        tried=effect.tried,
    )
