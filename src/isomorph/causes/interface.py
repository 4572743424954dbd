"""Inputs or outputs are not where, or not what, a caller of the reference expects."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.experiments import experiment
from isomorph.core.fault_context import Certainty, Diagnosis, FaultContext, FaultSite
from isomorph.core.messages import message
from isomorph.core.report import Fact
from isomorph.match.topology import Topology

if TYPE_CHECKING:
    from isomorph.core.model import Node, TensorSpec


class Interface:
    """Names, order, types or shapes of inputs and outputs that the conversion changed.

    Recognized where an output holds the values of another output of the reference, or where two
    inputs exchanged set the node right. Changes that move no value (a name, a type, an axis that
    is no longer dynamic) are reported without a node.
    """

    name = "interface"
    sites = frozenset({FaultSite.GRAPH})

    def examine(self, context: FaultContext) -> Iterator[Diagnosis]:
        """Outputs that are each other's, inputs that are each other's, inputs of another type."""
        yield from _other_output(context)
        yield from _exchanged_inputs(context)
        yield from _retyped_inputs(context)


def _other_output(context: FaultContext) -> Iterator[Diagnosis]:
    if context.tensor not in {spec.name for spec in context.candidate.outputs}:
        return
    for spec in context.reference.outputs:
        value = context.value(context.reference, spec.name)
        if (
            value is None
            or value.shape != context.wrong.shape
            or np.array_equal(value, context.right)
        ):
            continue
        # What is equal to another output bit for bit in float64 was not computed wrongly.
        if np.array_equal(value, context.wrong):
            yield Diagnosis(
                cause="interface",
                certainty=Certainty.CONFIRMED,
                summary=message("interface.other_output", output=context.tensor, right=spec.name),
                evidence={"output": context.tensor, Fact.REFERENCE_OUTPUT: spec.name},
                experiments=(
                    experiment("interface.other_output", output=context.tensor, right=spec.name),
                ),
                fix=message("FIX.order_outputs"),
            )
            return


def _exchanged_inputs(context: FaultContext) -> Iterator[Diagnosis]:
    topology = Topology(context.candidate)
    for one, other in combinations(context.candidate.inputs, 2):
        reading = [n for spec in (one, other) for n in topology.readers.get(spec.name, ())]
        # Where one node reads both, its operands are exchanged: a matter of layout.
        if not _interchangeable(one, other) or len({node.name for node in reading}) < 2:
            continue
        ref, cand = (context.value(context.candidate, spec.name) for spec in (one, other))
        if ref is None or cand is None or np.array_equal(ref, cand):
            continue
        if not context.restores({one.name: cand, other.name: ref}):
            continue
        yield Diagnosis(
            cause="interface",
            certainty=Certainty.CONFIRMED,
            summary=message("interface.exchanged_inputs", one=one.name, other=other.name),
            evidence={"inputs": [one.name, other.name]},
            experiments=(experiment("interface.inputs", one=one.name, other=other.name),),
            fix=message("FIX.bind_inputs", one=one.name, other=other.name),
            node=next((n.name for n in reading if context.tensor in _made(topology, n)), None),
        )
        return


def _made(topology: Topology, node: Node) -> set[str]:
    """What a node makes, and what is made of that."""
    return {*node.outputs, *topology.below(node.outputs)}


def _retyped_inputs(context: FaultContext) -> Iterator[Diagnosis]:
    """An input that the node reads is declared in a type that cannot hold the reference's."""
    topology = Topology(context.candidate)
    read = {name for node in context.nodes for name in topology.sources(node)}
    ref_types = [spec.dtype for spec in context.reference.inputs]
    if len(ref_types) != len(context.candidate.inputs):
        return
    for spec, declared in zip(context.candidate.inputs, ref_types, strict=True):
        if spec.name in read and declared and spec.dtype and not _holds(spec.dtype, declared):
            yield Diagnosis(
                cause="interface",
                certainty=Certainty.POSSIBLE,
                summary=message(
                    "interface.retyped_input", input=spec.name, was=declared, now=spec.dtype
                ),
                evidence={"input": spec.name, "was": declared, "is": spec.dtype},
                fix=message("FIX.input_type", dtype=declared),
            )


def _interchangeable(one: TensorSpec, other: TensorSpec) -> bool:
    return one.dtype == other.dtype and one.shape == other.shape


def _holds(dtype: str, other: str) -> bool:
    try:
        return bool(np.can_cast(np.dtype(other), np.dtype(dtype), casting="safe"))
    except TypeError:
        return dtype == other
