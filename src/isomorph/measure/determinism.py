"""Whether a model returns the same outputs twice; one that does not cannot be judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isomorph.core.errors import IsomorphError
from isomorph.core.messages import message
from isomorph.core.ops import RANDOM
from isomorph.core.report import Finding, FindingEffect, FindingStatus
from isomorph.measure.budget_check import explained_by_rounding
from isomorph.measure.distance import differs
from isomorph.measure.pair_evidence import execution_spread
from isomorph.measure.spread import FALSE_ALARM

if TYPE_CHECKING:
    from isomorph.core.model import Graph
    from isomorph.measure.evaluated_model import EvaluatedModel


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRepeated:
    """The outputs that differ in a second run; ``rounding_only``: by no more than rounding."""

    random: tuple[str, ...] = ()
    rounding_only: tuple[str, ...] = ()


def compare_repeated_runs(evaluated: EvaluatedModel) -> NotRepeated:
    """Compare two runs, optimized or, with random nodes, also unoptimized.

    Without a random node a run may still sum in another order each time, depending on its threads.
    A difference that rounding explains is within the budget.
    """
    drawing = random_nodes(evaluated.model.graph)
    pairs = [(evaluated.runtime_outputs, evaluated.again)]
    if drawing:
        # An optimizer may remove the random node; the file still carries it.
        pairs.append((evaluated.unoptimized_outputs, evaluated.unoptimized_outputs_again))
    for once, twice in pairs:
        one = once()
        if isinstance(one, IsomorphError):
            return NotRepeated()  # a run that failed is not repeated
        other = twice()
        if isinstance(other, IsomorphError) or not (outputs := differs(one, other)):
            continue
        rounding_only = tuple(
            name
            for name in (() if drawing else outputs)
            if name in other
            and explained_by_rounding(
                one[name], other[name], execution_spread(evaluated, name), false_alarm=FALSE_ALARM
            )
        )
        random = tuple(name for name in outputs if name not in rounding_only)
        return NotRepeated(random=random, rounding_only=rounding_only)
    return NotRepeated()


def random_nodes(graph: Graph) -> tuple[str, ...]:
    """Return the nodes that draw random numbers: random operators, Dropout in training mode."""
    found = []
    for node in graph.nodes:
        training = bool(node.attributes.get("train") or node.attributes.get("training_mode"))
        if node.op == "Dropout" and len(node.inputs) > 2:
            mode = graph.constants.get(node.inputs[2])
            training = training or (mode is not None and bool(mode.values and mode.values[0]))
        if node.op in RANDOM or (node.op == "Dropout" and training):
            found.append(node.name)
    return tuple(found)


def nondeterminism_finding(role: str, graph: Graph, outputs: Sequence[str]) -> Finding:
    """Report that two runs of one session differ, or that the graph draws random numbers."""
    nodes = random_nodes(graph)
    drawn = tuple(n.outputs[0] for n in graph.nodes if n.name in nodes and n.outputs)
    code = "REFERENCE_NOT_DETERMINISTIC" if role == "reference" else "NONDETERMINISM"
    text = message("NONDETERMINISM.runs", role=role, outputs=", ".join(outputs))
    if nodes:
        text = message("NONDETERMINISM.node", role=role, outputs=", ".join(outputs), node=nodes[0])
    return Finding(
        code=code,
        summary=text,
        effect=FindingEffect.REACHES_OUTPUT,
        cause="nondeterminism",
        status=FindingStatus.CONFIRMED,
        node=nodes[0] if nodes else None,
        nodes=nodes,
        tensors=drawn or tuple(outputs),
        fix=message("FIX.evaluation_mode") if nodes else None,
    )


def repeated_rounding_finding(role: str, outputs: Sequence[str]) -> Finding:
    """Report that two runs of one session differ by no more than rounding."""
    return Finding(
        code="NONDETERMINISM",
        summary=message("NONDETERMINISM.bits", role=role, outputs=", ".join(outputs)),
        effect=FindingEffect.BELOW_ROUNDING,
        cause="nondeterminism",
        status=FindingStatus.CONFIRMED,
        tensors=tuple(outputs),
        fix=message("FIX.same_bits"),
    )
