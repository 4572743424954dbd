"""The same operator with the same weights and another attribute or parameter."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.diagnosis_limits import PARAMETER_NODES, PARAMETER_TRIALS
from isomorph.core.experiments import experiment
from isomorph.core.fault_context import Certainty, Diagnosis, FaultContext, FaultSite
from isomorph.core.messages import message
from isomorph.core.patch import Edit, Patch
from isomorph.diagnose import node_constants, tensor_grids
from isomorph.diagnose.activation_forms import forms, related
from isomorph.diagnose.flattened_softmax import taken_as_one
from isomorph.diagnose.parameter_values import alternatives, shifted_slices
from isomorph.diagnose.parameters import (
    constant_edits,
    current,
    parameter,
    parameter_places,
    shortest_decimal,
)
from isomorph.diagnose.reference_attributes import stated_attributes, stated_inputs
from isomorph.measure.precision import QUANTIZED_OPS
from isomorph.oracle.sizes import rms_and_peak
from isomorph.registry import operator_tables

if TYPE_CHECKING:
    from isomorph.core.model import Node

Change = tuple[str, Any, Any]
"""A parameter, the value it has, and another one."""
Trial = tuple["Node | None", tuple[Change, ...], tuple[Edit, ...]]
"""A node, what is changed of it, and the edits that do it."""

_OF_OTHER_CAUSES = frozenset({"Constant", "Cast", "CastLike"})
"""Operators whose parameters are values or types; other causes examine them."""
_MOVES = frozenset({"Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Gemm", "MatMul",
                    "Conv", "ConvTranspose", "Concat"})  # fmt: skip
"""Operators that move values, by a parameter, by their weights or by the order of their parts."""
# Constants that an operator implies: where it is decomposed, they are stored in the graph.
_WITHIN: dict[str, tuple[float, ...]] = {
    "Gelu": (2**0.5, 0.5**0.5, 0.5, 1.0, (2 / math.pi) ** 0.5, 0.044715, 3.0),
    "HardSwish": (3.0, 6.0, 1 / 6), "HardSigmoid": (3.0, 6.0, 1 / 6), "Mish": (1.0,),
    "Silu": (1.0,), "ReduceL2": (2.0, 0.5), "Sqrt": (0.5,),
}  # fmt: skip
_LEARNED = frozenset({"PRelu"})
"""Operators whose single stored number is a trained weight, not a setting."""
# A weight that is stored transposed is read rightly by the flag beside it.
_READS_WEIGHTS = frozenset({"transA", "transB"})


class Attribute:
    """An attribute, a default of an opset, or a small parameter has another value.

    Recognized by putting the right value in: first what the reference states, through the names
    that both sides have in common, then the few other words, flags, axes and pads that mean
    something. If the node is right then, nothing but this value was wrong. Where the graphs have
    nothing in common, the form that each side computes is recognized by its values.
    """

    name = "attribute"
    sites = frozenset({FaultSite.GRAPH})

    def examine(self, context: FaultContext) -> Iterator[Diagnosis]:
        """Yield a confirmed diagnosis if a value restores the node, else a suspicion."""
        if not context.counterparts or _quantized(context):
            return
        if context.permuted and any(node.op in _MOVES for node in context.nodes):
            return  # values in other places are the layout cause
        found = next(_confirmed(context), None)
        if found is None and not context.permuted:
            found = _flattened(context) or _another_form(context)
        if found is not None:
            yield found
            return
        if context.permuted:
            return
        # For a quantized node that no value restores, its scale and zero point are likelier.
        if tensor_grids.step(context) is not None or node_constants.weights(
            context, node_constants.unmatched(context)
        ):
            return
        yield from _suspected(context)


def _quantized(context: FaultContext) -> bool:
    """A quantizer's parameters have a cause of their own."""
    return any(node.op in QUANTIZED_OPS for node in context.nodes)


def _confirmed(context: FaultContext) -> Iterator[Diagnosis]:
    """Every parameter value that restores the node, the likeliest first."""
    for node, changes, edits in PARAMETER_TRIALS.first(_trials(context)):
        found = context.rehearse(Patch(summary="", edits=edits))
        if found is not None and context.equals(found):
            yield _parameter_diagnosis(context, node, changes)


