"""Which cache of the candidate belongs to which of the reference: layer by layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.core.errors import UsageError
from isomorph.core.report import Binding, BoundBy

if TYPE_CHECKING:
    from isomorph.core.decoding import CachePair
    from isomorph.decoding.signature import DecoderSignature


def bound_names(
    reference: DecoderSignature, candidate: DecoderSignature, stated: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """The inputs and the outputs of the candidate for those of the reference: caches and logits.

    ``stated`` are inputs that the user bound.
    """
    ordered = _paired(reference.caches, candidate.caches, stated)
    inputs = {one.input: other.input for one, other in ordered}
    outputs = {one.output: other.output for one, other in ordered}
    inputs |= _in_order(reference.kept_caches, candidate.kept_caches, stated)
    inputs.setdefault(reference.tokens.name, candidate.tokens.name)
    outputs.setdefault(reference.logits, candidate.logits)
    return inputs, outputs


def _paired(
    reference: Sequence[CachePair], candidate: Sequence[CachePair], stated: Mapping[str, str]
) -> list[tuple[CachePair, CachePair]]:
    """By what the user bound, by name, by layer and part where both tell them, or in order."""
    if len(reference) != len(candidate):
        without = [
            role for role, own in (("reference", reference), ("candidate", candidate)) if not own
        ]
        if without:
            raise UsageError(
                "CACHE_NOT_RECOGNIZED",
                f"the {without[0]} takes no caches, and the other model does",
                why="it reads the whole text at every step",
                fix="compare two decoders that take caches, or state those of this one: "
                "--cache INPUT=OUTPUT",
            )
        raise UsageError(
            "CACHE_NOT_RECOGNIZED",
            f"{len(reference)} caches of the reference and {len(candidate)} of the candidate "
            "were recognized",
            why="every cache needs a counterpart",
            fix="state those that were not recognized: --cache INPUT=OUTPUT",
        )
    by_input = {pair.input: pair for pair in candidate}
    if all(stated.get(pair.input, pair.input) in by_input for pair in reference):
        return [(pair, by_input[stated.get(pair.input, pair.input)]) for pair in reference]
    places = {(pair.layer, pair.part): pair for pair in candidate}
    keys = [(pair.layer, pair.part) for pair in reference]
    if len(places) == len(candidate) and set(keys) == set(places):
        return [(pair, places[key]) for pair, key in zip(reference, keys, strict=True)]
    return list(zip(reference, candidate, strict=True))


def _in_order(
    reference: Sequence[str], candidate: Sequence[str], stated: Mapping[str, str]
) -> dict[str, str]:
    """Caches of an encoder: those of one name or that the user bound, and the others in order."""
    known = {name: stated.get(name, name) for name in reference}
    bound = {name: other for name, other in known.items() if other in candidate}
    left = [name for name in reference if name not in bound]
    right = [name for name in candidate if name not in bound.values()]
    if len(left) != len(right):
        return bound  # the check says which input is ambiguous
    return bound | dict(zip(left, right, strict=True))


def labeled(bindings: Sequence[Binding], made: Mapping[str, str]) -> tuple[Binding, ...]:
    """Bindings that follow from roles in decoding, marked as such."""
    return tuple(
        replace(each, how=BoundBy.NAME if each.reference == each.candidate else BoundBy.DECODING)
        if each.how is BoundBy.USER and made.get(each.reference) == each.candidate
        else each
        for each in bindings
    )
