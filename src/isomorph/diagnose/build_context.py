"""Build the FaultContext of each fault, which causes and fixes examine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from isomorph.core.errors import IsomorphError
from isomorph.core.fault_context import FaultContext
from isomorph.diagnose.patch_trial import PatchTrial
from isomorph.measure.replaced_constants import ReplacedConstants
from isomorph.sessions.dequantized_session import DequantizedSession

if TYPE_CHECKING:
    from isomorph.core.model import Graph
    from isomorph.core.patch import Patch
    from isomorph.core.trace import Array
    from isomorph.localize.fault import Fault
    from isomorph.match.value_match import ValueMatcher
    from isomorph.sessions.model_handle import ModelHandle


def fault_contexts(
    faults: Sequence[Fault], matcher: ValueMatcher, candidate: ModelHandle | None = None
) -> Iterator[tuple[str, FaultContext]]:
    """The context of the first fault of each node, by the node's name.

    With ``candidate``, the context can try patches on a copy of it.
    """
    earlier: dict[str, Array] = {}
    done: set[str] = set()
    for fault in faults:
        if fault.node not in done:
            done.add(fault.node)
            yield fault.node, _fault_context(fault, matcher, dict(earlier), candidate)
        earlier[fault.tensor] = fault.value


def _fault_context(
    fault: Fault, matcher: ValueMatcher, earlier: Mapping[str, Array], candidate: ModelHandle | None
) -> FaultContext:
    left, right = matcher.reference.graph, matcher.candidate.graph
    here = {node.name: node for node in right.nodes}
    there = {node.name: node for node in left.nodes}
    nodes = tuple(here[name] for name in fault.nodes)
    stage = PatchTrial(candidate, matcher.candidate, nodes, earlier) if candidate else None

    def replaced(given: Mapping[str, Array]) -> Array | None:
        try:
            return matcher.candidate.run([fault.tensor], {**earlier, **given}).get(fault.tensor)
        except (IsomorphError, ValueError):
            return None  # an experiment that cannot be run confirms nothing

    def equals(array: Array) -> bool:
        own = matcher.reference.values.get(fault.counterpart)
        right = fault.value if own is None or array.shape == fault.value.shape else own
        # A restored tensor may have the reference's order of axes instead of the candidate's.
        return array.shape == right.shape and matcher.equal(
            fault.counterpart, fault.tensor, right, array
        )

    def restores(given: Mapping[str, Array]) -> bool:
        found = replaced(given)
        return found is not None and equals(found)

    def value(graph: Graph, name: str) -> Array | None:
        side, given = (matcher.candidate, earlier) if graph is right else (matcher.reference, {})
        try:
            return side.run([name], given).get(name)
        except (IsomorphError, ValueError):
            return None

    def rehearse(patch: Patch) -> Array | None:
        found = stage.run(patch, [fault.tensor]) if stage is not None else None
        return None if found is None else found[fault.tensor]

    pairs: dict[str, str] = {}

    def matching_tensor(name: str) -> str | None:
        if not pairs:
            pairs.update(_matching_tensors(matcher, earlier))
        return pairs.get(name)

    wrong = replaced({})
    return FaultContext(
        reference=left,
        candidate=right,
        node=here[fault.node],
        nodes=nodes,
        counterparts=tuple(there[name] for name in fault.reference_nodes),
        tensor=fault.tensor,
        wrong=fault.value if wrong is None else wrong,
        right=fault.value,
        permuted=fault.permuted,
        right_without_grids=fault.right_without_grids,
        constant=lambda graph, name: _constant(matcher, graph, name),
        restores=restores,
        equals=equals,
        value=value,
        matching_tensor=matching_tensor,
        rehearse=rehearse,
        same_framework=matcher.same_axes,
    )


def _matching_tensors(
    matcher: ValueMatcher, earlier: Mapping[str, Array]
) -> Iterator[tuple[str, str]]:
    """Tensors of the reference, each with the first tensor of the candidate of equal values."""
    seen: set[str] = set()
    for name, value in matcher.candidate.with_given(earlier).items():
        found = matcher.pair(name, value) if name in matcher.candidate.spread else None
        if found is not None and found[0] not in seen:
            seen.add(found[0])
            yield found[0], name


def _constant(matcher: ValueMatcher, graph: Graph, name: str) -> Array | None:
    side = matcher.reference if graph is matcher.reference.graph else matcher.candidate
    stored, oracle = graph.constants.get(name), side.oracle
    if isinstance(oracle, DequantizedSession):
        oracle = oracle.stored
    try:
        value = side.fetched(name)
        packed = stored is not None and "int" in stored.dtype and value.dtype.kind == "f"
        if packed and isinstance(oracle, ReplacedConstants):
            # Real numbers stand in its place; how it is packed is what a cause asks for.
            value = oracle.stored(name)
    except IsomorphError:
        return None
    return value
