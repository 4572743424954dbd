"""Weights that differ from their counterparts by more than one rounding, found without a run.

Every weight of the candidate is compared with the reference's: byte by byte, rearranged, rounded
to a narrower type, quantized, with a normalization folded in. A weight that none of these explains
and that agrees with one of the reference in almost every element was made from it, and the few
other elements are wrong. Where most elements differ, a weight is identified only by its position
in two graphs of the same structure: a rescaled or retrained weight is judged by running it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.limits import (
    COINCIDING_ELEMENTS,
    FOLDED_STEPS,
    LIKE_WEIGHTS,
    MERGED_AXES,
    UNROUNDED_NUMBERS,
    noted_limits,
)
from isomorph.match.arranged_weights import (
    agreeing_arrangements,
    only_moved,
    origins_as_stored,
    same_use,
)
from isomorph.match.body_constants import changed_in_bodies, only_one_changed
from isomorph.match.computed_weights import computed_origins, is_computed
from isomorph.match.concatenated_weights import concatenated_weight
from isomorph.match.constant_difference import (
    ConstantDifference,
    Suspect,
    WeightComparison,
    difference_from,
)
from isomorph.match.element_bounds import Elements, Source, compare_elements
from isomorph.match.folded_weights import (
    Biases,
    Folded,
    FoldedWeights,
    effective_rank,
)
from isomorph.match.grouped_differences import in_blocks, in_tables, merged
from isomorph.match.lost_biases import lost_biases
from isomorph.match.misrounded_weights import (
    Origin,
    compared_together,
    many_units_off,
    misrounded,
    rescaled,
)
from isomorph.match.rounded_weights import is_narrow, rounded_once, same_in_float32
from isomorph.match.sampled_vectors import SampledVectors
from isomorph.match.small_constants import changed_constants
from isomorph.match.sole_counterpart import sole_counterpart
from isomorph.match.split_products import SplitProduct, split_from, split_products
from isomorph.match.stored_weights import StoredWeight, one_grid, same_integers
from isomorph.match.structural_constants import Isolation, placed_constants

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.match.stored_weights import Weights


def compared_weights(reference: Weights, candidate: Weights) -> WeightComparison:
    """Return the weights of the candidate that are wrong in few elements, in graph order."""
    made = _Comparison(reference, candidate)
    found = made.differences()
    found += lost_biases(reference, candidate, made.settled, {e.weight.name for e in found})
    return WeightComparison(
        differences=tuple(found), unrounded=made.unrounded, explained=made.settled
    )


class _Comparison:
    """The weights of both graphs, and which of the candidate's are explained."""

    def __init__(self, reference: Weights, candidate: Weights) -> None:
        self.reference, self.candidate = reference, candidate
        self._folds = FoldedWeights(reference)
        self._biases = Biases(candidate, self._folds)
        self._samples = SampledVectors(reference)
        self._taken: dict[str, int] = {}
        self.settled: dict[str, tuple[str, ...]] = {}
        self._doubtful: dict[str, tuple[StoredWeight, Suspect]] = {}
        """Weights that agree with one of the reference only in uninformative elements."""
        self.unrounded: dict[str, Array] = {}
        self._by_size: dict[int, list[StoredWeight]] = {}
        for weight in reference.stored.values():
            self._by_size.setdefault(weight.size, []).append(weight)

    @cached_property
    def _split_sources(self) -> tuple[SplitProduct, ...]:
        return tuple(split_products(self.reference))

    def differences(self) -> list[ConstantDifference]:
        """Return the differences that no known rewrite of a converter explains."""
        open_ones = [each for each in self.candidate.stored.values() if not self._by_digest(each)]
        suspects = self._split(open_ones)
        # Kernels first: they identify the biases.
        for weight in sorted(open_ones, key=lambda each: -effective_rank(each.shape)):
            if weight.name in self.settled:
                continue
            with noted_limits() as hit:
                suspect = None if self._moved(weight) else self._examined(weight)
            for limit in hit:
                # An arrangement that was not tried does not matter for a weight that is explained.
                if limit is not MERGED_AXES or weight.name not in self.settled:
                    limit.reached()
            if suspect is not None:
                suspects[weight.name] = suspect
        suspects = {**self._only_ones(open_ones), **suspects}
        found = []
        for weight in open_ones:
            actual = self.candidate.real(weight) if weight.name in suspects else None
            if actual is not None:
                found.append(difference_from(weight, actual, suspects[weight.name]))
        found = compared_together(found, self.candidate, self.settled)
        sides = self.reference, self.candidate
        found += in_blocks(*sides, {each.weight.name for each in found})
        found += in_tables(*sides, {each.weight.name for each in found})
        found += merged(*sides, self._taken)
        found += self._in_place({each.weight.name for each in found})
        found += self._without_equal({each.weight.name for each in found})
        known = {each.weight.name for each in found}
        return self._with_sole([each for each in found if not self._by_scale(each, known)])

    def _by_scale(self, found: ConstantDifference, known: set[str]) -> bool:
        """Whether a weight differs by a scale alone, which is a constant that differs."""
        source = self.reference.stored.get(found.reference[0])
        scales = self.candidate.grid_constants(found.weight.name)
        return source is not None and same_integers(found.weight, source) and bool(scales & known)

    def _with_sole(self, found: list[ConstantDifference]) -> list[ConstantDifference]:
        """Mark or add the weight that alone has no equal, where that is no certain one already."""
        if any(each.certain or each.isolation is not Isolation.UNKNOWN for each in found):
            return found
        sole = sole_counterpart(self.reference, self.candidate)
        if sole is None or is_computed(self.reference, self.candidate, sole.weight.name):
            return found
        made = difference_from(sole.weight, sole.actual, Suspect.in_place_of(sole))
        found = [each for each in found if each.weight.name != sole.weight.name]
        return [*found, replace(made, certain=False, sole=True)]

    def _in_place(self, known: set[str]) -> list[ConstantDifference]:
        """Return differences identified by position alone: most elements, or the only one."""
        return [
            replace(
                difference_from(each.weight, each.actual, Suspect.in_place_of(each)),
                certain=each.exact and each.isolation is Isolation.ONLY,
                isolation=each.isolation,
            )
            for each in placed_constants(self.reference, self.candidate)
            if each.weight.name not in known
        ]

    def _without_equal(self, known: set[str]) -> list[ConstantDifference]:
        """Return scales, thresholds and body constants without an equal, with likely origins."""
        sides = self.reference, self.candidate
        without = (*changed_in_bodies(*sides), *changed_constants(*sides))
        changed = {each.weight.name: each for each in without}
        found = []
        for name, each in changed.items():
            if name in known:
                continue
            made = replace(
                difference_from(each.weight, each.actual, Suspect.in_place_of(each)),
                certain=each.certain,
                inside=each.inside,
                alone=not known and len(changed) == 1 and only_one_changed(*sides),
            )
            found.append(made)
        return found

    def _split(self, open_ones: list[StoredWeight]) -> dict[str, Suspect]:
        """Return weights that are columns of one of the reference, with few wrong elements."""
        found: dict[str, Suspect] = {}
        names = {each.name for each in open_ones}
        for product in split_products(self.candidate):
            free = [e for e in self._by_size.get(product.value.size, ()) if not self._used_up(e)]
            origin = split_from(product, free, self.reference)
            if origin is None or names.isdisjoint(product.names):
                continue
            source, expected, elements = origin
            self._taken[source.name] = self._taken.get(source.name, 0) + 1
            self.settled.update(dict.fromkeys(product.names, (source.name,)))
            both = elements.beyond, elements.between
            masks = [[part for _, part in product.columns(each)] for each in both]
            for (part, columns), wrong, between in zip(
                product.columns(expected), *masks, strict=True
            ):
                if not wrong.any():
                    self._keep_unrounded(part, columns)
                else:
                    found[part.name] = Suspect(
                        names=(source.name,),
                        expected=columns,
                        elements=replace(elements, beyond=wrong, between=between),
                        evidence=("value", "structure"),
                    )
        return found

    def _only_ones(self, open_ones: list[StoredWeight]) -> dict[str, Suspect]:
        """Return weights of one repeated number whose counterpart is the only one possible."""
        found = {}
        for name, (source, suspect) in self._doubtful.items():
            size = self.candidate.stored[name].size
            rivals = [e.name for e in open_ones if e.size == size and e.name not in self.settled]
            sources = [e.name for e in self._by_size[size] if not self._used_up(e)]
            only = rivals == [name] and sources == [source.name]
            if only and not is_computed(self.reference, self.candidate, name):
                found[name] = suspect
        return found

    def _by_digest(self, weight: StoredWeight) -> bool:
        equal = [
            each
            for each in self._by_size.get(weight.size, ())
            if each.digest == weight.digest and one_grid(weight, each)
        ]
        for each in equal:
            self._settle(weight, each)
        return bool(equal)

    def _moved(self, weight: StoredWeight) -> bool:
        """Settle a weight that has the numbers of the likeliest one in another arrangement."""
        for likely in self._sources(weight)[:1]:
            if only_moved(weight, self.candidate, likely, self.reference):
                self._settle(weight, likely)
        return weight.name in self.settled

    def _settle(self, weight: StoredWeight, source: StoredWeight) -> None:
        self.settled[weight.name] = (*self.settled.get(weight.name, ()), source.name)
        self._taken[source.name] = self._taken.get(source.name, 0) + len(weight.readers)
        self._biases.kernel_is(weight, source)

    def _examined(self, weight: StoredWeight) -> Suspect | None:
        """Return the likely origin of a weight; None where it is explained or unknown."""
        actual = self.candidate.real(weight)
        if actual is None:
            return None
        integers = self.candidate.value(weight.name) if weight.grid is not None else None
        suspects: list[Suspect] = []
        unlike = self._samples.unlike(weight, actual, self._sources(weight)[: LIKE_WEIGHTS.most])
        for source, names, value, terms in self._origins(weight, unlike):
            for expected, source_terms in agreeing_arrangements(value, actual, weight, terms):
                elements = compare_elements(expected, actual, weight, source_terms, integers)
                other = None
                if elements.between.any() and integers is not None:
                    other = misrounded(weight, names, expected, integers, source_terms)
                if other is not None:
                    suspects.append(other)
                    continue
                if elements.equal:
                    self._explain(weight, source, expected)
                    self.settled[weight.name] = names
                    return None
                if not elements.sparse and not many_units_off(weight, elements):
                    continue
                evidence = self._evidence(weight, source, elements)
                suspect = Suspect(
                    names=names,
                    expected=expected,
                    elements=elements,
                    evidence=evidence or ("structure",),
                )
                if evidence:
                    suspects.append(suspect)
                elif isinstance(source, StoredWeight) and same_use(weight, source):
                    self._doubtful[weight.name] = source, suspect
        suspects = suspects or list(self._joined(weight, actual))
        if not suspects:
            stored = actual if integers is None else integers
            suspects += rescaled(weight, actual, stored, self._origins(weight))
        if not suspects or is_computed(self.reference, self.candidate, weight.name):
            return None
        return self._as_stored(weight, min(suspects, key=lambda each: each.elements.count))

    def _explain(
        self, weight: StoredWeight, source: StoredWeight | Folded | None, expected: Array
    ) -> None:
        """Record that a weight was made from ``source``, which has the ``expected`` numbers."""
        if isinstance(source, StoredWeight):
            self._settle(weight, source)
        elif source is not None:
            self._biases.kernel_is(weight, source)
        self._doubtful.pop(weight.name, None)
        self._keep_unrounded(weight, expected)

    def _keep_unrounded(self, weight: StoredWeight, expected: Array) -> None:
        """Keep the numbers that a narrow float weight was rounded from, if no others can be."""
        actual = self.candidate.real(weight) if is_narrow(weight.dtype) else None
        if actual is None or not rounded_once(expected, actual, weight.dtype):
            return
        kept = sum(each.size for each in self.unrounded.values())
        if kept + weight.size > UNROUNDED_NUMBERS:
            return
        others = self._origins(weight) if weight.size <= COINCIDING_ELEMENTS else ()
        for _, _, value, terms in others:
            for other, _ in agreeing_arrangements(value, actual, weight, terms):
                near = rounded_once(other, actual, weight.dtype)
                if near and not same_in_float32(expected, other):
                    return
        self.unrounded[weight.name] = expected

    def _as_stored(self, weight: StoredWeight, found: Suspect) -> Suspect:
        """Name the constant that holds the expected numbers, and not those they follow from."""
        doubtful = self._doubtful.get(weight.name)
        if doubtful is None or not np.array_equal(doubtful[1].expected, found.expected):
            return found
        return replace(found, names=doubtful[1].names)

    def _joined(self, weight: StoredWeight, actual: Array) -> Iterator[Suspect]:
        """Yield the weights that this one was concatenated from, if few elements are wrong."""
        free = [
            each
            for each in self.reference.stored.values()
            if each.direct and not self._used_up(each)
        ]
        found = concatenated_weight(weight, actual, free, self.reference) if weight.direct else None
        if found is not None:
            elements = compare_elements(found.expected, actual, weight, Source(dtype="float32"))
            if elements.sparse and elements.informative > elements.count:
                evidence = ("value",)
                yield Suspect(
                    names=found.names, expected=found.expected, elements=elements, evidence=evidence
                )
                return
        if len(self._sources(weight)) > LIKE_WEIGHTS.most:
            LIKE_WEIGHTS.reached()
        if self._folds.limited:
            FOLDED_STEPS.reached()

    def _origins(
        self, weight: StoredWeight, unlike: frozenset[str] = frozenset()
    ) -> Iterator[Origin]:
        """Yield possible origins of a weight: stored as it is, or folded with what follows.

        Those that are known to be ``unlike`` it are left out, with factors they may be like it.
        """
        tried: set[str] = set()
        for stored in self._sources(weight)[: LIKE_WEIGHTS.most]:
            made = origins_as_stored(weight, stored, self.reference, unlike)
            yield from ((source, (stored.name,), value, terms) for source, value, terms in made)
            # What follows a likely weight is likelier than another weight.
            tried.add(stored.name)
            for folded, scaled in self._folds.kernels_from((stored.name,)):
                yield folded, folded.names, scaled, Source(dtype="float32")
        others = self._folds.kernels_of_size(weight.size)
        for folded, scaled in self._folds.kernels_from(e for e in others if e not in tried):
            yield folded, folded.names, scaled, Source(dtype="float32")
        for folded, value, error_bound in self._biases.of(weight):
            yield folded, folded.names, value, Source(dtype="float32", error_bound=error_bound)
        for product in self._split_sources:
            if product.value.size == weight.size:
                yield None, product.names, product.value, Source(dtype=product.whole.dtype)
        for name, value, terms in computed_origins(self.reference, weight.size):
            yield None, (name,), value, terms

    def _sources(self, weight: StoredWeight) -> list[StoredWeight]:
        """Sort the reference's weights of this size by digest, name and position."""
        shares = [max(len(side.stored), 1) for side in (self.reference, self.candidate)]

        def rank(each: StoredWeight) -> tuple[bool, bool, float]:
            return (
                each.value_digest != weight.value_digest,
                each.name != weight.name,
                abs(each.order / shares[0] - weight.order / shares[1]),
            )

        return sorted(self._by_size.get(weight.size, ()), key=rank)

    def _evidence(
        self, weight: StoredWeight, source: StoredWeight | Folded | None, elements: Elements
    ) -> tuple[str, ...]:
        """Return the evidence that the weight was made from ``source``; empty if there is none.

        Elements that agree more often than they differ, and are not all equal, do not agree by
        chance. Where they are not informative, a bias is identified by its kernel.
        """
        if isinstance(source, StoredWeight):
            if not same_use(weight, source) or self._used_up(source):
                return ()
            named = ("provenance",) if source.name == weight.name else ()
            known = elements.informative > elements.count or many_units_off(weight, elements)
            return ("value", *named) if known else ()
        if not weight.direct:
            return ()
        belongs_to = ("structure",) if self._biases.belongs_to(weight, source) else ()
        return ("value", *belongs_to) if belongs_to or elements.informative > elements.count else ()

    def _used_up(self, source: StoredWeight) -> bool:
        """Whether every reader of a weight already has a counterpart."""
        return self._taken.get(source.name, 0) >= len(source.readers)