def _trials(context: FaultContext) -> Iterator[Trial]:
    nodes = [context.node, *(node for node in context.nodes if node.name != context.node.name)]
    # Nodes without parameters do not count.
    nodes = [
        node
        for node in nodes
        if node.op not in _OF_OTHER_CAUSES
        and (node.attributes or parameter_places(context.candidate, node))
    ]
    nodes = list(PARAMETER_NODES.first(nodes))
    for node in nodes:
        stated: dict[str, Any] = {}
        for name, value in (*stated_attributes(context, node), *stated_inputs(context, node)):
            stated.setdefault(name, value)
            now = current(context, node, name)
            yield node, ((name, now, value),), parameter(context, node, name, value)
        if len(stated) > 1:
            yield _together(context, node, stated)
    for node in nodes:
        for name, values in alternatives(context, node, _rank(context, node)).items():
            equal_weights = node_constants.stores_equal_weights(
                context
            ) and not tensor_grids.stored_weights(context)
            if name in _READS_WEIGHTS and not equal_weights:
                continue
            now = current(context, node, name)
            for value in values:
                yield node, ((name, now, value),), parameter(context, node, name, value)
        yield from (_together(context, node, each) for each in shifted_slices(context, node))
    yield from _scalars(context)


def _together(context: FaultContext, node: Node, stated: dict[str, Any]) -> Trial:
    """Several parameters set at once."""
    edits: tuple[Edit, ...] = ()
    for name, value in stated.items():
        edits += parameter(context, node, name, value)
    changes = tuple((name, current(context, node, name), value) for name, value in stated.items())
    return node, changes, edits


def _scalars(context: FaultContext) -> Iterator[Trial]:
    """Single numbers of a spelled-out operator, each with the numbers that the reference has."""
    within = (number for node in context.counterparts for number in _within(context, node.op))
    stated = list(dict.fromkeys((*node_constants.stated(context), *within)))
    for name in node_constants.floats(context.candidate, context.nodes):
        constant = context.candidate.constants[name]
        if constant.values is None or len(constant.values) != 1:
            continue
        now = float(constant.values[0])
        reader = next((each for each in context.nodes if name in each.inputs), None)
        for value in stated:
            if value != now:
                array = np.full(constant.shape, value, np.float64)
                yield reader, ((name, now, value),), constant_edits(context, name, array)


def _parameter_diagnosis(
    context: FaultContext, node: Node | None, changes: Sequence[Change]
) -> Diagnosis:
    number = node is None or changes[0][0] in node.inputs
    owner = "" if node is None or node.name == context.node.name else node.op
    names = ", ".join(name for name, _, _ in changes)
    setting = _setting(changes)
    asked = (
        experiment("attribute.parameter", names=names, setting=setting)
        if node is None
        else experiment("attribute.parameter_of", names=names, node=node.name, setting=setting)
    )
    learned = number and node is not None and node.op in _LEARNED
    return Diagnosis(
        cause="weight" if learned else "attribute",
        certainty=Certainty.CONFIRMED,
        summary=_differing(changes, owner, number=number),
        evidence={"attributes": [list(map(str, each)) for each in changes]},
        experiments=(asked,),
        fix=_setting(changes),
        node=node.name if node is not None else None,
        about=_named_so(context, changes[0][2]) if number else _about(changes),
    )


def _about(changes: Sequence[Change]) -> frozenset[str]:
    """The names of parameters, and the values that are words themselves."""
    words = (value for _, now, right in changes for value in (now, right))
    return frozenset(
        (*(name for name, _, _ in changes), *(each for each in words if isinstance(each, str)))
    )


def _named_so(context: FaultContext, value: Any) -> frozenset[str]:  # noqa: ANN401
    """The parameters of the reference that have the value of a single number."""
    stated = (pair for node in context.counterparts for pair in node.attributes.items())
    return frozenset(
        name for name, each in stated if isinstance(each, (int, float)) and each == value
    )


def _differing(changes: Sequence[Change], owner: str = "", *, number: bool = False) -> str:
    """What is changed; ``owner`` is an operator beside the named one that has the parameter."""
    texts = []
    for name, now, right in changes:
        if isinstance(right, np.ndarray):
            texts.append(message("attribute.array", name=name))
        elif number:
            texts.append(
                message("attribute.number", name=name, now=_shown(now), right=_shown(right))
            )
        elif owner:
            texts.append(
                message(
                    "attribute.value_of", name=name, op=owner, now=_shown(now), right=_shown(right)
                )
            )
        else:
            texts.append(
                message("attribute.value", name=name, now=_shown(now), right=_shown(right))
            )
    return "; ".join(texts)


def _setting(changes: Sequence[Change]) -> str:
    return "; ".join(
        message("FIX.set", name=name, value=_shown(right)) for name, _, right in changes
    )


def _flattened(context: FaultContext) -> Diagnosis | None:
    """One attribute that has meant two things: the axis of Softmax before opset 13 and since."""
    found = taken_as_one(context)
    if found is None:
        return None
    node, axis, flat, experiment = found
    readings = [message("attribute.flat"), message("attribute.alone")]
    cand, ref = readings if flat else reversed(readings)
    return Diagnosis(
        cause="attribute",
        certainty=Certainty.CONFIRMED,
        summary=message("attribute.opset", axis=axis, now=cand, right=ref),
        evidence={"axis": axis, "as_one": flat},
        experiments=(experiment,),
        fix=message("FIX.transpose_axis" if flat else "FIX.flatten_axes", axis=axis, op=node.op),
        about=frozenset({"axis"}),
    )


