"""Random numbers that belong to training, taken out of the model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.messages import message
from isomorph.core.ops import RANDOM
from isomorph.core.patch import Edit, Patch, RemoveNode, SetConstant, SetInput

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Node
    from isomorph.core.report import Finding


class Nondeterminism:
    """Dropout switched to inference, or a node that only adds noise removed."""

    name = "nondeterminism"

    def propose(self, finding: Finding, context: FaultContext) -> Iterator[Patch]:
        """All random nodes at once: one that is left keeps the model random."""
        dropouts = [node for node in context.nodes if node.op == "Dropout"]
        noise = [node for node in context.nodes if node.op in RANDOM]
        if dropouts and not noise:
            names = ", ".join(repr(node.name) for node in dropouts)
            switched = tuple(edit for node in dropouts for edit in _switched_off(context, node))
            if switched:
                yield Patch(summary=message("PATCH.training_off", nodes=names), edits=switched)
            yield Patch(
                summary=message("PATCH.remove_several", op="Dropout", nodes=names),
                edits=tuple(RemoveNode(node=node.name) for node in dropouts),
            )
        if noise:
            readers = list(_adders(context, noise))
            edits: list[Edit] = [RemoveNode(node=node.name) for node in (*dropouts, *readers)]
            names = ", ".join(repr(node.name) for node in readers)
            if readers:
                yield Patch(summary=message("PATCH.remove_noise", nodes=names), edits=tuple(edits))


def _switched_off(context: FaultContext, node: Node) -> Iterator[Edit]:
    mode = node.inputs[2] if len(node.inputs) > 2 else ""
    if mode in context.candidate.constants:
        yield SetConstant(
            tensor=mode, value=np.zeros(context.candidate.constants[mode].shape, bool)
        )
    elif mode:
        yield SetInput(node=node.name, index=2, tensor="")


def _adders(context: FaultContext, noise: list[Node]) -> Iterator[Node]:
    """Nodes whose first input is the signal and whose second is the noise."""
    random = {name for node in noise for name in node.outputs}
    for node in context.candidate.nodes:
        if set(node.inputs) & random and node.op in {"Mul", "Div"}:
            random |= set(node.outputs)
        elif node.op in {"Add", "Sub"} and node.inputs[1] in random:
            yield node
