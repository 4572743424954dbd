"""Stored sizes that follow the input again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.messages import message
from isomorph.core.patch import AddConstant, InsertAhead, Patch
from isomorph.core.report import Fact
from isomorph.diagnose.parameters import constant_edits, unused_name

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Node
    from isomorph.core.report import Finding

_AS_READ, _WHATEVER_IS_LEFT = 0, -1
"""What Reshape means by these two numbers."""


class Shape:
    """A frozen size computed from the shape of an input, or left for the operator to work out.

    The size that fits the inputs at hand is never merely stored: that would move the fault to
    another batch. What is proposed is proven at other sizes, too.
    """

    name = "shape"

    def propose(self, finding: Finding, context: FaultContext) -> Iterator[Patch]:
        """What the operator can work out by itself first, as it takes no new node."""
        named, sizes = finding.fact(Fact.CONSTANT), finding.fact(Fact.SIZES)
        if not isinstance(named, str) or not isinstance(sizes, Sequence):
            return
        constant = context.candidate.constants.get(named)
        if constant is None or constant.values is None or len(constant.values) != len(sizes):
            return
        now, right = [int(each) for each in constant.values], [int(each) for each in sizes]
        frozen = [place for place, size in enumerate(now) if size != right[place]]
        for node in context.candidate.nodes:
            for index, name in enumerate(node.inputs):
                if name == named and frozen:
                    if node.op == "Reshape":
                        yield from _worked_out(context, named, now, right)
                    yield from _computed(context, node, index, now, right)


def _worked_out(
    context: FaultContext, name: str, now: list[int], right: list[int]
) -> Iterator[Patch]:
    """One size of a Reshape at a time as read, as whatever is left, or both."""
    frozen = [p for p, size in enumerate(now) if size not in (right[p], _WHATEVER_IS_LEFT)]
    for place in frozen:
        literal = [right[p] if size == _WHATEVER_IS_LEFT else size for p, size in enumerate(now)]
        for sizes, word in ((now, _AS_READ), (literal, _WHATEVER_IS_LEFT), (literal, _AS_READ)):
            changed = [word if p == place else size for p, size in enumerate(sizes)]
            yield Patch(
                summary=message("PATCH.sizes", name=name, now=now, right=changed),
                edits=constant_edits(context, name, np.asarray(changed, np.int64)),
            )


def _computed(
    context: FaultContext, node: Node, index: int, now: list[int], right: list[int]
) -> Iterator[Patch]:
    """The first size, or the only one, read off the shape of an input of the model."""
    if any(size != right[place] for place, size in enumerate(now) if place and size >= 0):
        return
    for spec in context.candidate.inputs:
        value = context.value(context.candidate, spec.name)
        for axis, size in enumerate(value.shape if value is not None else ()):
            if size == right[0]:
                yield _read_off(context, node, index, now, (spec.name, axis))


def _read_off(
    context: FaultContext, node: Node, index: int, now: list[int], source: tuple[str, int]
) -> Patch:
    tensor, axis = source
    size = InsertAhead(
        node=node.name,
        index=index,
        op="Shape",
        name=unused_name(context, f"{node.name}_size"),
        inputs=(tensor,),
        attributes={"start": axis, "end": axis + 1},
    )
    summary = message("PATCH.size_of_input", op=node.op, node=node.name, axis=axis, tensor=tensor)
    if len(now) == 1:
        return Patch(summary=summary, edits=(size,))
    tail = unused_name(context, f"{node.name}_sizes")
    joined = InsertAhead(
        node=node.name,
        index=index,
        op="Concat",
        name=unused_name(context, f"{node.name}_all_sizes"),
        inputs=("", tail),
        attributes={"axis": 0},
    )
    kept = AddConstant(name=tail, value=np.asarray(now[1:], np.int64))
    return Patch(summary=summary, edits=(kept, size, joined))
