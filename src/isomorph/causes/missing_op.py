"""An operation of the reference is missing in the candidate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.diagnosis_limits import CONNECTIONS
from isomorph.core.experiments import experiment
from isomorph.core.fault_context import Certainty, Diagnosis, FaultContext, FaultSite
from isomorph.core.messages import message
from isomorph.core.ops import BUILT_IN, FUSED, RESHAPES
from isomorph.core.patch import Patch, SetOp
from isomorph.core.report import Experiment, Fact
from isomorph.diagnose import node_constants, tensor_grids
from isomorph.diagnose.added_nodes import added_nodes
from isomorph.diagnose.hidden_rows import hidden_rows
from isomorph.diagnose.missing_inputs import OPTIONAL_INPUTS, connections
from isomorph.match.quantizers import float_operator
from isomorph.match.topology import Topology
from isomorph.oracle.sizes import rms_and_peak

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node

_LINEAR = frozenset({"Conv", "ConvTranspose", "Gemm"})
"""These add a bias themselves if they are given one."""
_SCALES = frozenset({"Mul", "Div", "Sub", "BatchNormalization"})
"""What a converter works into weights where the other operand is fixed."""
_FUNCTIONS = ("Relu", "Sigmoid", "Tanh", "Softplus", "Exp", "Sin", "Cos", "Abs", "Neg")
"""Operators of one input without parameters."""
_ACTIVATIONS = frozenset(
    {*_FUNCTIONS, "HardSigmoid", "Softsign", "Erf", "Elu", "LeakyRelu", "Selu"}
)
"""What one of them may have been taken for."""
_PASSING_ON = RESHAPES | {"Cast", "CastLike", "Transpose"}
_JOINING = frozenset({"Concat", "Expand", "Tile"})
_MASK = 3
"""Which input of an attention is added to its scores."""


class MissingOp:
    """A node or an input of a node is missing, custom, unsupported or approximated.

    Recognized where the candidate's node reads fewer tensors that depend on the inputs than its
    counterpart, where the reference has an operator that nothing in the candidate does, or where
    the candidate changes a tensor that the reference uses as it is.
    """

    name = "missing_op"
    sites = frozenset({FaultSite.GRAPH})

    def examine(self, context: FaultContext) -> Iterator[Diagnosis]:
        """Count what goes in; then look for operators without a counterpart."""
        unseen = hidden_rows(context)
        if unseen is not None:
            yield unseen
            return
        fewer = _live_inputs(context, of_candidate=False) - _live_inputs(context, of_candidate=True)
        missing = _missing_input(context, fewer) if fewer > 0 else None
        if missing is not None:
            yield missing
            if missing.certainty > Certainty.POSSIBLE:
                return
        if _unmasked(context):
            yield Diagnosis(
                cause="missing_op",
                certainty=Certainty.VISIBLE,
                summary=message("missing_op.mask"),
                evidence={Fact.OPERATORS: ["Add"]},
                fix=message("FIX.mask"),
            )
        added = added_nodes(context)
        if added is not None:
            yield added
            return
        replaced = next(_replaced(context), None)
        if replaced is not None:
            yield replaced
            return
        absent = _absent(context)
        if absent:
            yield from _missing_operator(context, absent, fewer)


def _missing_input(context: FaultContext, fewer: int) -> Diagnosis | None:
    """The diagnosis for a node that has fewer inputs, or an empty one; None for any other."""
    lost = [name for name in context.node.inputs if not name]
    same = [each for each in context.counterparts if each.op == context.node.op]
    if not lost and not any(len(each.inputs) > len(context.node.inputs) for each in same):
        return None
    experiment = _reconnected(context)
    visible = bool(lost) or context.node.op in OPTIONAL_INPUTS
    certainty = Certainty.VISIBLE if visible else Certainty.POSSIBLE
    return Diagnosis(
        cause="missing_op",
        certainty=Certainty.CONFIRMED if experiment is not None else certainty,
        summary=message("missing_op.inputs", op=context.node.op, count=fewer),
        experiments=(experiment,) if experiment is not None else (),
        fix=message("FIX.connect"),
    )


def _missing_operator(
    context: FaultContext, absent: Sequence[Node], fewer: int
) -> Iterator[Diagnosis]:
    """Diagnoses for operators of the reference that nothing in the candidate does."""
    experiment = _done_for_it(context, absent)
    if experiment is None and node_constants.weights(context, node_constants.unmatched(context)):
        return  # weights that the reference does not hold are folded or wrong, not missing
    bias = _bias(context, absent[0]) if experiment is not None else None
    if bias is not None:
        yield Diagnosis(
            cause="weight",
            certainty=Certainty.CONFIRMED,
            summary=message("weight.bias_dropped", bias=bias),
            evidence={"reference_constant": bias, "difference": "dropped"},
            experiments=(experiment,) if experiment is not None else (),
            fix=message("FIX.add_bias", bias=bias),
        )
        return
    if experiment is None and _in_its_place(context, absent):
        yield Diagnosis(
            cause="missing_op",
            certainty=Certainty.VISIBLE,
            summary=message("missing_op.instead", op=context.node.op, right=absent[0].op),
            evidence={Fact.OPERATORS: [node.op for node in absent]},
            fix=message("FIX.replace", op=context.node.op, right=absent[0].op),
        )
    elif experiment is not None or len(context.counterparts) > len(context.nodes):
        yield Diagnosis(
            cause="missing_op",
            certainty=max(_certainty(absent[0], experiment), _only_passed_on(context, absent)),
            summary=message("missing_op.absent", op=absent[0].op),
            evidence={Fact.OPERATORS: [node.op for node in absent]},
            experiments=(experiment,) if experiment is not None else (),
            fix=message("FIX.put_back", op=absent[0].op),
            node=_reader(context, absent[0]),
        )
    elif fewer > 0:
        unread = ", ".join(map(repr, _unread(context))) or message("missing_op.unknown_tensor")
        yield Diagnosis(
            cause="missing_op",
            certainty=Certainty.POSSIBLE,
            summary=message("missing_op.unread", unread=unread),
            evidence={"unread": list(_unread(context))},
            fix=message("FIX.read_also", tensors=unread),
        )


def _reconnected(context: FaultContext) -> Experiment | None:
    """The missing input connected, if that makes the result right."""
    for patch in CONNECTIONS.first(connections(context, context.node)):
        found = context.rehearse(patch)
        if found is not None and context.equals(found):
            return experiment("missing_op.connected", patch=patch.summary)
    return None


def _unmasked(context: FaultContext) -> bool:
    """Whether an attention hides something in the reference, and here nothing could hide it."""
    hidden = any(
        node.op == "Attention"
        and (node.attributes.get("is_causal") or any(node.inputs[_MASK : _MASK + 1]))
        for node in context.counterparts
    )
    ops = {node.op for node in context.nodes}
    return hidden and "Softmax" in ops and not ops & {"Add", "Sub", "Where", "Attention"}


def _unread(context: FaultContext) -> Iterator[str]:
    """What goes into the counterparts and is here as well, but does not go into the nodes."""
    cand, ref = Topology(context.candidate), Topology(context.reference)
    read = {name for node in context.nodes for name in cand.sources(node)}
    made = {name for node in context.counterparts for name in node.outputs}
    sources = [name for node in context.counterparts for name in ref.sources(node)]
    for name in dict.fromkeys(sources):
        matched = context.matching_tensor(name) if name not in made else None
        if matched is not None and matched not in read:
            # What is read after a mere change of shape is read.
            passed = {n for node in cand.readers.get(matched, ()) for n in node.outputs}
            if not passed & read:
                yield name


def _replaced(context: FaultContext) -> Iterator[Diagnosis]:
    """One function in the place of another, where the reference has all of it as one operator."""
    ref_ops = {node.op for node in context.counterparts}
    inner = [n for n in context.nodes if n.op in _ACTIVATIONS and n.op not in ref_ops]
    for node in inner if len(context.nodes) > 1 else ():
        for op in (each for each in _FUNCTIONS if each != node.op):
            found = context.rehearse(Patch(summary="", edits=(SetOp(node=node.name, op=op),)))
            if found is None or not context.equals(found):
                continue
            yield Diagnosis(
                cause="missing_op",
                certainty=Certainty.CONFIRMED,
                summary=message("missing_op.instead", op=node.op, right=op),
                evidence={Fact.OPERATORS: [op]},
                experiments=(experiment("missing_op.operator", node=node.name, op=op),),
                fix=message("FIX.replace", op=node.op, right=op),
                node=node.name,
            )
            return


def _certainty(absent: Node, experiment: Experiment | None) -> Certainty:
    """Whether a rounding is missing before a cast and the dtype cause has a diagnosis."""
    if experiment is None:
        return Certainty.POSSIBLE
    types = absent.op in {"Round", "Floor", "Ceil", "Cast"}
    return Certainty.VISIBLE if types else Certainty.CONFIRMED


def _only_passed_on(context: FaultContext, absent: Sequence[Node]) -> Certainty:
    """Nodes that only pass values on make no other values: what computes them is missing."""
    passing = all(node.op in _PASSING_ON | _JOINING for node in context.nodes)
    computing = any(node.op not in _PASSING_ON for node in absent)
    seen = passing and computing and not context.permuted
    return Certainty.VISIBLE if seen else Certainty.REFUTED


def _reader(context: FaultContext, absent: Node) -> str | None:
    """The node that reads what should have gone into the absent operator: here, or passed on."""
    here = next(
        (
            context.matching_tensor(name)
            for name in absent.inputs
            if name and context.matching_tensor(name)
        ),
        None,
    )
    if here is None:
        return None
    topology = Topology(context.candidate)
    own = {node.name for node in context.nodes}
    readers = topology.readers.get(here, [])
    found = [n for n in readers if n.name in own] or [n for n in readers if n.op in _PASSING_ON]
    for node in found:
        if context.tensor in {*node.outputs, *topology.below(node.outputs)}:
            return node.name
    return None


def _in_its_place(context: FaultContext, absent: Sequence[Node]) -> bool:
    """Whether one node stands for one other, and reads as much of the data as that does."""
    alone = len(context.nodes) == len(context.counterparts) == len(absent) == 1
    return alone and _live_inputs(context, of_candidate=True) == _live_inputs(
        context, of_candidate=False
    )


def _bias(context: FaultContext, absent: Node) -> str | None:
    """The constant along one axis that the absent operator adds."""
    if absent.op not in {"Add", "BiasAdd"}:
        return None
    for name in node_constants.floats(context.reference, [absent]):
        if sum(size > 1 for size in context.reference.constants[name].shape) == 1:
            return name
    return None


def _absent(context: FaultContext) -> list[Node]:
    """The counterparts whose operator none of the faulty nodes has; constants do not count."""
    here = {node.op for node in context.nodes}
    here |= {float_operator(op) for op in here}
    here |= {BUILT_IN.get(str(n.attributes.get(FUSED)), "") for n in context.nodes}
    topology = Topology(context.reference)
    biased = any(node.op in _LINEAR and len(node.inputs) > 2 for node in context.nodes)
    # Integers never hold the reference's weights as they are: a scale may have gone into them.
    scaled = biased and bool(tensor_grids.stored_weights(context))

    def done(node: Node) -> bool:
        steady = len(topology.sources(node)) == 1
        added = node.op in {"Add", "BiasAdd"} and steady
        return node.op in here or (biased and added) or (scaled and node.op in _SCALES and steady)

    absent = [
        node
        for node in context.counterparts
        if set(node.outputs) & topology.live and not done(node)
    ]
    # What passes values on may be among the nodes before: it is missed least.
    return sorted(absent, key=lambda node: node.op in _PASSING_ON)


def _done_for_it(context: FaultContext, absent: Sequence[Node]) -> Experiment | None:
    """Feed the faulty nodes with the results of the absent operators, and compare."""
    topology = Topology(context.candidate)
    own = {name for node in context.nodes for name in node.outputs}
    sources = {name for node in context.nodes for name in topology.sources(node)} - own
    if all(node.op in _PASSING_ON for node in context.nodes):
        sources = set()  # whatever goes in comes out: that it does proves nothing
    for node in absent:
        made = context.value(context.reference, node.outputs[0])
        if made is None or context.equals(made):
            continue  # the result itself put in and passed on, as by a rounding, is no proof
        for source in sources:
            value = context.value(context.candidate, source)
            if value is None or made.shape != value.shape:
                continue
            if context.restores({source: made.astype(value.dtype)}):
                return experiment("missing_op.fed", right=node.outputs[0], tensor=source)
    last = absent[-1]
    before = context.value(context.reference, next((n for n in last.inputs if n), ""))
    made_last = context.tensor and last is context.counterparts[-1]
    if made_last and before is not None and before.shape == context.wrong.shape:
        gap, size = (
            rms_and_peak(before, context.wrong)[0],
            rms_and_peak(before, np.zeros_like(before))[0],
        )
        # What float32 keeps of a number: nothing else lies between the two.
        if gap <= 8.0 * float(np.finfo(np.float32).eps) * size:
            return experiment("missing_op.compared", node=last.name)
    return None


def _live_inputs(context: FaultContext, *, of_candidate: bool) -> int:
    """How many tensors that depend on the model's inputs go into the nodes in question."""
    graph, nodes = (
        (context.candidate, context.nodes)
        if of_candidate
        else (context.reference, context.counterparts)
    )
    topology = Topology(graph)
    own = {name for node in nodes for name in node.outputs}
    read = {name for node in nodes for name in topology.sources(node)} - own
    return sum(not _size(graph, name) for name in read)


def _size(graph: Graph, name: str) -> bool:
    """Whether a tensor is a whole number or a few: a shape, which others keep as a parameter."""
    spec = graph.tensors.get(name)
    if spec is None or spec.shape is None or spec.dtype is None:
        return False
    return spec.dtype.startswith(("int", "uint")) and len(spec.shape) <= 1
