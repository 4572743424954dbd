"""The right values stand in the wrong places."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, permutations, product
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.diagnosis_limits import INPUT_ORDERS
from isomorph.core.experiments import experiment
from isomorph.core.fault_context import Certainty, Diagnosis, FaultContext, FaultSite
from isomorph.core.limits import AXIS_ORDERS
from isomorph.core.messages import message
from isomorph.core.patch import Patch, SetInput
from isomorph.diagnose import node_constants
from isomorph.diagnose.operand_swaps import exchanges, outputs_exchanged
from isomorph.match.topology import Topology

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.trace import Array

_ORDERED = frozenset(
    {"Sub", "Div", "MatMul", "Pow", "Mod", "Less", "Greater", "LessOrEqual", "GreaterOrEqual",
     "BitShift", "Concat", "Einsum"}
)  # fmt: skip
_KNOWN_BY_PLACE = 3
"""Operators of so many inputs know each by its place; of two, only those above do."""


class Layout:
    """A transpose that is missing, extra or wrong; operands or parts in another order.

    Recognized by the values themselves: all of them are there, as the reference has them, but
    not in the same places; or by exchanging the operands, or letting one of them be read where
    the reference reads it, after which the node is right.
    """

    name = "layout"
    sites = frozenset({FaultSite.GRAPH})

    def examine(self, context: FaultContext) -> Iterator[Diagnosis]:
        """Operands that were exchanged or come from elsewhere; then values that only moved."""
        found = (
            next(_exchanged(context), None)
            or next(_outputs_exchanged(context), None)
            or next(_misread(context), None)
        )
        if found is not None:
            yield found
        elif context.permuted:
            yield _moved(context)


def _moved(context: FaultContext) -> Diagnosis:
    """How the axes have to be put back, where that is all that it takes."""
    order = _order_of_axes(context)
    return Diagnosis(
        cause="layout",
        # Permuted weights move values too, and are the better diagnosis if they restore the node.
        certainty=Certainty.CONFIRMED
        if node_constants.stores_equal_weights(context)
        else Certainty.VISIBLE,
        summary=message("layout.moved") if order is None else message("layout.axes", order=order),
        evidence={"axes": list(order)} if order is not None else {},
        experiments=(experiment("layout.order", tensor=context.tensor),),
        fix=message("FIX.axes"),
    )


def _order_of_axes(context: FaultContext) -> tuple[int, ...] | None:
    """The transposition of the candidate's axes, sizes as they should be, that is right."""
    for sizes in (context.wrong.shape, context.right.shape):
        if int(np.prod(sizes)) != context.wrong.size:
            continue
        wrong = context.wrong.reshape(sizes)
        for order in islice(AXIS_ORDERS.first(permutations(range(wrong.ndim))), 1, None):
            moved = np.transpose(wrong, order)
            if moved.size == context.right.size and context.equals(
                moved.reshape(context.right.shape)
            ):
                return order
    return None


def _exchanged(context: FaultContext) -> Iterator[Diagnosis]:
    """Each other order of the operands; for few nodes this is one other order."""
    for node in context.nodes:
        if len(node.inputs) < 2 or all(each.op != node.op for each in context.counterparts):
            continue
        orders = exchanges(context.candidate, node)
        if node.op in _ORDERED:
            orders = islice(permutations(node.inputs), 1, None)
        elif len(node.inputs) < _KNOWN_BY_PLACE:
            continue
        for order in INPUT_ORDERS.first(orders):
            found = _rehearsed(context, node, order)
            if order != node.inputs and found is not None and context.equals(found):
                yield _diagnosis(node, order)
                return


def _outputs_exchanged(context: FaultContext) -> Iterator[Diagnosis]:
    """Two outputs of one node, each read where the reference reads the other."""
    for node in (*context.nodes, *_read_amiss(context)):
        for (left, right), edits in INPUT_ORDERS.first(outputs_exchanged(context.candidate, node)):
            if context.tensor in (node.outputs[left], node.outputs[right]):
                # It is the tensor itself that holds the other's values.
                other = left if context.tensor == node.outputs[right] else right
                found = context.value(context.candidate, node.outputs[other])
            else:
                found = context.rehearse(Patch(summary="", edits=edits))
            if found is not None and context.equals(found):
                yield Diagnosis(
                    cause="layout",
                    certainty=Certainty.CONFIRMED,
                    summary=message("layout.outputs", one=left, other=right, op=node.op),
                    evidence={"outputs": [left, right]},
                    experiments=(
                        experiment("layout.outputs", one=left, other=right, node=node.name),
                    ),
                    fix=message("FIX.outputs", one=left, other=right, node=node.name),
                    node=node.name,
                )
                return


