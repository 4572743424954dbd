"""The candidate with the reference's numbers in place of the weights that it rounded.

A candidate that stores its weights in float16, or packed in few bits, and computes in float32 loses
what these roundings lose. With the reference's own numbers it has to be the same function within
the rounding of float32. So whether anything else differs needs no estimate of what they lose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.divergence import Divergence, Verdict
from isomorph.core.errors import IsomorphError
from isomorph.core.messages import message
from isomorph.localize.locate import Located, locate
from isomorph.match.blocked_origins import PackedOrigins
from isomorph.match.blocked_weights import PRODUCT, TABLE
from isomorph.match.packed_readers import packed_readers
from isomorph.match.rounded_weights import is_narrow, narrowed
from isomorph.match.stated_blocks import read_in_blocks, stated_blocks
from isomorph.measure.compare import Comparison, Terms, compare
from isomorph.measure.draws_needed import lost_by_weights
from isomorph.measure.precision import lower_precision, narrow_constants
from isomorph.measure.replaced_constants import ReplacedConstants
from isomorph.measure.verdict import graphs_differ

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array
    from isomorph.localize.weight_findings import ComparedWeights
    from isomorph.match.stored_weights import Weights
    from isomorph.measure.evaluated_model import EvaluatedModel

_WIDE = "float32"
_PLAIN = {PRODUCT: ("MatMul", 2), TABLE: ("Gather", 2)}
"""What computes with real numbers in the place of packed ones, and how many inputs it reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnroundedComparison:
    """Two models compared with the same weights, and the faults where their graphs differ."""

    candidate: EvaluatedModel
    wrong: Mapping[str, Divergence] = field(default_factory=dict)
    """Outputs of the candidate that differ with the same weights, by name."""
    located: Located | None = None

    def judged(self, comparison: Comparison) -> Comparison:
        """Return the comparison with outputs divergent that differ with the same weights.

        What loses more than noise of the width explains is degraded if it does not: how far a
        rounding moves an output depends on the weights, and the roundings are fair.
        """
        faults = self.located.chain.faults if self.located is not None else ()
        reason = message("DIVERGENT.same_weights")
        if faults:
            reason = message("DIVERGENT.same_weights_node", node=faults[0].node)
        return replace(
            comparison,
            divergences=tuple(
                replace(
                    each, verdict=Verdict.DIVERGENT, reason=reason,
                    translation=found.translation, rounding=found.rounding,
                )
                if (found := self.wrong.get(str(each.candidate_output))) is not None
                else _explained(each)
                for each in comparison.divergences
            ),
        )  # fmt: skip


def _explained(divergence: Divergence) -> Divergence:
    if not lost_by_weights(divergence):
        return divergence
    reason = message("DEGRADED.weights")
    return replace(divergence, verdict=Verdict.DEGRADED, reason=reason)


class UnroundedCandidates:
    """The candidate with the reference's weights, on the feeds of any sample.

    The numbers are the same for all samples. ``prepared`` are models that are evaluated already.
    """

    def __init__(self, weights: ComparedWeights) -> None:
        self.weights = weights
        self._prepared: dict[int, tuple[EvaluatedModel, EvaluatedModel]] = {}
        self._replaced: Mapping[str, Array] | None = None

    @cached_property
    def _numbers(self) -> tuple[Mapping[str, Array], PackedOrigins] | None:
        """The reference's numbers for narrow constants, and for packed ones."""
        unrounded, packed = _unrounded(self.weights), self.weights.packed_origins
        return None if unrounded is None or packed is None else (unrounded, packed)

    def of(self, candidate: EvaluatedModel, *, in_part: bool = False) -> EvaluatedModel | None:
        """The candidate with these weights; None where one of them has no origin.

        ``in_part``: such packed weights stay as they are.
        """
        prepared = self._prepared.pop(id(candidate), None)
        if prepared is not None and not in_part:
            return prepared[1]
        if self._numbers is None:
            return None
        unrounded, packed = self._numbers
        if packed.missing and not in_part:
            return None
        oracle = candidate.oracle()
        if self._replaced is None:
            self._replaced = _replaced(oracle, unrounded, packed)
        wide = candidate.evaluated_by(ReplacedConstants(oracle, self._replaced))
        return _widened(wide, packed.missing | packed.misread)

    def apply_to(self, reference: EvaluatedModel, candidate: EvaluatedModel) -> bool:
        """Whether only weights are narrow, each of them with an origin in the reference."""
        try:
            if candidate.oracle().capabilities.feed != "all":
                return False
            if not _only_weights(reference, candidate) or self._numbers is None:
                return False
            return not self._numbers[1].missing
        except (IsomorphError, ValueError):
            return False

    def prepare(self, candidates: Sequence[EvaluatedModel]) -> list[EvaluatedModel]:
        """The models that ``of`` is going to return for these, to be evaluated side by side."""
        try:
            found = [(each, wide) for each in candidates if (wide := self.of(each)) is not None]
        except (IsomorphError, ValueError):
            return []
        self._prepared = {id(own): (own, wide) for own, wide in found}
        return [wide for _, wide in found]


