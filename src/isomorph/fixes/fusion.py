"""The activation that a fused operator should apply."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.messages import message
from isomorph.core.patch import Edit, Patch, SetAttribute
from isomorph.diagnose.reference_nodes import original_nodes
from isomorph.fixes._numbers import apart, fitted

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Node
    from isomorph.core.report import Finding

# What a fused node may apply, and the parameters it then needs, with their usual values.
_ACTIVATIONS: dict[str, tuple[float, ...]] = {
    "Relu": (), "Sigmoid": (), "Tanh": (), "LeakyRelu": (0.01,), "HardSigmoid": (0.2, 0.5),
    "Clip": (0.0, 6.0), "Softplus": (), "Elu": (1.0,),
}  # fmt: skip
_PARAMETERS = ("alpha", "negative_slope", "beta", "min", "min_val", "max", "max_val")


class Fusion:
    """The activation of a fused node set to what its parts did, or taken away; or the parts."""

    name = "fusion"

    def propose(self, finding: Finding, context: FaultContext) -> Iterator[Patch]:
        """What the counterparts apply first, then every other activation, none, its parts."""
        for node in context.nodes:
            if "activation" not in node.attributes:
                continue
            for word, parameters in _stated(context):
                yield _patch(node, word, parameters)
            for word, parameters in _ACTIVATIONS.items():
                yield _patch(node, word, parameters)
            yield _patch(node, None, ())
            yield from _slopes(context, node)
        yield from original_nodes(context)


def _stated(context: FaultContext) -> Iterator[tuple[str, tuple[float, ...]]]:
    for counterpart in reversed(context.counterparts):
        if counterpart.op in _ACTIVATIONS:
            stated = [counterpart.attributes.get(name) for name in _PARAMETERS]
            numbers = tuple(float(each) for each in stated if isinstance(each, (int, float)))
            yield counterpart.op, numbers[: len(_ACTIVATIONS[counterpart.op])]


def _slopes(context: FaultContext, node: Node) -> Iterator[Patch]:
    """A slope that the values themselves show."""
    for word in ("LeakyRelu", "Elu"):

        def error(value: float, word: str = word) -> float:
            return apart(context.right, context.rehearse(_patch(node, word, (value,))))

        if np.isfinite(error(0.01)):
            for value in fitted(error, 0.01):
                yield _patch(node, word, (value,))


def _patch(node: Node, word: str | None, parameters: tuple[float, ...]) -> Patch:
    edits: list[Edit] = [SetAttribute(node=node.name, name="activation", value=word)]
    if parameters or "activation_params" in node.attributes:
        value: Any = parameters or None
        edits.append(SetAttribute(node=node.name, name="activation_params", value=value))
    return Patch(
        summary=message(
            "PATCH.activation_with" if parameters else "PATCH.activation",
            op=node.op,
            node=node.name,
            now=node.attributes.get("activation"),
            right=word or "none",
            parameters=", ".join(f"{each:.6g}" for each in parameters),
        ),
        edits=tuple(edits),
    )
