"""Something the reference does is not done at all."""

from __future__ import annotations

from collections.abc import Iterator

from isomorph.core.case import Case, Diagnosis
from isomorph.stages.align.topology import Topology
from isomorph.stages.diagnose import constants


class MissingOp:
    """A node or an input of a node is missing, custom, unsupported or approximated.

    Recognised where the candidate's node reads fewer tensors that depend on the inputs than its
    counterpart, or where the reference has an operator that nothing in the candidate does.
    """

    name = "missing_op"

    def examine(self, case: Case) -> Iterator[Diagnosis]:
        """Count what goes in; then look for operators without a counterpart."""
        lost = [name for name in case.node.inputs if not name]
        fewer = _live_inputs(case, mine=False) - _live_inputs(case, mine=True)
        if fewer > 0 and lost:
            yield Diagnosis(
                cause="missing_op",
                certainty=3,
                summary=f"{case.node.op} lacks {fewer} of the inputs that the reference's has",
                fix="connect the missing input",
            )
            return
        if constants.weights(case, constants.unmatched(case)):
            return  # weights that the reference does not hold are folded or wrong, not missing
        here = {node.op for node in case.nodes}
        absent = [node.op for node in case.counterparts if node.op not in here]
        if absent and len(case.counterparts) > len(case.nodes):
            yield Diagnosis(
                cause="missing_op",
                certainty=1,
                summary=f"nothing in the candidate does the reference's {absent[0]}",
                evidence={"operators": absent},
            )


def _live_inputs(case: Case, *, mine: bool) -> int:
    """How many tensors that depend on the model's inputs go into the nodes in question."""
    graph, nodes = (case.candidate, case.nodes) if mine else (case.reference, case.counterparts)
    topology = Topology(graph)
    own = {name for node in nodes for name in node.outputs}
    return len({name for node in nodes for name in topology.sources(node)} - own)
