"""The affine forms of a graph beside its intervals, for models of few inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.bounds.affine import AffineForm, affine_outputs, constant_form, input_forms
from isomorph.bounds.interval import Interval
from isomorph.core.search_limits import (
    AFFINE_ELEMENTS,
    AFFINE_NUMBERS,
    AFFINE_TERMS,
    AFFINE_WORTH,
)

if TYPE_CHECKING:
    from isomorph.bounds.node_inputs import NodeInputs


class AffineWalk:
    """The forms of the tensors that are still read; none where the inputs are too many."""

    def __init__(self, box: Mapping[str, Interval], most: int) -> None:
        """``most``: so many terms has a form."""
        elements = sum(int(np.count_nonzero(~each.is_point)) for each in box.values())
        self._forms: dict[str, AffineForm] = {}
        self._most = min(AFFINE_TERMS, most)
        self.active = 0 < elements <= min(AFFINE_ELEMENTS, self._most)
        if self.active:
            self._forms = input_forms({name: each for name, each in box.items() if each.bounded})
        self.terms = len(next(iter(self._forms.values())).slopes) if self._forms else 0

    def narrowed(
        self, inputs: NodeInputs, names: Sequence[str], plain: Sequence[Interval]
    ) -> list[Interval]:
        """The bounds of the outputs of a node by both methods, the narrower ones."""
        if not self.active or not self.terms:
            return list(plain)
        read = {}
        for name, interval in inputs.intervals.items():
            form = self._forms.get(name) or constant_form(interval, self.terms)
            if form is None:
                return list(plain)
            read[name] = form.padded(self.terms)
        found: Sequence[AffineForm | None] = affine_outputs(inputs, read) or [None] * len(plain)
        results = []
        for name, interval, form in zip(names, plain, found, strict=True):
            if form is None or not form.finite:
                results.append(interval)
                continue
            self._keep(name, form)
            results.append(_both(interval, form.interval))
        return results

    def forget(self, name: str) -> None:
        """Let go of the form of a tensor that nothing reads any more."""
        self._forms.pop(name, None)

    def _keep(self, name: str, form: AffineForm) -> None:
        """Keep a form; if they are few, the rests of its elements get an ε of their own."""
        places = np.flatnonzero(form.rest)
        # Rounding leaves a rest everywhere, which is not worth an ε.
        reach = np.abs(form.slopes).sum(axis=0).reshape(-1)[places]
        places = places[form.rest.reshape(-1)[places] > AFFINE_WORTH * reach]
        if places.size and self.terms + places.size <= self._most:
            slopes = np.zeros((places.size, form.rest.size))
            slopes[np.arange(places.size), places] = form.rest.reshape(-1)[places]
            rest = form.rest.copy().reshape(-1)
            rest[places] = 0.0
            form = replace(
                form,
                slopes=np.concatenate([form.slopes, slopes.reshape(-1, *form.rest.shape)]),
                rest=rest.reshape(form.rest.shape),
            )
            self.terms += places.size
        if form.slopes.size <= AFFINE_NUMBERS:
            self._forms[name] = form


def _both(one: Interval, two: Interval) -> Interval:
    """What lies in both; each holds, so that they have a common part."""
    lower, upper = np.maximum(one.lower, two.lower), np.minimum(one.upper, two.upper)
    crossed = lower > upper
    return Interval(
        np.where(crossed, one.lower, lower),
        np.where(crossed, one.upper, upper),
        may_be_nan=one.may_be_nan,
    )
