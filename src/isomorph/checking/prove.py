"""Proves a pair: binds it, reads constants and shapes, and joins both sides in both directions."""

from __future__ import annotations

import secrets
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from isomorph import registry
from isomorph.checking.prepare import prepare_pair
from isomorph.checking.proof_findings import findings_of, first_open
from isomorph.checking.proof_measured import measured
from isomorph.checking.prove_sizes import arranged_shape, dynamic_axes, with_sizes
from isomorph.core.errors import IsomorphError
from isomorph.core.messages import message
from isomorph.core.model import LoadFact
from isomorph.core.proof import Assumptions, OpenReason, OutputProof, Proof, Reason, Standing
from isomorph.core.protocols import HasMeanings
from isomorph.match.constant_values import ConstantValues
from isomorph.proof.bodies import inner_constants, inner_numbers
from isomorph.proof.calls import Meanings
from isomorph.proof.explanations import Earlier, explain
from isomorph.proof.field import FieldArithmetic
from isomorph.proof.implied_numbers import ImpliedNumbers, single_numbers
from isomorph.proof.own_numbers import OwnNumbers, repeated_numbers
from isomorph.proof.prover import Prover
from isomorph.proof.side import Side, static_names
from isomorph.proof.sizes import same
from isomorph.proof.term import NoMeaningError, Term
from isomorph.proof.terms import Terms
from isomorph.version import VERSION

if TYPE_CHECKING:
    from isomorph.checking.config import CheckConfig
    from isomorph.checking.prepare import PreparedPair
    from isomorph.core.model import Graph
    from isomorph.core.proof import Rerounded
    from isomorph.core.trace import Array, Arrays
    from isomorph.inputs.feeds import Sample
    from isomorph.measure.input_layout import Layout
    from isomorph.sessions.model_handle import ModelHandle

_SEED_BITS = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """What a proof reads of one model."""

    handle: ModelHandle
    meanings: Meanings
    feeds: Arrays
    values: Mapping[str, Array]
    constants: ConstantValues
    repeated: Callable[[], tuple[float, ...]]
    """The numbers of which whole tensors consist; asked for, every constant is read."""
    stated: tuple[float, ...]
    """The single numbers that the file states where it computes with data."""
    unimplied: tuple[float, ...]
    """Those of them that no operator may imply as well."""

    @property
    def graph(self) -> Graph:
        return self.handle.model.graph


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    """One way to prove a pair.

    ``turned``: the candidate's expressions explain the reference's constants. ``cuts``: a heavy
    tensor of both sides is any value. ``expressions``: what rounds among constants is compared as
    it is computed, and not by the values that the oracles compute.
    """

    turned: bool
    cuts: bool
    expressions: bool
    explained: Earlier
    """What constants stand for, from an attempt with the same sides."""


def prove_pair(
    reference: ModelHandle,
    candidate: ModelHandle,
    given: Sample | None,
    options: CheckConfig,
    *,
    seed: int | None = None,
) -> Proof:
    """What can be proven of two models for inputs of the given or generated shapes.

    ``seed`` chooses primes, random elements and hashes; without it they are unpredictable, so
    that no model can be made to fit them.
    """
    pair = prepare_pair(reference, candidate, options)
    sample = given if given is not None else pair.generated_samples()[0]
    return prove_prepared(pair, sample, seed=seed)


def prove_prepared(pair: PreparedPair, sample: Sample, *, seed: int | None = None) -> Proof:
    """What can be proven of a prepared pair for inputs of the shapes of this sample."""
    begun = time.perf_counter()
    seed = secrets.randbits(_SEED_BITS) if seed is None else seed
    left = pair.evaluated(pair.reference, pair.reference.real(sample.feeds))
    layouts = pair.layouts(left)
    sides = (
        _facts(pair.reference, left.feeds),
        _facts(pair.candidate, pair.arrange(left, layouts).feeds),
    )
    best: tuple[Proof, _Attempt] | None = None
    explained: dict[tuple[bool, bool], Earlier] = defaultdict(dict)
    for cuts, expressions, turned in product((True, False), (False, True), (False, True)):
        attempt = _Attempt(
            turned=turned, cuts=cuts, expressions=expressions,
            explained=explained[expressions, turned],
        )  # fmt: skip
        tried = _tried(pair, sides, layouts, FieldArithmetic(seed), attempt)
        if best is None or _merit(tried) > _merit(best[0]):
            best = tried, attempt
        if best[0].whole:
            break
    assert best is not None
    proof, attempt = measured(sides, best[0]), best[1]

    def for_sizes(sizes: Mapping[tuple[str, int], int]) -> Iterator[Proof]:
        for cuts in (attempt.cuts, not attempt.cuts):
            again = replace(attempt, cuts=cuts)
            yield _tried(pair, sides, layouts, FieldArithmetic(seed), again, sizes=sizes)

    proof = with_sizes(proof, dynamic_axes(pair, sides[0].feeds, layouts), for_sizes)
    return replace(proof, seed=seed, seconds=time.perf_counter() - begun, version=VERSION)


