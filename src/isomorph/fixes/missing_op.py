"""What the reference does and the candidate does not, put back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from isomorph.core.patch import InsertBehind, Patch, RemoveNode, SetInput, SetOp
from isomorph.fixes._counterpart import SAME_MEANING
from isomorph.fixes._edits import fresh

if TYPE_CHECKING:
    from isomorph.core.case import Case
    from isomorph.core.model import Node
    from isomorph.core.report import Finding

# Operators of one input that can be put behind a tensor, with the parameters they may have.
_UNARY: dict[str, tuple[str, ...]] = {
    "Relu": (), "Sigmoid": (), "Tanh": (), "Abs": (), "Neg": (), "Exp": (), "Log": (), "Sqrt": (),
    "Erf": (), "Softplus": (), "Softsign": (), "Floor": (), "Ceil": (), "Round": (), "Not": (),
    "Reciprocal": (), "HardSwish": (), "Mish": (), "Sign": (), "LeakyRelu": ("alpha",),
    "Elu": ("alpha",), "Selu": ("alpha", "gamma"), "HardSigmoid": ("alpha", "beta"),
    "Celu": ("alpha",), "ThresholdedRelu": ("alpha",), "Softmax": ("axis",),
    "LogSoftmax": ("axis",), "Gelu": ("approximate",),
}  # fmt: skip
_OPTIONAL_INPUTS = {"LSTM": range(3, 8), "GRU": range(3, 6), "RNN": range(3, 6)}
_FAMILIES = (
    ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL2"),
    ("AveragePool", "MaxPool"),
    ("GlobalAveragePool", "GlobalMaxPool"),
    ("ArgMax", "ArgMin"),
    ("Add", "Sub", "Mul", "Div"),
    ("Max", "Min"),
    ("And", "Or", "Xor"),
    ("Sin", "Cos"),
)


class MissingOp:
    """A missing input connected, a missing node inserted, a wrong one replaced or taken out."""

    name = "missing_op"

    def propose(self, finding: Finding, case: Case) -> Iterator[Patch]:
        """Connections first, then nodes."""
        for node in case.nodes:
            yield from _connected(case, node)
        yield from _replaced(case)
        yield from _inserted(case)
        for node in case.nodes:
            if node.inputs and node.inputs[0] and len(node.outputs) == 1:
                yield Patch(
                    summary=f"{node.op} {node.name!r} removed", edits=(RemoveNode(node=node.name),)
                )


def _connected(case: Case, node: Node) -> Iterator[Patch]:
    """Tensors that the counterpart reads, on inputs that are empty or read something else."""
    meant = [case.twin(name) for each in case.counterparts for name in each.inputs if name]
    wanted = [name for name in dict.fromkeys(meant) if name and name not in node.inputs]
    slots = _OPTIONAL_INPUTS.get(node.op, range(len(node.inputs)))
    empty = [i for i in slots if i >= len(node.inputs) or not node.inputs[i]]
    taken = [
        i for i, name in enumerate(node.inputs) if name and name not in case.candidate.constants
    ]
    if empty and not wanted:
        wanted = [spec.name for spec in case.candidate.inputs if spec.name not in node.inputs]
    for index in (*empty, *taken):
        for tensor in wanted:
            yield Patch(
                summary=f"{node.op} {node.name!r}: input {index} connected to {tensor!r}",
                edits=(SetInput(node=node.name, index=index, tensor=tensor),),
            )


def _replaced(case: Case) -> Iterator[Patch]:
    """The counterpart's operator, or one of the same family, in the place of the guilty one."""
    ops = [node.op for node in case.counterparts]
    for node in case.nodes:
        family = next((each for each in _FAMILIES if node.op in each), ())
        unary = tuple(op for op in ops if op in _UNARY) if len(node.inputs) == 1 else ()
        same_arity = [op for op in ops if op in family] + [op for op in family if op not in ops]
        for op in dict.fromkeys((*unary, *same_arity)):
            if op == node.op:
                continue
            kept = dict(node.attributes) if op in family else _attributes(case, op)
            yield Patch(
                summary=f"{node.op} {node.name!r} replaced by {op}",
                edits=(SetOp(node=node.name, op=op, attributes=kept),),
            )


def _inserted(case: Case) -> Iterator[Patch]:
    """The counterpart's operators of one input, behind the wrong tensor."""
    here = {node.op for node in case.nodes}
    for counterpart in reversed(case.counterparts):
        if counterpart.op in _UNARY and counterpart.op not in here:
            yield Patch(
                summary=f"{counterpart.op} inserted behind {case.tensor!r}",
                edits=(
                    InsertBehind(
                        tensor=case.tensor,
                        op=counterpart.op,
                        name=fresh(case, f"{case.node.name}_{counterpart.op}"),
                        attributes=_attributes(case, counterpart.op),
                    ),
                ),
            )


def _attributes(case: Case, op: str) -> dict[str, Any]:
    """What the counterpart says of those parameters that the operator has in ONNX."""
    for counterpart in case.counterparts:
        if counterpart.op == op:
            named = {SAME_MEANING.get(k, k): v for k, v in counterpart.attributes.items()}
            return {k: named[k] for k in _UNARY.get(op, ()) if named.get(k) is not None}
    return {}
