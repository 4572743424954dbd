"""What the reference does and the candidate does not, put back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isomorph.core.messages import message
from isomorph.core.patch import (
    InsertAhead,
    InsertBehind,
    Patch,
    RemoveNode,
    SetOp,
)
from isomorph.core.report import Fact
from isomorph.diagnose.missing_inputs import QUANTIZERS, connections
from isomorph.diagnose.parameters import unused_name
from isomorph.fixes._operands import Operands, operands
from isomorph.fixes._other_operator import other_operators
from isomorph.fixes._unseen_rows import filled_with_infinity
from isomorph.match.attributes import SAME_MEANING
from isomorph.registry import operator_tables

if TYPE_CHECKING:
    from isomorph.core.fault_context import FaultContext
    from isomorph.core.model import Node
    from isomorph.core.report import Finding

# Operators of one input that can be put behind a tensor, with the parameters they may have.
_UNARY: dict[str, tuple[str, ...]] = {
    "Relu": (), "Sigmoid": (), "Tanh": (), "Abs": (), "Neg": (), "Exp": (), "Log": (), "Sqrt": (),
    "Erf": (), "Softplus": (), "Softsign": (), "Floor": (), "Ceil": (), "Round": (), "Not": (),
    "Reciprocal": (), "HardSwish": (), "Mish": (), "Sign": (), "Sin": (), "Cos": (), "Atan": (),
    "LeakyRelu": ("alpha",),
    "Elu": ("alpha",), "Selu": ("alpha", "gamma"), "HardSigmoid": ("alpha", "beta"),
    "Celu": ("alpha",), "ThresholdedRelu": ("alpha",), "Softmax": ("axis",),
    "LogSoftmax": ("axis",), "Gelu": ("approximate",),
}  # fmt: skip
# Defaults of other frameworks that differ from those of ONNX.
_ELSEWHERE = {"HardSigmoid": {"alpha": 1 / 6, "beta": 0.5}}
# What an operator does within, and what may be left out where it is spelled out.
_WITHIN = {
    "ReduceL2": ("Sqrt",),
    "ReduceLogSumExp": ("Log", "Exp"), "LogSoftmax": ("Log",), "Silu": ("Sigmoid",),
    "Gelu": ("Erf", "Tanh"), "Sigmoid": ("Exp",),
    "Mish": ("Tanh", "Softplus"), "Softplus": ("Log", "Exp"),
}  # fmt: skip
_MASK = 3
"""Which input of an attention is added to its scores."""
_FAMILIES = (
    ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceL1",
     "ReduceSumSquare", "ReduceProd", "ReduceLogSumExp", "ReduceLogSum"),
    ("AveragePool", "MaxPool"),
    ("GlobalAveragePool", "GlobalMaxPool"),
    ("ArgMax", "ArgMin"),
    ("Add", "Sub", "Mul", "Div"),
    ("Max", "Min"),
    ("And", "Or", "Xor"),
    ("Sin", "Cos"),
)  # fmt: skip

_ALONE = {"AveragePool": ("count_include_pad",), "MaxPool": ("dilations", "storage_order")}
"""What only one operator of a family has a word for."""


class MissingOp:
    """A missing input connected, a missing node inserted, a wrong one replaced or taken out."""

    name = "missing_op"
    changes_nodes = True

    def propose(self, finding: Finding, context: FaultContext) -> Iterator[Patch]:
        """Connections first, then nodes."""
        yield from filled_with_infinity(context)
        for node in context.nodes:
            yield from connections(context, node)
        yield from _replaced(context, (finding.fact(Fact.OPERATORS) or ()))
        yield from other_operators(context)
        yield from _inserted(context)
        for node in context.nodes:
            # Without its quantizers a model would agree, and be another model.
            kept = node.op in QUANTIZERS
            if node.inputs and node.inputs[0] and len(node.outputs) == 1 and not kept:
                yield Patch(
                    summary=message("PATCH.remove", op=node.op, node=node.name),
                    edits=(RemoveNode(node=node.name),),
                )


def _replaced(context: FaultContext, named: Sequence[str]) -> Iterator[Patch]:
    """The counterpart's operator, or one of the same family, in place of the faulty one."""
    ops = [*named, *(node.op for node in context.counterparts)]
    for node in context.nodes:
        family = next((each for each in _FAMILIES if node.op in each), ())
        unary = tuple(op for op in ops if op in _UNARY) if len(node.inputs) == 1 else ()
        same_arity = [op for op in ops if op in family] + [op for op in family if op not in ops]
        for op in dict.fromkeys((*unary, *same_arity)):
            if op == node.op:
                continue
            alone = _ALONE.get(node.op, ())
            same = {k: v for k, v in node.attributes.items() if k not in alone}
            kept = same if op in family else _attributes(context, op)
            yield Patch(
                summary=message("PATCH.replace", op=node.op, node=node.name, right=op),
                edits=(SetOp(node=node.name, op=op, attributes=kept),),
            )