def _merit(proof: Proof) -> tuple[int, float]:
    return sum(each.standing is Standing.PROVEN for each in proof.outputs), proof.share


def _facts(handle: ModelHandle, feeds: Arrays) -> _Facts:
    framework = registry.framework(handle.model.framework)
    meanings: Meanings = (
        framework.meanings() if isinstance(framework, HasMeanings) else Meanings(spelled={})
    )
    if LoadFact.KEEPS_STATE in handle.model.load_facts:
        meanings = Meanings(spelled={}, effects=_state)
    if handle.model.runs_python:
        meanings = Meanings(spelled={}, effects=_python)
    graph, session = handle.model.graph, handle.oracle()
    names, reads_shapes = static_names(graph, meanings)
    values: Mapping[str, Array] = {}
    if names:
        try:
            found = session.run(dict(feeds) if reads_shapes else {}, list(names))
            values = {name: np.asarray(each) for name, each in found.items()}
        except IsomorphError:
            values = {}
    place = Path(handle.model.location)
    constants = ConstantValues(
        graph, session, place if place.is_file() else None, handle.model.file_stamp
    )
    return _Facts(
        handle=handle, meanings=meanings, feeds=feeds, values=values, constants=constants,
        repeated=cache(
            lambda: repeated_numbers(graph.constants, constants.stored_value, values)
        ),
        stated=tuple(single_numbers(graph, values)),
        unimplied=tuple(single_numbers(graph, values, meanings.implied)),
    )  # fmt: skip


def _state(graph: Graph) -> Mapping[str, str]:
    """Every node, as the next call of a model with a state may compute another function."""
    return {node.name: message("PROVE.state") for node in graph.nodes}


def _python(graph: Graph) -> Mapping[str, str]:
    """Every node: what was recorded is one run of a program that may decide on values."""
    return {node.name: message("PROVE.python") for node in graph.nodes}


def _side(
    facts: _Facts, terms: Terms, implied: ImpliedNumbers, attempt: _Attempt, *, symbolic: bool
) -> Side:
    def read(name: str) -> Array | None:
        known = facts.graph.constants.get(name)
        if known is not None and "float" not in known.dtype:
            return facts.constants.stored_array(name)
        return facts.constants.stored_value(name)

    return Side(
        graph=facts.graph,
        meanings=facts.meanings,
        terms=terms,
        constant=read,
        values=facts.values,
        implied=implied,
        opset=facts.handle.model.opset,
        expressions=attempt.expressions,
        symbolic=symbolic,
    )


def _tried(
    pair: PreparedPair,
    facts: tuple[_Facts, _Facts],
    layouts: Sequence[Layout],
    arithmetic: FieldArithmetic,
    attempt: _Attempt,
    *,
    sizes: Mapping[tuple[str, int], int] | None = None,
) -> Proof:
    """One attempt; ``sizes`` are those of axes of the reference's inputs that are symbols."""
    terms, symbolic = Terms(), bool(sizes)
    implied = [_implied(own, other) for own, other in (facts, facts[::-1])]
    sides = [_side(facts[at], terms, implied[at], attempt, symbolic=symbolic) for at in (0, 1)]
    _enter(pair, facts, sides, layouts, sizes or {})
    first, second = sides[::-1] if attempt.turned else sides
    prover = Prover(
        terms=terms, reference=first, candidate=second, arithmetic=arithmetic, cuts=attempt.cuts
    )
    prover.spell_reference()
    known = {**inner_constants(first.graph), **first.graph.constants}
    stored = frozenset(each.digest for each in known.values())
    at = 0 if attempt.turned else 1

    def computed() -> Iterator[Term]:
        """The terms of the second side without any explanation."""
        numbers = _implied(facts[at], facts[1 - at])
        probe = _side(facts[at], terms, numbers, attempt, symbolic=symbolic)
        probe.terms_of.update(second.terms_of)
        for node in probe.graph.nodes:
            yield from probe.spell(node) or ()

    own = OwnNumbers(
        second.graph.constants, second.constant, second.values, computed,
        inside=tuple(inner_numbers(second.graph)), repeated=facts[at].repeated,
        follows=attempt.expressions,
    )  # fmt: skip
    second.explained, rerounded = explain(terms, own, stored, attempt.explained)
    prover.run()
    outputs = tuple(
        _output(prover, sides, binding.reference, binding.candidate, turned=attempt.turned)
        for binding in pair.outputs
    )
    outputs += tuple(
        OutputProof(
            reference=spec.name,
            candidate="",
            standing=Standing.OPEN,
            open=OpenReason(reason=Reason.INTERFACE, details=message("PROVE.no_output")),
        )
        for spec in pair.reference.model.graph.outputs
        if spec.name not in {binding.reference for binding in pair.outputs}
    )
    used = [each for each in rerounded if each.constant in second.terms_of]
    largest = max(
        [each.relative for each in used]
        + [each.largest_rounding for each in implied]
        + [each.static_rounding for each in sides]
    )
    shapes = {name: tuple(np.shape(np.asarray(value))) for name, value in facts[0].feeds.items()}
    return Proof(
        reference=pair.reference.model.location,
        candidate=pair.candidate.model.location,
        outputs=outputs,
        nodes=findings_of(prover, sides[0], "reference")
        + findings_of(prover, sides[1], "candidate"),
        chance=prover.chance,
        seed=arithmetic.seed,
        assumptions=Assumptions(
            shapes=shapes,
            largest_rounding=largest,
            rerounded=_worst(used),
            vanishing=terms.vanishing,
        ),
    )