def _another_form(context: FaultContext) -> Diagnosis | None:
    """Two formulas of one activation, recognized by what each gives for the same input."""
    if any(node.op in _OF_OTHER_CAUSES for node in context.nodes):
        return None
    cand, ref = forms(context)
    if cand is None or ref is None:
        return None
    return Diagnosis(
        # One function in the place of another is an operator that is missing or approximated.
        cause="attribute" if related(cand, ref) else "missing_op",
        certainty=Certainty.CONFIRMED,
        summary=message("attribute.form", now=cand, right=ref),
        evidence={"form": cand.value, "reference_form": ref.value},
        experiments=(experiment("attribute.formula", now=cand, right=ref),),
        fix=message("FIX.formula", formula=ref),
        about=frozenset({cand.name, ref.name}),
    )


def _suspected(context: FaultContext) -> Iterator[Diagnosis]:
    other = _same_operator(context)
    if other is None:
        yield from _decomposed(context)
        return
    node = next(each for each in reversed(context.nodes) if each.op == other.op)
    small = [
        context.candidate.constants[n] for n in node.inputs if n in context.candidate.constants
    ]
    if not node.attributes and all(each.values is None for each in small):
        return  # it has no parameters
    different = [
        (name, current(context, node, name), value)
        # Parameters of a neighbor of the same kind are no evidence about this node.
        for name, value in stated_attributes(replace(context, counterparts=(other,)), node)
        if not _harmless(context, node, name, value)
    ]
    equal_weights = node_constants.stores_equal_weights(context)
    text = message(f"attribute.same_inputs{'_weights' if equal_weights else ''}")
    if different:
        text = message("attribute.suspected", changes=_differing(different))
    yield Diagnosis(
        cause="attribute",
        certainty=Certainty.VISIBLE if different else Certainty.POSSIBLE,
        summary=text,
        evidence={"attributes": [list(map(str, each)) for each in different]},
        fix=_setting(different) or None,
        about=_about(different) | {node.op},
    )


def _harmless(context: FaultContext, node: Node, name: str, value: Any) -> bool:  # noqa: ANN401
    """Whether the reference's value was tried and does not restore the node."""
    found = context.rehearse(Patch(summary="", edits=parameter(context, node, name, value)))
    if found is None:
        return False
    # A value that spoils the shape, or brings nothing nearer, is not what is wrong either.
    if found.shape != context.right.shape:
        return True
    return not rms_and_peak(context.right, found)[0] < rms_and_peak(context.right, context.wrong)[0]


def _same_operator(context: FaultContext) -> Node | None:
    """The counterpart with the operator of one of the faulty nodes."""
    ops = {node.op for node in context.nodes}
    same = [node for node in context.counterparts if node.op in ops]
    return same[-1] if same else None


def _decomposed(context: FaultContext) -> Iterator[Diagnosis]:
    """One side spells out what the other has as one operator: its form or parameter differs."""
    one = context.node if len(context.nodes) == 1 else None
    if one is None and len(context.counterparts) != 1:
        return
    whole = one or context.counterparts[0]
    if whole.op in _OF_OTHER_CAUSES:
        return
    if not whole.attributes and not node_constants.unmatched(context):
        return
    yield Diagnosis(
        cause="attribute",
        certainty=Certainty.POSSIBLE,
        summary=message("attribute.decomposed", op=whole.op),
        evidence={"attributes": {name: str(value) for name, value in whole.attributes.items()}},
        about=frozenset({whole.op, *whole.attributes}),
    )


def _rank(context: FaultContext, node: Node) -> int:
    spec = context.candidate.tensors.get(node.inputs[0]) if node.inputs else None
    return len(spec.shape) if spec is not None and spec.shape is not None else context.right.ndim


def _shown(value: Any) -> str:  # noqa: ANN401
    if value is None:
        return message("attribute.not_given")
    if isinstance(value, (tuple, list)) and len(value) == 1:
        return _shown(value[0])
    if isinstance(value, np.ndarray):
        return message("attribute.reference_value")
    return shortest_decimal(value) if isinstance(value, float) else str(value)


def _within(context: FaultContext, op: str) -> tuple[float, ...]:
    """The constants that appear where an operator of the reference is decomposed."""
    tables = operator_tables(context.reference.framework)
    return _WITHIN.get(op) or tables.implied_constants.get(op, ())
