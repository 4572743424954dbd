"""Search inside a faulty branch or loop: the first iteration that differs, and the fault in it.

A body is extracted and evaluated like any model. Both models run their iterations separately, each
with its own results; as long as these agree, the inputs of the next iteration are right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from isomorph.localize.fault import NO_FAULTS
from isomorph.localize.fault_chain import find_faults
from isomorph.localize.fault_search import Search
from isomorph.localize.locate import Located, match_values
from isomorph.localize.loop_runner import LoopRunner
from isomorph.localize.loop_steps import Round, body_output, other_branches
from isomorph.localize.subgraph_nodes import SubgraphNames, subgraph_names
from isomorph.oracle.fingerprint import FLOAT64_ORDER
from isomorph.oracle.sizes import rms, rms_and_peak

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.trace import Array
    from isomorph.localize.fault import Fault
    from isomorph.match.value_match import ValueMatcher
    from isomorph.measure.evaluated_model import EvaluatedModel
    from isomorph.sessions.model_handle import ModelHandle


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyFault:
    """The faults inside a body: both extracted bodies, and the full names of their nodes.

    ``holder`` is the reference's node, ``node`` the candidate's, and ``body`` one of its bodies;
    ``outputs`` pairs the results of both.
    """

    reference: EvaluatedModel
    candidate: EvaluatedModel
    located: Located
    reference_names: SubgraphNames
    candidate_names: SubgraphNames
    round: int
    holder: str
    node: str
    body: str
    outputs: Sequence[tuple[str, str]]


def search_body(
    fault: Fault,
    known: Located,
    earlier: Mapping[str, Array],
    sides: tuple[ModelHandle, ModelHandle],
    folder: Path,
) -> BodyFault | None:
    """Return the first iteration of a faulty node whose results differ, with its faults."""
    matcher = known.matcher
    here = {node.name: node for node in matcher.candidate.graph.nodes}[fault.node]
    ref_nodes = [
        node for node in matcher.reference.graph.nodes if node.name in fault.reference_nodes
    ]
    there = next((node for node in reversed(ref_nodes) if node.bodies), None)
    if not here.bodies or there is None or fault.counterpart not in there.outputs:
        return None
    if fault.tensor not in here.outputs or _reads_other_data(there, here, earlier, matcher):
        return None
    ref = LoopRunner(sides[0], there, matcher.reference, {}, folder / "reference")
    cand = LoopRunner(sides[1], here, matcher.candidate, earlier, folder / "candidate")
    same = [each for each in known.chain.faults if each.node == fault.node]
    pairs = _bound(there, here, [fault, *same], matcher)
    # A different number of iterations is a fault of the node that decides, not of the body.
    for left, right in zip(ref.rounds(), cand.rounds(), strict=False):
        names = _names(ref, cand, left, right, pairs)
        if not names or not _differ(ref.results[-1], cand.results[-1], names):
            continue
        if _exchanged(ref, cand, right, names):
            return None
        outputs = _outputs(ref, cand, names)
        found = _located(ref, cand, outputs)
        if found is not None:
            return _inside(ref, cand, (left, right), found, outputs)
    return None


def _reads_other_data(
    there: Node, here: Node, earlier: Mapping[str, Array], matcher: ValueMatcher
) -> bool:
    """Whether a node reads another tensor of the reference in the place of one: its body is right.

    So it is where a node before it was dropped.
    """
    expected = set(matcher.reference.topology.sources(there))
    others, seen = False, set()
    for name in matcher.candidate.topology.sources(here):
        value = earlier.get(name, matcher.candidate.values.get(name))
        if isinstance(value, np.ndarray):
            found = {ref for ref, _ in matcher.pairs(name, value)}
            others |= bool(found) and found.isdisjoint(expected)
            seen |= found
    return others and not expected <= seen


def first_iteration(
    here: Node, search: Search, sides: tuple[ModelHandle, ModelHandle], folder: Path
) -> BodyFault | None:
    """Return the first iteration of a node without a fault, with right inputs."""
    maker = {name: node for node in search.reference.graph.nodes for name in node.outputs}
    pairs = [(pair[0], name) for name in here.outputs if (pair := search.pairs.get(name))]
    there = next((maker[one] for one, _ in pairs if one in maker and maker[one].bodies), None)
    if there is None:
        return None
    ref = LoopRunner(sides[0], there, search.reference, {}, folder / "reference")
    cand = LoopRunner(sides[1], here, search.candidate, search.given, folder / "candidate")
    left, right = next(ref.rounds(), None), next(cand.rounds(), None)
    if left is None or right is None:
        return None
    names = _names(ref, cand, left, right, [pair for pair in pairs if pair[0] in there.outputs])
    if not names:
        return None
    outputs = _outputs(ref, cand, names)
    found = Located(chain=NO_FAULTS, matcher=match_values(ref.evaluated(), cand.evaluated()))
    return _inside(ref, cand, (left, right), found, outputs)


def _inside(
    ref: LoopRunner, cand: LoopRunner, rounds: tuple[Round, Round], found: Located,
    outputs: Sequence[tuple[str, str]],
) -> BodyFault:  # fmt: skip
    left, right = rounds
    return BodyFault(
        reference=ref.evaluated(),
        candidate=cand.evaluated(),
        located=found,
        reference_names=subgraph_names(ref.body().handle.model.graph, ref.node, left.key),
        candidate_names=subgraph_names(cand.body().handle.model.graph, cand.node, right.key),
        round=right.number,
        holder=ref.node.name,
        node=cand.node.name,
        body=right.key,
        outputs=outputs,
    )


def _outputs(
    ref: LoopRunner, cand: LoopRunner, names: Sequence[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Return the pairs of results by their names in the extracted bodies."""
    inner, other = ref.body(), cand.body()
    return [(inner.outputs[one], other.outputs[two]) for one, two in names]