def _implied(own: _Facts, other: _Facts) -> ImpliedNumbers:
    return ImpliedNumbers(own=own.unimplied, repeated=own.repeated, other=other.stated)


def _worst(used: list[Rerounded]) -> tuple[Rerounded, ...]:
    return tuple(sorted(used, key=lambda each: -each.relative)[:8])


def _enter(
    pair: PreparedPair,
    facts: tuple[_Facts, _Facts],
    sides: Sequence[Side],
    layouts: Sequence[Layout],
    sizes: Mapping[tuple[str, int], int],
) -> None:
    """Give both sides the same inputs."""
    arranged = {each.input: each.rearrangement for each in layouts}
    specs = [{spec.name: spec for spec in each.graph.inputs} for each in facts]
    terms = sides[0].terms
    for spec in facts[0].graph.inputs:
        if spec.kind == "tensor" and spec.dtype is not None and spec.name in facts[0].feeds:
            given = np.asarray(facts[0].feeds[spec.name]).shape
            shape = [sizes.get((spec.name, axis), size) for axis, size in enumerate(given)]
            sides[0].terms_of[spec.name] = terms.input(spec.name, shape, spec.dtype)
    for binding in pair.inputs:
        term = sides[0].terms_of.get(binding.reference)
        there = specs[1].get(binding.candidate)
        if term is None or there is None or there.kind != "tensor" or there.dtype is None:
            continue
        if there.dtype != term.dtype and (term.is_float or term.dtype == "bool"):
            continue
        order = arranged.get(binding.candidate)
        if order is not None:
            turned = terms.transpose(term, order.permutation)
            term = terms.reshape(turned, arranged_shape(turned.shape, order.shape))
        if there.dtype != term.dtype:
            # Whole numbers in another width: the same numbers, as far as it holds them.
            term = terms.retype(term, there.dtype)
        sides[1].terms_of[binding.candidate] = term


def _output(
    prover: Prover, sides: Sequence[Side], reference: str, candidate: str, *, turned: bool
) -> OutputProof:
    ends = [_end(side, name) for side, name in zip(sides, (reference, candidate), strict=True)]
    reason: OpenReason | None
    if ends[0] is not None and ends[1] is not None:
        left, right = (prover.terms.known(each) for each in ends if each is not None)
        if left.id == right.id:
            return OutputProof(reference=reference, candidate=candidate, standing=Standing.PROVEN)
        if not same(left.shape, right.shape) or left.dtype != right.dtype:
            # The first node that has no counterpart is where the shapes or types part.
            apart = first_open(
                prover, *((sides[0], reference) if turned else (sides[1], candidate))
            )
            reason = OpenReason(
                reason=Reason.INTERFACE,
                node=apart.node if apart is not None else "",
                op=apart.op if apart is not None else "",
                details=f"{left.dtype} {list(left.shape)}, {right.dtype} {list(right.shape)}",
            )
            return OutputProof(
                reference=reference, candidate=candidate, standing=Standing.OPEN, open=reason
            )
    if sides[0].symbolic:
        # What has a meaning for the size tried alone is why other sizes are open.
        ends_of = zip(("reference", "candidate"), sides, (reference, candidate), strict=True)
        for role, side, output in ends_of:
            reason = first_open(prover, side, output, meanings_alone=True)
            if reason is not None:
                return OutputProof(
                    reference=reference, candidate=candidate, standing=Standing.OPEN,
                    open=replace(reason, side=role),
                )  # fmt: skip
    joined, name = (sides[0], reference) if turned else (sides[1], candidate)
    reason = first_open(prover, joined, name)
    if reason is None or reason.reason is not Reason.NO_MEANING:
        # What the other side does not mean has no counterpart, whatever stands there.
        other, there = (sides[1], candidate) if turned else (sides[0], reference)
        reason = first_open(prover, other, there, meanings_alone=True) or reason
    return OutputProof(
        reference=reference,
        candidate=candidate,
        standing=Standing.OPEN,
        open=reason or OpenReason(reason=Reason.DIFFERENT_IDENTITY),
    )


def _end(side: Side, name: str) -> Term | None:
    try:
        return side.read(name)
    except NoMeaningError:
        return None