def compared_unrounded(
    sides: tuple[EvaluatedModel, EvaluatedModel],
    comparison: Comparison,
    terms: Terms,
    candidates: UnroundedCandidates,
    *,
    in_part: bool = False,
) -> UnroundedComparison | None:
    """Compare with the reference's numbers; None where more than weights is narrow.

    ``in_part``: packed weights that are no fair rounding stay as they are, and their nodes differ.
    """
    reference, candidate = sides
    if candidate.oracle().capabilities.feed != "all" or not _only_weights(reference, candidate):
        return None
    try:
        wide = candidates.of(candidate, in_part=in_part)
        if wide is None:
            return None
        plain = replace(terms, search=False, by_weight=None, same_weights=False)
        # Constants that were rounded again explain nothing where rounding explains everything.
        judged = compare(reference, wide, comparison.bindings, replace(plain, allowance=False))
        if any(each.verdict is not Verdict.EQUIVALENT for each in judged.divergences):
            judged = compare(reference, wide, comparison.bindings, plain)
        wrong = {str(d.candidate_output): d for d in judged.divergences if graphs_differ(d)}
        pairs = [
            (pair.reference, pair.candidate)
            for pair in comparison.bindings
            if pair.candidate in wrong
        ]
        related = bool(
            candidates.weights.packed_origins and candidates.weights.packed_origins.found
        )
        located = locate(reference, wide, pairs, related=related) if wrong else None
    except (IsomorphError, ValueError):
        return None
    return UnroundedComparison(candidate=wide, wrong=wrong, located=located)


def _only_weights(reference: EvaluatedModel, candidate: EvaluatedModel) -> bool:
    """Whether the candidate's precision is lower in its stored weights alone."""
    graphs = reference.model.graph, candidate.model.graph
    if not lower_precision(*graphs):
        return False
    return not lower_precision(graphs[0], _widened(candidate).model.graph)


def _widened(candidate: EvaluatedModel, unfair: frozenset[str] = frozenset()) -> EvaluatedModel:
    """Return the model with all narrow float constants and packed weights declared as wide ones.

    The nodes of ``unfair`` weights keep the scales and zero points that they read.
    """
    graph = candidate.model.graph
    narrow = set(narrow_constants(graph))
    constants = {
        name: replace(each, dtype=_WIDE) if name in narrow else each
        for name, each in graph.constants.items()
    }
    tensors = {
        name: replace(each, dtype=_WIDE) if name in narrow else each
        for name, each in graph.tensors.items()
    }
    packed, stated = packed_readers(graph), stated_blocks(graph)
    # TFLite calls it dequantization where a float16 weight becomes float32.
    nodes = tuple(
        replace(node, op="Cast")
        if node.op == "DequantizeLinear" and node.inputs[0] in narrow
        else _as_plain(node, whole=packed[node.name] in unfair)
        if node.name in packed and packed[node.name] not in stated
        else node
        for node in graph.nodes
    )
    # Constants that are read wrongly keep the grid that they state: it may be what is wrong.
    kept = {
        entry.tensor
        for node in graph.nodes
        for entry, fed in read_in_blocks(graph, node)
        if fed in unfair
    }
    grids = {node.inputs[0] for node in graph.nodes if node.name in packed} | stated.keys()
    grids -= kept
    quantization = tuple(each for each in graph.quantization if each.tensor not in grids)
    wide = replace(
        graph, constants=constants, tensors=tensors, nodes=nodes, quantization=quantization
    )
    return replace(candidate, model=replace(candidate.model, graph=wide))


def _as_plain(node: Node, *, whole: bool) -> Node:
    """The node as it reads real numbers, or all of it where it keeps its packed ones."""
    op, count = _PLAIN.get(node.op, ("Identity", 1))
    return replace(node, op=op, inputs=node.inputs if whole else node.inputs[:count])


def _replaced(
    oracle: Session, unrounded: Mapping[str, Array], packed: PackedOrigins
) -> Mapping[str, Array]:
    """The reference's numbers, each in the type and the shape of the constant that it replaces."""
    own = oracle.run({}, list(unrounded))
    values = dict(packed.found)
    for name, value in unrounded.items():
        stored = np.asarray(own[name])
        if stored.dtype.kind != "f":
            raise ValueError(name)
        values[name] = np.asarray(value, stored.dtype, order="C").reshape(stored.shape)
    return values


def _unrounded(weights: ComparedWeights) -> Mapping[str, Array] | None:
    """Return the reference's numbers for all narrow constants that matter; None if one lacks."""
    reference, candidate = weights.sides
    found = dict(weights.comparison.unrounded)
    narrow = [each for each in candidate.stored.values() if is_narrow(each.dtype)]
    if any(each.name not in found and not _equal_there(each.digest, reference) for each in narrow):
        return None
    single = [each for each in candidate.scalars.values() if is_narrow(each.dtype)]
    numbers = _single_numbers(reference) if single else ()
    for each in single:
        value = candidate.real(each)
        if value is None or _equal_there(each.digest, reference):
            continue
        origins = {
            number
            for number in numbers
            if float(narrowed(np.asarray(number), each.dtype)) == float(value.ravel()[0])
        }
        if len(origins) != 1:
            return None
        found[each.name] = np.full(each.shape, origins.pop())
    return found


def _equal_there(digest: str, reference: Weights) -> bool:
    return any(each.digest == digest for each in reference.graph.constants.values())


def _single_numbers(reference: Weights) -> Sequence[float]:
    values = (reference.real(each) for each in reference.scalars.values())
    return [float(value.ravel()[0]) for value in values if value is not None]
