"""Evaluates nodes in float64: on data, among constants, or by the rule of a control-flow node.

A node that depends on fed data is computed in float64. One that depends on stored constants and
shapes alone is computed in its declared types, because there the width is part of the meaning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import is_
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.errors import IsomorphError
from isomorph.oracle.noise import NO_NOISE
from isomorph.oracle.plan import releases_of
from isomorph.oracle.shared_constants import SharedConstants, Unchanged
from isomorph.oracle.step import DECLARED, Body, K, Read, Scope, Step
from isomorph.oracle.value import ABSENT, DEAD, EvalValue, stored

if TYPE_CHECKING:
    from isomorph.oracle.arithmetic import Arithmetic


class Executor:
    """One evaluation. ``states`` are the values that nodes keep within it, such as variables.

    ``shared`` has what nodes of several evaluations make of the same constants.
    """

    def __init__(self, arithmetic: Arithmetic, shared: SharedConstants | None = None) -> None:
        self.arithmetic = arithmetic
        self.states: dict[Any, EvalValue] = {}
        self._moved: dict[str, tuple[EvalValue, EvalValue]] = {}
        self._releases: dict[int, tuple[tuple[Any, ...], ...]] = {}
        self._shares = shared is not None
        self._shared = SharedConstants() if shared is None else shared

    def body(
        self,
        body: Body[K],
        given: Mapping[K, EvalValue],
        scope: Scope,
        outer: Read | None = None,
    ) -> list[EvalValue]:
        """The outputs of a body; tensors that it lacks are read from ``outer``."""
        values = dict(given)

        def read(key: K) -> EvalValue:
            if key in values:
                return values[key]
            found = body.stored(key, self, scope)
            if found is not None:
                return self._constant(body.name(key, scope), found)
            return ABSENT if outer is None or key == "" else outer(key)

        for step, finished in zip(body.steps, self._releases_in(body), strict=True):
            # A node may leave optional outputs out; one that lacks fails where it is read.
            for key, value in zip(step.outputs, self.step(step, read, scope), strict=False):
                values[key] = self.arithmetic.stored(body.name(key, scope), value)
            for key in finished:
                values.pop(key, None)
        return [read(key) for key in body.outputs]

    def _constant(self, name: str, value: EvalValue) -> EvalValue:
        """The constant of a body as the noise moves it: in every round of a loop alike."""
        kept = self._moved.get(name)
        if kept is not None and kept[0] is value:
            return kept[1]
        moved = self.arithmetic.stored(name, value)
        if moved is not value:
            self._moved[name] = value, moved
        return moved

    def _releases_in(self, body: Body[Any]) -> tuple[tuple[Any, ...], ...]:
        """The tensors that each step of a body reads last; a loop runs its body many times."""
        # A program keeps its bodies, so that none takes the identity of another during a run.
        if id(body) not in self._releases:
            self._releases[id(body)] = releases_of(body.steps, frozenset(body.outputs))
        return self._releases[id(body)]

    def step(self, step: Step[Any], read: Read, scope: Scope) -> list[EvalValue]:
        """The outputs of one node."""
        inputs = [ABSENT if key == step.absent else read(key) for key in step.inputs]
        if step.passes:
            return [DEAD] * len(step.outputs) if DEAD in inputs else inputs
        if step.rule is not None:
            return step.rule(self, step, inputs, read, scope)
        if DEAD in inputs:
            return [DEAD] * len(step.outputs)
        fixed = not step.random and all(value.constant for value in inputs)
        try:
            with np.errstate(all="ignore"):
                if fixed and step.exact and (scope.rounds or self._shares):
                    return self._once(self._shared.unchanged, step, inputs, scope)
                if fixed and self._shares and not scope.rounds:
                    return self._once(self._shared.moved, step, inputs, scope)
                if fixed or step.shape_only:
                    return self._among_constants(step, inputs, scope)
                return self._on_data(step, inputs, scope)
        except (IsomorphError, MemoryError):
            raise
        except Exception as error:
            raise step.failed(error, scope) from error

    def _on_data(
        self, step: Step[Any], inputs: Sequence[EvalValue], scope: Scope
    ) -> list[EvalValue]:
        site = step.site(scope)
        call, declared = step.call(inputs, site, constant=False)
        if self._shares and (places := step.weight_places):
            read = [inputs[place] for place in places if place < len(inputs)]
            if all(each.constant for each in read):
                call = replace(call, shared=partial(self._shared.weights.of, site, read))
        if step.narrow:
            results = step.compute_declared(call, step.operands(inputs, DECLARED, NO_NOISE))
        else:
            results = self.arithmetic.compute(step, call, inputs)
        # What is left behind the outputs are states.
        for (key, dtype), result in zip(step.states, results[len(step.outputs) :], strict=False):
            self.states[key] = EvalValue.computed(result, dtype)
        values = [
            EvalValue.computed(result, step.tag(result, dtype))
            # A kernel gives optional outputs that the node leaves out.
            for result, dtype in zip(results, declared, strict=False)
        ]
        if (table := step.table(inputs)) is not None:
            for value in values:
                value.table = table
        return values

    def _once(
        self, unchanged: Unchanged, step: Step[Any], inputs: list[EvalValue], scope: Scope
    ) -> list[EvalValue]:
        """What a step makes of constants; computed anew only for other ones.

        A loop slices and transposes its weights in every round, and so do draws side by side.
        """
        kept = unchanged.get(id(step))
        if kept is not None and all(map(is_, kept[0], inputs)):
            return kept[1]
        outputs = self._among_constants(step, inputs, scope)
        unchanged[id(step)] = inputs, outputs
        return outputs

    def _among_constants(
        self, step: Step[Any], inputs: Sequence[EvalValue], scope: Scope
    ) -> list[EvalValue]:
        call, declared = step.call(inputs, step.site(scope), constant=True)
        results = step.compute_declared(call, step.operands(inputs, DECLARED, NO_NOISE))
        # A kernel gives optional outputs that the node leaves out.
        tags = [step.tag(result, dtype) for result, dtype in zip(results, declared, strict=False)]
        values = [
            EvalValue(stored(result, tag), dtype=tag, constant=True)
            # States stand behind the outputs.
            for result, tag in zip(results, tags, strict=False)
        ]
        return self.arithmetic.constants(step, call, inputs, values)
