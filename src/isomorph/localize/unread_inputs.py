"""Inputs that only one of two models computes with: a mask that was frozen, a length that is lost.

A model that ignores an input agrees with one that reads it wherever the input has no effect. Which
inputs reach an output is a fact of both graphs. Whether it matters is tried: the input alone gets
other values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.coverage import InputKind
from isomorph.core.errors import IsomorphError
from isomorph.core.messages import message
from isomorph.core.messages.phrases import named_node
from isomorph.core.not_done import not_done
from isomorph.core.report import Fact, Finding, FindingEffect, FindingStatus, Skipped
from isomorph.core.stated_numbers import OTHER_INPUT_SEEDS
from isomorph.inputs.generate import SAMPLES, generate
from isomorph.localize.findings import restored_by
from isomorph.localize.input_domain import larger
from isomorph.localize.input_search import Trial, encoded
from isomorph.localize.locate import locate
from isomorph.localize.output_effect import ConstantEffect, Effect
from isomorph.match.attributes import digest
from isomorph.match.topology import Topology

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node
    from isomorph.core.report import Binding
    from isomorph.core.trace import Array
    from isomorph.localize.fault import Fault
    from isomorph.localize.weight_effect import ConstantExperiment


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadInput:
    """An input of the reference that only one model computes with, and a node that reads it."""

    name: str
    reader: Node
    by_candidate: bool
    """Whether the candidate is the model that reads it."""

    @property
    def text(self) -> str:
        """The difference as text for a report."""
        sides = ("reference", "candidate")[:: -1 if self.by_candidate else 1]
        return message("LATENT.read_by", input=self.name, one=sides[0], other=sides[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedInputs:
    """The result of comparing which inputs are read; ``differs`` describes one that matters."""

    findings: tuple[Finding, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    differs: str = ""


def compared_inputs(experiment: ConstantExperiment, bindings: Sequence[Binding]) -> ComparedInputs:
    """Find inputs that one model ignores, and search for values of them that show it."""
    skipped: list[Skipped] = []
    for each in unread_inputs(experiment, bindings):
        effect = _effect(each, experiment)
        if effect.divergent and effect.trial is not None:
            place = _place(experiment, effect.trial) if not each.by_candidate else None
            finding = _finding(each, effect, experiment.sides[1].model.graph, place)
            return ComparedInputs(findings=(finding,), skipped=tuple(skipped), differs=each.text)
        key = "SKIPPED.unread_tried.why" if effect.tried else "SKIPPED.unread_untried.why"
        why = message(key, difference=each.text, tried=effect.tried)
        skipped.append(not_done("unread", why))
    return ComparedInputs(skipped=tuple(skipped))


def unread_inputs(
    experiment: ConstantExperiment, bindings: Sequence[Binding]
) -> Iterator[UnreadInput]:
    """Yield the inputs of the reference that reach the compared outputs in one model only."""
    outputs = experiment.outputs
    ref, cand = (side.model.graph for side in experiment.sides)
    here = _read(ref, [pair.reference for pair in outputs])
    there = _read(cand, [pair.candidate for pair in outputs])
    bound = {pair.reference: pair.candidate for pair in bindings}
    for spec in ref.inputs:
        own, other = here.get(spec.name), there.get(bound.get(spec.name, ""))
        if own is not None and other is None:
            yield UnreadInput(name=spec.name, reader=own, by_candidate=False)
        elif own is None and other is not None:
            yield UnreadInput(name=spec.name, reader=other, by_candidate=True)


def _read(graph: Graph, outputs: Sequence[str]) -> Mapping[str, Node]:
    """Return the inputs that one of the outputs depends on, each with a node that reads it."""
    topology = Topology(graph)
    needed = {name for each in outputs for name in topology.above(each)} | set(outputs)
    found: dict[str, Node] = {}
    for node in graph.nodes:
        if not needed.isdisjoint(node.outputs):
            for name in topology.reads(node):
                found.setdefault(name, node)
    return {spec.name: found[spec.name] for spec in graph.inputs if spec.name in found}


def _effect(unread: UnreadInput, experiment: ConstantExperiment) -> ConstantEffect:
    """Return whether other values of the input alone make the outputs differ."""
    reference, candidate = experiment.sides
    tried = 0
    for trial in _trials(unread.name, experiment):
        tried += 1
        try:
            ref = reference.with_feeds(trial.feeds)
            cand = candidate.with_feeds(experiment.carry(ref))
            if experiment.screened(ref, cand) is Effect.NOT_REACHED:
                continue
            found = experiment.judged(ref, cand, trial, Effect.UNDECIDED)
        except (IsomorphError, ValueError):
            continue  # an input that a model rejects shows nothing
        if found.divergent:
            return found
    return ConstantEffect(effect=Effect.NOT_REACHED, tried=tried)


def _trials(name: str, experiment: ConstantExperiment) -> Iterator[Trial]:
    """Yield the given inputs with other values of one of them."""
    reference = experiment.sides[0]
    if any(side.oracle().capabilities.feed != "all" for side in experiment.sides):
        return
    graph, seed = reference.model.graph, reference.seed
    own = {each: np.asarray(value) for each, value in reference.feeds.items()}
    shapes = {each: value.shape for each, value in own.items()}
    made: list[tuple[str, Array, InputKind]] = []
    for place in range(1, OTHER_INPUT_SEEDS + 1):
        for sample in SAMPLES:
            try:
                drawn = generate(graph, {}, sample=sample, seed=seed + place, other_shapes=shapes)
            except IsomorphError:
                continue
            recipe = message("INPUT.one_generated", name=name, sample=sample, seed=seed + place)
            made.append((recipe, drawn[name], InputKind.GENERATED))
    if own[name].dtype.kind in "fb":
        turned = ~own[name] if own[name].dtype.kind == "b" else -own[name]
        made.append((message("INPUT.one_negated", name=name), turned, InputKind.GIVEN))
    elif own[name].dtype.kind in "iu":  # a length that stays one, a label that stays valid
        half = np.maximum(own[name] // 2, np.minimum(own[name], 1)).astype(own[name].dtype)
        made.append((message("INPUT.one_halved", name=name), half, InputKind.GIVEN))
    for recipe, value, kind in made:
        feeds = {**own, name: value}
        # An absolute budget states nothing about inputs that are larger than the given ones.
        if value.shape == own[name].shape and not (experiment.terms.budgets and larger(feeds, own)):
            yield Trial(recipe=recipe, feeds=feeds, kind=kind)


def _place(experiment: ConstantExperiment, trial: Trial) -> Fault | None:
    """Return the first node that is proven wrong where the input has these values."""
    try:
        reference = experiment.sides[0].with_feeds(trial.feeds)
        candidate = experiment.sides[1].with_feeds(experiment.carry(reference))
        pairs = [(pair.reference, pair.candidate) for pair in experiment.outputs]
        faults = locate(reference, candidate, pairs).chain.faults
    except (IsomorphError, ValueError):
        return None  # then the output that differs has to do
    return next((each for each in faults if each.proven), None)


def _finding(
    unread: UnreadInput, effect: ConstantEffect, candidate: Graph, place: Fault | None
) -> Finding:
    """Name the node that is proven wrong, else the reader's namesake or the maker of an output."""
    reader, trial = unread.reader, effect.trial
    assert trial is not None
    node = reader if unread.by_candidate else _stand_in(reader, candidate, effect.output)
    if place is not None:
        node = next(each for each in candidate.nodes if each.name == place.node)
    side = "candidate" if unread.by_candidate else "reference"
    evidence: dict[str, Any] = {
        "input": unread.name,
        Fact.NUMBERS: digest(unread.name, unread.by_candidate),
        Fact.REACHED_BY: trial.recipe,
        Fact.OUTPUT: effect.output,
    }
    fix = message("FIX.connect_input", input=unread.name) if not unread.by_candidate else None
    if (inputs := encoded(trial)) is not None:
        evidence[Fact.INPUTS] = inputs
        fix = message("FIX.see") if fix is None else message("FIX.then_see", fix=fix)
    return Finding(
        rank=0,
        code="LATENT",
        cause="interface",
        status=FindingStatus.CONFIRMED,
        effect=FindingEffect.LATENT,
        summary=message(
            "LATENT.unread",
            text=unread.text,
            place=named_node(reader.op, reader.name),
            side=side,
            output=effect.output,
            inputs=trial.recipe,
        ),
        node=node.name if node is not None else None,
        nodes=place.nodes if place is not None else (node.name,) if node is not None else (),
        tensors=(unread.name,),
        reference_nodes=() if unread.by_candidate else (reader.name,),
        source=reader.source,
        evidence=evidence,
        experiments=() if place is None else (restored_by(place),),
        fix=fix,
    )


def _stand_in(reader: Node, candidate: Graph, output: str | None) -> Node | None:
    """Return the candidate's node of the same name, or the one that computes the output."""
    by_name = {node.name: node for node in candidate.nodes}
    return by_name.get(reader.name) or Topology(candidate).maker.get(output or "")
