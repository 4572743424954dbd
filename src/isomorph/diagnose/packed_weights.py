"""Weights in blocks of few bits that are no rounding of the reference's, and how they would be.

Every way of reading them is tried against the reference's numbers: with the fields of each byte in
the other order, other zero points, the scales of the groups on the other axis.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.fault_context import Detail
from isomorph.core.stated_numbers import OPERATION_ROUNDINGS
from isomorph.diagnose import node_constants
from isomorph.match.blocked_weights import PRODUCT, packed_product
from isomorph.oracle.noise import unit_roundoff

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Node
    from isomorph.core.trace import Array

_SHIFTS = (-1, 1, -8, 8)
"""Zero points that are one off, or those of signed for unsigned fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How the packed weights of a node are read; ``right`` is the detail that it corrects."""

    node: Node
    fields: Array
    zeros: Array
    scales: Array
    block: int
    most: int
    scale_dtype: str
    words: str = ""
    fix: str = ""
    right: Detail | None = None

    def fair_blocks(self, expected: Array) -> Array:
        """Of which blocks every number is a rounding of the expected one."""
        which = np.arange(expected.shape[1]) // self.block
        step, zero = self.scales[:, which], self.zeros[:, which]
        real = (self.fields - zero) * step
        # The quotient is rounded before it is rounded to a field, and so is a narrow scale.
        unit = OPERATION_ROUNDINGS * unit_roundoff("float32") + unit_roundoff(self.scale_dtype)
        reach = 0.5 * np.abs(step) + unit * (np.abs(expected) + np.abs(real))
        beyond = (expected - real) * np.sign(step)
        cut = ((self.fields == 0) & (beyond < 0)) | ((self.fields == self.most) & (beyond > 0))
        unfair = (np.abs(expected - real) > reach) & ~cut
        wrong = np.zeros(self.scales.shape, bool)
        rows, columns = np.nonzero(unfair)
        wrong[rows, which[columns]] = True
        return ~wrong


def misread_weights(context: FaultContext) -> Iterator[Reading]:
    """The first reading of each node that makes its weights a rounding of the reference's.

    One without words stands for a node whose weights none of them explains. Nothing is yielded for
    weights that are right as they are read.
    """
    for node in context.nodes:
        # It may be declared as the product that it stands for.
        stored = _stored(context, node) if node.native_op.endswith(PRODUCT) else None
        expected = [] if stored is None else list(_expected(context, stored))
        if stored is None or not expected:
            continue
        before = [stored.fair_blocks(each) for each in expected]
        if any(each.all() for each in before):
            continue
        found = (
            reading
            for reading in _others(stored)
            for each, fair in zip(expected, before, strict=True)
            if _explains(reading, stored, each, fair)
        )
        yield next(found, stored)


def _explains(reading: Reading, stored: Reading, expected: Array, before: Array) -> bool:
    fair = reading.fair_blocks(expected)
    if reading.right is Detail.ZERO_POINT:
        # A zero point that was shifted beyond the largest field stayed there.
        ends = (stored.zeros == 0) | (stored.zeros == stored.most)
        fair |= before & ends
    return bool(fair.all())


def _stored(context: FaultContext, node: Node) -> Reading | None:
    """The weights as the node reads them."""
    graph = context.candidate
    found = packed_product(node, lambda place: context.constant(graph, node.input(place)))
    if found is None:
        return None
    return Reading(
        node=node,
        fields=found.fields[:, : int(node.attributes["K"])],
        zeros=found.zeros,
        scales=found.scales,
        block=found.block,
        most=2**found.bits - 1,
        scale_dtype=graph.constants[node.input(2)].dtype,
    )


def _others(stored: Reading) -> Iterator[Reading]:
    """Other ways to read the same bytes."""
    each = 8 // int(stored.most).bit_length()
    rows, inner = stored.fields.shape
    if each > 1 and inner % each == 0:
        turned = stored.fields.reshape(rows, -1, each)[:, :, ::-1].reshape(rows, inner)
        yield replace(
            stored, fields=turned, right=Detail.REORDERED,
            words="the numbers of each byte are in the opposite order",
            fix="pack the first number into the lowest bits of each byte",
        )  # fmt: skip
    yield replace(
        stored, scales=stored.scales.reshape(stored.scales.shape[::-1]).T, right=Detail.SCALE,
        words="the scales of the groups lie along the other axis",
        fix="store the scales row by row: those of all groups of a row beside each other",
    )  # fmt: skip
    for shift in _SHIFTS:
        yield replace(
            stored, zeros=stored.zeros + shift, right=Detail.ZERO_POINT,
            words=f"every zero point is off by {-shift}",
            fix=f"add {shift} to the zero points",
        )  # fmt: skip


def _expected(context: FaultContext, stored: Reading) -> Iterator[Array]:
    """The reference's weights of that size, as rows of outputs."""
    rows, inner = stored.fields.shape
    for name in node_constants.floats(context.reference, context.counterparts):
        value = context.constant(context.reference, name)
        if value is None or value.ndim != 2:
            continue
        wide = np.asarray(value, np.float64)
        if wide.shape == (inner, rows):
            yield wide.T
        if wide.shape == (rows, inner):
            yield wide
