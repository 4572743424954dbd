"""Weights that differ and are stored with others: in blocks, in tables, one for several readers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.match.blocked_weights import blocked_differences
from isomorph.match.constant_difference import ConstantDifference, Suspect, difference_from
from isomorph.match.merged_weights import merged_weights
from isomorph.match.tables import table_differences

if TYPE_CHECKING:
    from isomorph.match.stored_weights import Weights


def in_blocks(
    reference: Weights, candidate: Weights, known: Collection[str]
) -> list[ConstantDifference]:
    """Return weights with one scale for each block of which few elements are wrong."""
    return [
        replace(difference_from(each.weight, each.actual, suspect), store=each.store)
        for each in blocked_differences(reference, candidate)
        if each.weight.name not in known
        and (suspect := replace(Suspect.in_place_of(each), evidence=("value",)))
    ]


def in_tables(
    reference: Weights, candidate: Weights, known: Collection[str]
) -> list[ConstantDifference]:
    """Return tables of which few rows are wrong, however each side stores them."""
    return [
        replace(difference_from(each.weight, each.actual, suspect), missing_rows=each.missing)
        for each in table_differences(reference, candidate)
        if each.weight.name not in known
        and (suspect := replace(Suspect.in_place_of(each), evidence=("value", "structure")))
    ]


def merged(
    reference: Weights, candidate: Weights, taken: Mapping[str, int]
) -> list[ConstantDifference]:
    """Return weights that are read in place of others that differ in few elements."""
    return [
        replace(difference_from(each.weight, each.actual, suspect), shared=True)
        for each in merged_weights(reference, candidate, taken)
        if (suspect := replace(Suspect.in_place_of(each), evidence=("value",)))
    ]
