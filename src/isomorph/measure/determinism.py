"""Whether a model repeats itself: one that does not can neither convict nor be convicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isomorph.core.errors import IsomorphError
from isomorph.core.ops import RANDOM
from isomorph.core.report import Finding, FindingEffect, FindingStatus
from isomorph.measure.budget_check import rounded_apart
from isomorph.measure.compare import differs, execution_spread
from isomorph.measure.spread import FALSE_ALARM

if TYPE_CHECKING:
    from isomorph.core.model import Graph
    from isomorph.measure.evaluated_model import EvaluatedModel


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRepeated:
    """The outputs that a second run gives otherwise: ``trembling`` by no more than rounding."""

    random: tuple[str, ...] = ()
    trembling: tuple[str, ...] = ()


def unsteady(subject: EvaluatedModel) -> NotRepeated:
    """What differs between two runs, as deployed or, with random nodes, as written.

    Without a random node a run may still add up in another order every time, as its threads
    come. What rounding explains is no other result: the budget has room for it.
    """
    drawing = random_nodes(subject.model.graph)
    pairs = [(subject.runtime_outputs, subject.again)]
    if drawing:
        # An optimizer may remove the random node; the file still carries it.
        pairs.append((subject.unoptimized_outputs, subject.unoptimized_outputs_again))
    for once, twice in pairs:
        one = once()
        if isinstance(one, IsomorphError):
            return NotRepeated()  # what failed once is not asked to fail again
        other = twice()
        if isinstance(other, IsomorphError) or not (outputs := differs(one, other)):
            continue
        trembling = tuple(
            name
            for name in (() if drawing else outputs)
            if name in other
            and rounded_apart(
                one[name], other[name], execution_spread(subject, name), false_alarm=FALSE_ALARM
            )
        )
        random = tuple(name for name in outputs if name not in trembling)
        return NotRepeated(random=random, trembling=trembling)
    return NotRepeated()


def random_nodes(graph: Graph) -> tuple[str, ...]:
    """Nodes that draw random numbers: by their kind, or Dropout in training mode."""
    found = []
    for node in graph.nodes:
        training = bool(node.attributes.get("train") or node.attributes.get("training_mode"))
        if node.op == "Dropout" and len(node.inputs) > 2:
            mode = graph.constants.get(node.inputs[2])
            training = training or (mode is not None and bool(mode.values and mode.values[0]))
        if node.op in RANDOM or (node.op == "Dropout" and training):
            found.append(node.name)
    return tuple(found)


def of_randomness(role: str, graph: Graph, outputs: Sequence[str]) -> Finding:
    """Two runs of one session differ, or the graph draws random numbers on the way."""
    nodes = random_nodes(graph)
    drawn = tuple(n.outputs[0] for n in graph.nodes if n.name in nodes and n.outputs)
    code = "REFERENCE_NOT_DETERMINISTIC" if role == "reference" else "NONDETERMINISM"
    told = f" (random node: {nodes[0]})" if nodes else ""
    return Finding(
        rank=0,
        code=code,
        summary=f"two runs of the {role} on the same inputs differ at {', '.join(outputs)}{told}",
        effect=FindingEffect.REACHES_OUTPUT,
        cause="nondeterminism",
        status=FindingStatus.CONFIRMED,
        node=nodes[0] if nodes else None,
        nodes=nodes,
        tensors=drawn or tuple(outputs),
        fix="export the model in evaluation mode" if nodes else None,
    )


def of_trembling(role: str, outputs: Sequence[str]) -> Finding:
    """Two runs of one session differ by no more than rounding: another order of adding up."""
    return Finding(
        rank=0,
        code="NONDETERMINISM",
        summary=f"two runs of the {role} on the same inputs are not equal bit for bit at "
        f"{', '.join(outputs)}; rounding explains it",
        effect=FindingEffect.BELOW_ROUNDING,
        cause="nondeterminism",
        status=FindingStatus.CONFIRMED,
        tensors=tuple(outputs),
        fix="run with one thread where every bit must be the same",
    )
