"""Into the bodies of a guilty branch or loop: the first round that differs, and where in it.

A body is cut out as a model of its own and looked at like any other. Both sides are led through
their rounds separately, each with its own results; as long as these agree, the inputs of the next
round are right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from isomorph.localize.fault import NOBODY
from isomorph.localize.fault_chain import follow
from isomorph.localize.fault_search import Search
from isomorph.localize.locate import Located, look
from isomorph.localize.loop_runner import Walk
from isomorph.localize.loop_steps import Round, body_output, other_branches
from isomorph.localize.subgraph_nodes import Described, described
from isomorph.match.tensor_capture import rms_and_peak

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.trace import Array
    from isomorph.localize.fault import Fault
    from isomorph.match.value_match import ValueMatcher
    from isomorph.measure.evaluated_model import EvaluatedModel
    from isomorph.sessions.model_handle import ModelHandle


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """What was found in a body: the two sides as models of their own, and their nodes' full names.

    ``theirs`` are the names of the reference's body, ``ours`` those of the candidate's. ``holder``
    is the reference's node, ``node`` the candidate's, and ``body`` the one of its bodies;
    ``outputs`` are the results that belong together.
    """

    reference: EvaluatedModel
    candidate: EvaluatedModel
    located: Located
    theirs: Described
    ours: Described
    round: int
    holder: str
    node: str
    body: str
    outputs: Sequence[tuple[str, str]]


def enter(
    fault: Fault,
    known: Located,
    earlier: Mapping[str, Array],
    sides: tuple[ModelHandle, ModelHandle],
    folder: Path,
) -> Inside | None:
    """The first round of a guilty node's bodies in which their results differ, and where."""
    matcher = known.matcher
    here = {node.name: node for node in matcher.candidate.graph.nodes}[fault.node]
    theirs = [node for node in matcher.reference.graph.nodes if node.name in fault.reference_nodes]
    there = next((node for node in reversed(theirs) if node.bodies), None)
    if not here.bodies or there is None or fault.counterpart not in there.outputs:
        return None
    if fault.tensor not in here.outputs:
        return None
    mine = Walk(sides[0], there, matcher.reference, {}, folder / "reference")
    yours = Walk(sides[1], here, matcher.candidate, earlier, folder / "candidate")
    same = [each for each in known.chain.faults if each.node == fault.node]
    pairs = _bound(there, here, [fault, *same], matcher)
    # Another number of rounds is the fault of the node that decides, and told there.
    for left, right in zip(mine.rounds(), yours.rounds(), strict=False):
        names = _names(mine, yours, left, right, pairs)
        if not names or not _differ(mine.results[-1], yours.results[-1], names):
            continue
        if _exchanged(mine, yours, right, names):
            return None
        outputs = _outputs(mine, yours, names)
        found = _located(mine, yours, outputs)
        if found is not None:
            return _inside(mine, yours, (left, right), found, outputs)
    return None


def first_inside(
    here: Node, search: Search, sides: tuple[ModelHandle, ModelHandle], folder: Path
) -> Inside | None:
    """The first round of the bodies of a node that nobody accuses, with right values handed in."""
    maker = {name: node for node in search.reference.graph.nodes for name in node.outputs}
    pairs = [(pair[0], name) for name in here.outputs if (pair := search.pairs.get(name))]
    there = next((maker[one] for one, _ in pairs if one in maker and maker[one].bodies), None)
    if there is None:
        return None
    ref = Walk(sides[0], there, search.reference, {}, folder / "reference")
    cand = Walk(sides[1], here, search.candidate, search.given, folder / "candidate")
    left, right = next(ref.rounds(), None), next(cand.rounds(), None)
    if left is None or right is None:
        return None
    names = _names(ref, cand, left, right, [pair for pair in pairs if pair[0] in there.outputs])
    if not names:
        return None
    outputs = _outputs(ref, cand, names)
    found = Located(chain=NOBODY, matcher=look(ref.subject(), cand.subject()))
    return _inside(ref, cand, (left, right), found, outputs)


def _inside(
    mine: Walk, yours: Walk, rounds: tuple[Round, Round], found: Located,
    outputs: Sequence[tuple[str, str]],
) -> Inside:  # fmt: skip
    left, right = rounds
    return Inside(
        reference=mine.subject(),
        candidate=yours.subject(),
        located=found,
        theirs=described(mine.body().opened.model.graph, mine.node, left.key),
        ours=described(yours.body().opened.model.graph, yours.node, right.key),
        round=right.number,
        holder=mine.node.name,
        node=yours.node.name,
        body=right.key,
        outputs=outputs,
    )


def _outputs(ref: Walk, cand: Walk, names: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The pairs of results as the parts that were cut out call them."""
    inner, other = ref.body(), cand.body()
    return [(inner.outputs[one], other.outputs[two]) for one, two in names]


def _bound(
    there: Node, here: Node, faults: Sequence[Fault], matcher: ValueMatcher
) -> list[tuple[str, str]]:
    """Outputs of both nodes that belong together: by place, unless the guilts say otherwise.

    Every one counts: a state that goes wrong in one round makes the others wrong in the next.
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
    ref: Walk, cand: Walk, left: Round, right: Round, pairs: Sequence[tuple[str, str]]
) -> list[tuple[str, str]]:
    """The pairs of outputs as the bodies call them, as far as both bodies compute them."""
    found = []
    for one, other in pairs:
        inner = body_output(ref.node, left.key, one), body_output(cand.node, right.key, other)
        if inner[0] in ref.body(left).outputs and inner[1] in cand.body(right).outputs:
            found.append((str(inner[0]), str(inner[1])))
    return found


def _differ(
    left: Mapping[str, Array], right: Mapping[str, Array], names: Sequence[tuple[str, str]]
) -> bool:
    """Whether anything is worth a closer look: two float64 evaluations are not bit-equal."""
    for one, other in names:
        error, _ = rms_and_peak(left[one], right[other])
        value = left[one].astype(np.float64)
        size = float(np.sqrt(np.mean(np.square(value)))) if value.size else 0.0
        if error > 2.0**-40 * size:
            return True
    return False


def _exchanged(ref: Walk, cand: Walk, right: Round, names: Sequence[tuple[str, str]]) -> bool:
    """Whether another branch of the candidate does what the reference's does: no node is wrong."""
    for other in other_branches(cand.node, right):
        results = cand.run(other)
        ends = [spec.name for spec in cand.node.bodies[other.key].outputs]
        taken = [spec.name for spec in cand.node.bodies[right.key].outputs]
        moved = [(one, ends[taken.index(two)]) for one, two in names if two in taken]
        if all(two in results for _, two in moved) and not _differ(ref.results[-1], results, moved):
            return True
    return False


def _located(ref: Walk, cand: Walk, pairs: Sequence[tuple[str, str]]) -> Located | None:
    matcher = look(ref.subject(), cand.subject())
    if not Search(matcher, pairs, {}).wrong_outputs():
        return None
    chain = follow(matcher, pairs)
    return Located(chain=chain, matcher=matcher) if chain.faults else None