def _read_amiss(context: FaultContext) -> Iterator[Node]:
    """Nodes of several outputs before the faulty ones, if every reader of these is wrong."""
    topology = Topology(context.candidate)
    right = {context.matching_tensor(name) for name in context.reference.tensors}
    read = dict.fromkeys(name for node in context.nodes for name in topology.sources(node))
    for maker in (topology.maker[name] for name in read if name in topology.maker):
        readers = [node for name in maker.outputs for node in topology.readers.get(name, ())]
        if len(maker.outputs) > 1 and right.isdisjoint(n for node in readers for n in node.outputs):
            yield maker


def _misread(context: FaultContext) -> Iterator[Diagnosis]:
    """An operand that is taken from another tensor than the reference takes it from."""
    # To read past one of the nodes in question would take it out, not read elsewhere.
    own = {name for node in context.nodes for name in node.outputs}
    outside = Topology(context.candidate).live - own
    for node in context.nodes:
        same = [each for each in context.counterparts if each.op == node.op]
        matching = [context.matching_tensor(name) for each in same for name in each.inputs if name]
        unread = [name for name in dict.fromkeys(matching) if name and name not in node.inputs]
        # A constant here that the reference computes was frozen: the shape cause.
        live = [i for i, n in enumerate(node.inputs) if n in outside]
        for place, tensor in INPUT_ORDERS.first(product(live, unread)):
            edit = SetInput(node=node.name, index=place, tensor=tensor)
            found = context.rehearse(Patch(summary="", edits=(edit,)))
            if found is not None and context.equals(found):
                yield _from_elsewhere(node, place, tensor)
                return


def _from_elsewhere(node: Node, place: int, tensor: str) -> Diagnosis:
    return Diagnosis(
        cause="layout",
        certainty=Certainty.CONFIRMED,
        summary=message(
            "layout.misread", place=place, op=node.op, now=node.inputs[place], right=tensor
        ),
        evidence={"input": place, "reads": node.inputs[place], "should_read": tensor},
        experiments=(experiment("layout.input", node=node.name, tensor=tensor),),
        fix=message("FIX.read", place=place, tensor=tensor),
        node=node.name,
    )


def _rehearsed(context: FaultContext, node: Node, order: tuple[str, ...]) -> Array | None:
    edits = tuple(
        SetInput(node=node.name, index=place, tensor=name)
        for place, name in enumerate(order)
        if name != node.inputs[place]
    )
    found = context.rehearse(Patch(summary="", edits=edits))
    if found is not None or node.op not in {"Sub", "Div"} or len(context.nodes) != 1:
        return found
    # Where no patch can be tried, the two arithmetics have a short way.
    with np.errstate(all="ignore"):
        return -context.wrong if node.op == "Sub" else np.asarray(1.0 / context.wrong)


def _diagnosis(node: Node, order: tuple[str, ...]) -> Diagnosis:
    parts = "parts" if node.op == "Concat" else "operands"
    moved = sum(now != then for now, then in zip(node.inputs, order, strict=True))
    whole = node.op == "Concat" and len(order) > moved
    swapped = moved == 2 and not whole
    arrangement = message("layout.swapped" if swapped else "layout.other_order")
    return Diagnosis(
        cause="layout",
        certainty=Certainty.CONFIRMED,
        summary=message("layout.operands", parts=parts, op=node.op, arrangement=arrangement),
        evidence={"order": list(order)},
        experiments=(
            experiment(
                "layout.operands",
                parts=parts,
                node=node.name,
                arrangement=arrangement,
                names=", ".join(order),
            ),
        ),
        fix=message("FIX.operands", parts=parts, names=", ".join(order)),
        node=node.name,
    )