def _inserted(context: FaultContext) -> Iterator[Patch]:
    """The counterpart's operators that the candidate lacks, after the wrong tensor or before it."""
    here = {node.op for node in context.nodes}
    for counterpart in (*reversed(context.counterparts), *_masks(context)):
        if counterpart.op in here and len(context.counterparts) <= len(context.nodes):
            continue
        name = unused_name(context, f"{context.node.name}_{counterpart.op}")
        unary = [Operands(reads=("",))] if counterpart.op in _UNARY else []
        for read in (*unary, *operands(context, counterpart, name)):
            yield from _put_in(context, counterpart.op, name, read)
    for op in (each for node in context.counterparts for each in _within(context, node.op)):
        if op not in here:
            yield from _put_in(
                context,
                op,
                unused_name(context, f"{context.node.name}_{op}"),
                Operands(reads=("",)),
            )


def _put_in(context: FaultContext, op: str, name: str, read: Operands) -> Iterator[Patch]:
    """One operator after the wrong tensor, then before each input of the faulty nodes."""
    stated = _attributes(context, op)
    behind = InsertBehind(
        tensor=context.tensor, op=op, name=name, inputs=read.reads, attributes=stated
    )
    yield Patch(
        summary=message("PATCH.insert_after", op=op, tensor=context.tensor),
        edits=(*read.before, behind, *read.after),
    )
    for node, place in _live_inputs(context):
        ahead = InsertAhead(
            node=node.name, index=place, op=op, name=name, inputs=read.reads, attributes=stated
        )
        yield Patch(
            summary=message("PATCH.insert_before_input", op=op, place=place, node=node.name),
            edits=(*read.before, ahead, *read.after),
        )


def _masks(context: FaultContext) -> Iterator[Node]:
    """The mask that an attention adds to its scores, as the addition that it is."""
    for node in context.counterparts:
        if node.op == "Attention" and len(node.inputs) > _MASK and node.inputs[_MASK]:
            yield replace(node, op="Add", native_op="Add", inputs=("", node.inputs[_MASK]))


def _live_inputs(context: FaultContext) -> Iterator[tuple[Node, int]]:
    for node in context.nodes:
        for place, name in enumerate(node.inputs):
            if name and name not in context.candidate.constants:
                yield node, place


def _attributes(context: FaultContext, op: str) -> dict[str, Any]:
    """The counterpart's values of the parameters that the operator has in ONNX."""
    for counterpart in context.counterparts:
        if counterpart.op == op:
            elsewhere = _ELSEWHERE.get(op, {}) if counterpart.native_op != op else {}
            stated = {SAME_MEANING.get(k, k): v for k, v in counterpart.attributes.items()}
            named = {**elsewhere, **stated}
            known = _UNARY.get(op, ("epsilon",) if op.endswith("Normalization") else ())
            return {k: named[k] for k in known if named.get(k) is not None}
    return {}


def _within(context: FaultContext, op: str) -> tuple[str, ...]:
    """The operators that appear where an operator of the reference is decomposed."""
    tables = operator_tables(context.reference.framework)
    return _WITHIN.get(op) or tables.implied_operators.get(op, ())
