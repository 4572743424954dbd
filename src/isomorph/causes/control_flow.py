"""The wrong branch, the wrong number of rounds, the wrong side of a selection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.diagnosis_limits import LOOP_ROUNDS
from isomorph.core.experiments import experiment
from isomorph.core.fault_context import Certainty, Diagnosis, FaultContext, FaultSite
from isomorph.core.messages import message
from isomorph.core.patch import Patch, SetInput, SwapBodies

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.report import Experiment
    from isomorph.core.trace import Array

_BRANCHING = frozenset({"If", "Where", "FaultContext"})
_LOOPING = frozenset({"Loop", "Scan", "While"})


class ControlFlow:
    """A branch or a trip count that is frozen or exchanged, or a condition that is inverted.

    Recognized by deciding otherwise: with the condition inverted, the branches exchanged, or
    another number of rounds, the node is right although nothing that it computes with was
    changed. A branch that was frozen when the model was traced leaves no deciding node behind:
    then the reference decides and the candidate does not.
    """

    name = "control_flow"
    sites = frozenset({FaultSite.GRAPH})

    def examine(self, context: FaultContext) -> Iterator[Diagnosis]:
        """Decide otherwise, and see."""
        negated = _negated(context)
        if negated is not None:
            yield negated
            return
        deciding = [node for node in context.nodes if node.op in _BRANCHING | _LOOPING]
        for node in deciding:
            found = _inverted(context, node) or _exchanged(context, node) or _rounds(context, node)
            if found is not None:
                yield found
                return
        frozen = _frozen(context) if not deciding else None
        if frozen is not None:
            yield frozen
        elif context.node.op in _BRANCHING | _LOOPING:
            # A choice that the reference does not make is part of an operator spelled out.
            chosen_there = any(node.op in _BRANCHING for node in context.counterparts)
            yield Diagnosis(
                cause="control_flow",
                certainty=Certainty.VISIBLE
                if context.node.op in _BRANCHING and chosen_there
                else Certainty.POSSIBLE,
                summary=message("control_flow.result", op=context.node.op),
                # Neither the other branch nor another number of rounds is what the reference gives.
                fix=message("FIX.compare_body"),
            )


def _negated(context: FaultContext) -> Diagnosis | None:
    """A condition that is true exactly where it should be false."""
    if (
        context.wrong.dtype != bool
        or context.wrong.shape != context.right.shape
        or not context.right.size
    ):
        return None
    if not context.equals(np.logical_not(context.wrong)):
        return None
    there = next((node.op for node in reversed(context.counterparts)), None)
    right = there or message("control_flow.reference_op")
    return _diagnosis(
        context.node,
        message("control_flow.inverted", op=context.node.op, right=right),
        experiment("control_flow.result", node=context.node.name),
        message("FIX.condition", op=there) if there else message("FIX.negate"),
    )


def _inverted(context: FaultContext, node: Node) -> Diagnosis | None:
    condition = node.inputs[0] if node.op in _BRANCHING and node.inputs else ""
    value = context.value(context.candidate, condition) if condition else None
    if value is None or value.dtype.kind not in "biu":
        return None
    if not context.restores({condition: np.logical_not(value).astype(value.dtype)}):
        return None
    return _diagnosis(
        node,
        message("control_flow.other_branch", op=node.op),
        experiment("control_flow.condition", node=node.name, condition=condition),
        message("FIX.branches_or_condition"),
    )


def _exchanged(context: FaultContext, node: Node) -> Diagnosis | None:
    """Where the condition cannot be fed: the branches themselves in each other's place."""
    if node.op == "If":
        patch = Patch(summary="", edits=(SwapBodies(node=node.name),))
    elif node.op == "Where" and len(node.inputs) == 3:
        patch = Patch(
            summary="",
            edits=(
                SetInput(node=node.name, index=1, tensor=node.inputs[2]),
                SetInput(node=node.name, index=2, tensor=node.inputs[1]),
            ),
        )
    else:
        return None
    found = context.rehearse(patch)
    if found is None or not context.equals(found):
        return None
    return _diagnosis(
        node,
        message("control_flow.exchanged", op=node.op),
        experiment("control_flow.branches", node=node.name),
        message("FIX.branches"),
    )


def _rounds(context: FaultContext, node: Node) -> Diagnosis | None:
    """A loop that runs once too often or too rarely, or as often as for another input."""
    count = node.inputs[0] if node.op == "Loop" and node.inputs else ""
    value = context.value(context.candidate, count) if count else None
    if value is None or value.size != 1 or value.dtype.kind not in "iu":
        return None
    now = int(value.reshape(-1)[0])
    tried = [now + step for near in range(1, LOOP_ROUNDS.most + 1) for step in (near, -near)]
    for rounds in (*_sizes(context), *tried):
        if rounds >= 0 and rounds != now and context.restores({count: np.full_like(value, rounds)}):
            return _diagnosis(
                node,
                message("control_flow.rounds", now=now, right=rounds),
                experiment("control_flow.trip_count", node=node.name, count=count, rounds=rounds),
                message("FIX.trip_count"),
            )
    LOOP_ROUNDS.reached()
    return None


def _sizes(context: FaultContext) -> Iterator[int]:
    for spec in context.candidate.inputs:
        value: Array | None = context.value(context.candidate, spec.name)
        yield from (int(size) for size in (value.shape if value is not None else ()))


def _frozen(context: FaultContext) -> Diagnosis | None:
    """The reference decides where the candidate has no decision left."""
    there = [node for node in context.counterparts if node.op in {"If", "Loop", "While", "Scan"}]
    if not there:
        return None
    return Diagnosis(
        cause="control_flow",
        certainty=Certainty.VISIBLE,
        summary=message("control_flow.frozen", op=there[0].op, node=there[0].name),
        evidence={"reference_node": there[0].name},
        fix=message("FIX.keep_decision"),
    )


def _diagnosis(node: Node, summary: str, asked: Experiment, fix: str) -> Diagnosis:
    return Diagnosis(
        cause="control_flow",
        certainty=Certainty.CONFIRMED,
        summary=summary,
        evidence={"operator": node.op},
        experiments=(asked,),
        fix=fix,
        node=node.name,
    )
