"""An optimizer joined nodes and changed what they do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from isomorph.core.diagnosis_limits import OPTIMIZER_ROUNDS
from isomorph.core.execution import Switch
from isomorph.core.experiments import experiment
from isomorph.core.fault_context import Certainty, Diagnosis, FaultContext, FaultSite
from isomorph.core.messages import message
from isomorph.core.report import Experiment, Fact
from isomorph.diagnose import node_constants
from isomorph.diagnose.parameters import attributes
from isomorph.diagnose.reference_attributes import equal
from isomorph.match.topology import Topology
from isomorph.measure.precision import QUANTIZED_OPS

if TYPE_CHECKING:
    from isomorph.core.execution import Execution
    from isomorph.core.model import Node

_SIZES = frozenset({"Shape", "Size", "Gather", "Concat", "Slice", "Cast", "Unsqueeze", "Squeeze"})
"""What computes sizes: an exporter may store them, and fuses nothing by that."""

_FEW = 3
"""So many optimizers are switched off one by one as fast as by halves."""


class Fusion:
    """A fused operator that does not do what its parts did, or an optimizer pass that changes.

    Recognized in a graph where one node of an extension domain stands for several of the
    reference, and its weights are right. Recognized in a run by switching the runtime's
    optimizers off: first all, then level by level, then one at a time, until the one is found
    without which the run is right.
    """

    name = "fusion"
    sites = frozenset({FaultSite.GRAPH, FaultSite.RUN})

    def examine(self, context: FaultContext) -> Iterator[Diagnosis]:
        """Yield a diagnosis for a fused node, or an optimizer without which the run is right."""
        if context.execution is not None:
            yield from _switched_off(context.execution)
            return
        if node_constants.unmatched(context) or context.permuted:
            return
        if context.node.native_op.rpartition("::")[2] in QUANTIZED_OPS:
            return  # it stands for one product of weights that are rounded
        if "::" not in context.node.native_op:
            yield from _taken_in(context)
            return
        parts = " + ".join(dict.fromkeys(node.op for node in context.counterparts))
        yield Diagnosis(
            cause="fusion",
            certainty=Certainty.CONFIRMED,
            summary=message(
                "fusion.operator", op=context.node.op, parts=parts or message("fusion.replaced")
            ),
            evidence={"attributes": {k: str(v) for k, v in context.node.attributes.items()}},
        )


def _taken_in(context: FaultContext) -> Iterator[Diagnosis]:
    """One node for several of the reference's, between models of one framework.

    The node has another operator than all of them, or the operator of one with other attributes.
    """
    if not context.same_framework or len(context.nodes) != 1 or len(context.counterparts) < 2:
        return
    node, topology = context.node, Topology(context.reference)
    live = [each for each in context.counterparts if topology.sources(each)]
    same = [each for each in live if each.op == node.op]
    others = [each for each in live if each.op != node.op and each.op not in _SIZES]
    if not others or (same and not _attributes_differ(context, same[-1])):
        return
    parts = " + ".join(dict.fromkeys(each.op for each in live))
    lost = " and ".join(dict.fromkeys(each.op for each in others))
    yield Diagnosis(
        cause="fusion",
        certainty=Certainty.VISIBLE,
        summary=message("fusion.taken_in", op=node.op, lost=lost)
        if same
        else message("fusion.one_for_several", op=node.op, parts=parts),
        evidence={Fact.OPERATORS: [each.op for each in live]},
    )


def _attributes_differ(context: FaultContext, counterpart: Node) -> bool:
    """Whether the node has other attributes than its counterpart."""
    now, there = (
        {k: v for k, v in attributes(graph, node).items() if v is not None}
        for graph, node in ((context.candidate, context.node), (context.reference, counterpart))
    )
    return any(k in there and not equal(v, there[k]) for k, v in now.items())


def _switched_off(execution: Execution) -> Iterator[Diagnosis]:
    """Disable every optimizer; if that restores the run, find the fewest that do."""
    right = execution.right(execution.plain) if execution.plain else None
    if right is None:
        return  # nothing can be switched off, or nothing runs then
    everything = experiment("fusion.none", agrees=right)
    if not right:
        yield Diagnosis(
            cause="fusion",
            certainty=Certainty.REFUTED,
            summary=message("fusion.no_optimizer"),
            experiments=(everything,),
        )
        return
    level, single, tried = _narrowed(execution)
    culprit = single or level
    settings = culprit.settings if culprit is not None else execution.plain
    flags = " ".join(f"--set {key}={value}" for key, value in settings.items())
    named = culprit.name if culprit is not None else message("fusion.some_optimizer")
    yield Diagnosis(
        cause="fusion",
        certainty=Certainty.CONFIRMED,
        summary=message("fusion.optimizer", optimizer=named),
        experiments=(everything, *tried),
        evidence={Fact.OPTIMIZER: named, Fact.SETTINGS: dict(settings)},
        fix=message("FIX.run_with", flags=flags),
        restores_run=True,
        about=frozenset(settings.values()),
    )


def _narrowed(execution: Execution) -> tuple[Switch | None, Switch | None, list[Experiment]]:
    """The outermost group of optimizers that has to be off, then the one among those that ran."""
    groups = [each for each in execution.switches if each.kind == "optimizer"]
    now = execution.environment.settings
    groups = [each for each in groups if any(now.get(k) != v for k, v in each.settings.items())]
    level, tried = _first(execution, groups, message("fusion.group"))
    single, more = _single(execution, execution.single({}))
    together = _together(execution) if single is None else None
    if together is not None:
        more.append(experiment("fusion.together", names=together.name))
    return level, single or together, [*tried, *more]


def _single(
    execution: Execution, switches: Sequence[Switch]
) -> tuple[Switch | None, list[Experiment]]:
    """The optimizer that alone has to be off: by halves, and one by one if no half will do."""
    left = list(switches)
    while len(left) > _FEW:
        half = len(left) // 2
        parts = left[:half], left[half:]
        left = next(
            (part for part in parts if execution.right(_joined({s.name: s for s in part}))), []
        )
    return _first(execution, left or switches, message("fusion.kind"))


def _together(execution: Execution) -> Switch | None:
    """The fewest optimizers that have to be off at once.

    With one off, another may get to do its work: so all that come up are switched off, round by
    round, and those that need not be are switched on again.
    """
    off: dict[str, Switch] = {}
    for _ in range(OPTIMIZER_ROUNDS.most):
        more = {each.name: each for each in execution.single(_joined(off)) if each.name not in off}
        if not more:
            return None
        off |= more
        if execution.right(_joined(off)):
            break
    else:
        OPTIMIZER_ROUNDS.reached()
        return None
    for name in list(off):
        fewer = {key: each for key, each in off.items() if key != name}
        if fewer and execution.right(_joined(fewer)):
            off = fewer
    return Switch(name=" and ".join(off), settings=_joined(off))


def _joined(switches: Mapping[str, Switch]) -> dict[str, str]:
    """The settings of several switches in one."""
    found: dict[str, list[str]] = {}
    for switch in switches.values():
        for key, value in switch.settings.items():
            found.setdefault(key, []).append(value)
    return {key: ",".join(values) for key, values in found.items()}


def _first(
    execution: Execution, switches: Sequence[Switch], kind: str
) -> tuple[Switch | None, list[Experiment]]:
    """The first switch that restores the run; one experiment lists those tried before it."""
    before = 0
    for switch in switches:
        if not execution.right(switch.settings):
            before += 1
            continue
        if before:
            return switch, [experiment("fusion.one_of", name=switch.name, kind=kind, count=before)]
        return switch, [experiment("fusion.one", name=switch.name, kind=kind)]
    if not switches:
        return None, []
    return None, [experiment("fusion.single", agrees=False, kind=kind, count=len(switches))]
