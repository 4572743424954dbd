"""Replace a faulty operator by the function that the reference computes there.

The reference may spell a function out in several nodes, and the candidate have one for it; or it
has an operator of two operands where the candidate has another of two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from isomorph.core.messages import message
from isomorph.core.patch import Patch, SetOp
from isomorph.diagnose.activation_forms import Form, forms

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Node

# A function that is recognized by its values, as one operator.
_AS_ONE: Mapping[Form, tuple[str, Mapping[str, Any]]] = {
    Form.GELU_ERF: ("Gelu", {}),
    Form.GELU_TANH: ("Gelu", {"approximate": "tanh"}),
    Form.HARD_SWISH: ("HardSwish", {}), Form.SIGMOID: ("Sigmoid", {}), Form.TANH: ("Tanh", {}),
    Form.HARD_SIGMOID_SIXTH: ("HardSigmoid", {"alpha": 1.0 / 6.0, "beta": 0.5}),
    Form.HARD_SIGMOID_FIFTH: ("HardSigmoid", {"alpha": 0.2, "beta": 0.5}),
    Form.RELU: ("Relu", {}), Form.ELU: ("Elu", {}), Form.SELU: ("Selu", {}),
    Form.SOFTPLUS: ("Softplus", {}), Form.SOFTSIGN: ("Softsign", {}), Form.MISH: ("Mish", {}),
}  # fmt: skip
_OF_TWO = frozenset({
    "Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "Mod", "FloorDiv", "SquaredDifference",
    "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal",
})  # fmt: skip
_TWO = 2


def other_operators(context: FaultContext) -> Iterator[Patch]:
    """The single faulty node as another operator on the same operands."""
    if len(context.nodes) != 1:
        return
    node = context.nodes[0]
    live = [name for name in node.inputs if name and name not in context.candidate.constants]
    if len(node.inputs) == len(live) == 1:
        _, form = forms(context)
        op, attributes = (node.op, {}) if form is None else _AS_ONE.get(form, (node.op, {}))
        if op != node.op:
            yield _replaced(node, op, attributes)
    if len(node.inputs) == _TWO and node.op in _OF_TWO:
        binary = (each.op for each in context.counterparts if len(each.inputs) == _TWO)
        for op in dict.fromkeys(each for each in binary if each in _OF_TWO and each != node.op):
            yield _replaced(node, op, {})


def floored(context: FaultContext) -> Iterator[Patch]:
    """A division of whole numbers that rounds down, where the framework has it as an operator."""
    for node in context.nodes:
        if node.op == "Div" and len(node.inputs) == _TWO:
            yield _replaced(node, "FloorDiv", {})


def _replaced(node: Node, op: str, attributes: Mapping[str, Any]) -> Patch:
    return Patch(
        summary=message("PATCH.replace", op=node.op, node=node.name, right=op),
        edits=(SetOp(node=node.name, op=op, attributes=attributes),),
    )