def _bound(
    there: Node, here: Node, faults: Sequence[Fault], matcher: ValueMatcher
) -> list[tuple[str, str]]:
    """Pair the outputs of both nodes: by position, unless the faults contradict it.

    All of them are needed: a state that is wrong in one iteration makes the others wrong in the
    next.
    """
    wrong = {each.tensor: each.counterpart for each in faults if each.counterpart in there.outputs}
    # Used only where both have as many.
    by_place = dict(zip(here.outputs, there.outputs, strict=False))
    if len(there.outputs) == len(here.outputs) and all(
        by_place.get(cand) == ref for cand, ref in wrong.items()
    ):
        return [(ref, cand) for cand, ref in by_place.items() if ref and cand]
    right = {
        cand: ref
        for cand in here.outputs
        if cand not in wrong and cand in matcher.candidate.values
        for ref, _ in matcher.pairs(cand, matcher.candidate.values[cand])
        if ref in there.outputs and ref not in wrong.values()
    }
    return [(ref, cand) for cand, ref in {**wrong, **right}.items()]


def _names(
    ref: LoopRunner, cand: LoopRunner, left: Round, right: Round, pairs: Sequence[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Return the pairs of outputs by their names in the bodies, if both compute them."""
    found = []
    for one, other in pairs:
        inner = body_output(ref.node, left.key, one), body_output(cand.node, right.key, other)
        if inner[0] in ref.body(left).outputs and inner[1] in cand.body(right).outputs:
            found.append((str(inner[0]), str(inner[1])))
    return found


def _differ(
    left: Mapping[str, Array], right: Mapping[str, Array], names: Sequence[tuple[str, str]]
) -> bool:
    """Whether results differ by more than two float64 evaluations do."""
    for one, other in names:
        error, _ = rms_and_peak(left[one], right[other])
        if error > FLOAT64_ORDER * rms(left[one]):
            return True
    return False


def _exchanged(
    ref: LoopRunner, cand: LoopRunner, right: Round, names: Sequence[tuple[str, str]]
) -> bool:
    """Whether another branch of the candidate agrees with the reference's: no node is wrong."""
    for other in other_branches(cand.node, right):
        results = cand.run(other)
        ends = [spec.name for spec in cand.node.bodies[other.key].outputs]
        taken = [spec.name for spec in cand.node.bodies[right.key].outputs]
        moved = [(one, ends[taken.index(two)]) for one, two in names if two in taken]
        if all(two in results for _, two in moved) and not _differ(ref.results[-1], results, moved):
            return True
    return False


def _located(ref: LoopRunner, cand: LoopRunner, pairs: Sequence[tuple[str, str]]) -> Located | None:
    matcher = match_values(ref.evaluated(), cand.evaluated())
    if not Search(matcher, pairs, {}).wrong_outputs():
        return None
    chain = find_faults(matcher, pairs)
    return Located(chain=chain, matcher=matcher) if chain.faults else None
