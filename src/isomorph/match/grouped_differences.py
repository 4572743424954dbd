"""Weights that differ and are stored with others: in blocks, in tables, one for several readers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.match.blocked_differences import BlockedDifference, blocked_differences
from isomorph.match.constant_difference import ConstantDifference, Suspect, difference_from
from isomorph.match.merged_weights import MergedWeight, merged_weights
from isomorph.match.tables import TableDifference, table_differences

if TYPE_CHECKING:
    from isomorph.match.stored_weights import Weights


def in_blocks(
    reference: Weights, candidate: Weights, known: Collection[str]
) -> list[ConstantDifference]:
    """Return weights with one scale for each block of which few elements are wrong."""
    return [
        replace(_difference(each, "value"), store=each.store)
        for each in blocked_differences(reference, candidate)
        if each.weight.name not in known
    ]


def in_tables(
    reference: Weights, candidate: Weights, known: Collection[str]
) -> list[ConstantDifference]:
    """Return tables of which few rows are wrong, however each side stores them."""
    return [
        replace(_difference(each, "value", "structure"), missing_rows=each.missing)
        for each in table_differences(reference, candidate)
        if each.weight.name not in known
    ]


def merged(
    reference: Weights, candidate: Weights, taken: Mapping[str, int]
) -> list[ConstantDifference]:
    """Return weights that are read in place of others that differ in few elements."""
    return [
        replace(_difference(each, "value"), shared=True)
        for each in merged_weights(reference, candidate, taken)
    ]


def _difference(
    found: BlockedDifference | TableDifference | MergedWeight, *evidence: str
) -> ConstantDifference:
    suspect = replace(Suspect.in_place_of(found), evidence=evidence)
    return difference_from(found.weight, found.actual, suspect)
