"""One evaluation of a program: which width each node computes in, and what noise it gets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from isomorph.core.errors import IsomorphError
from isomorph.core.trace import Noise
from isomorph.frameworks.tensorflow.eval_control import (
    BODIES,
    DEAD,
    SWITCHES,
    run_bodies,
    run_switch,
)
from isomorph.frameworks.tensorflow.eval_native import failed
from isomorph.frameworks.tensorflow.eval_steps import Book, Step
from isomorph.frameworks.tensorflow.op_facts import (
    DISCRETE,
    NOTHING,
    PASSES,
    SHAPE_ONLY,
    is_inexact,
)
from isomorph.frameworks.tensorflow.op_noise import (
    arithmetic_unit_of,
    rounds_nothing,
    storage_steps,
)
from isomorph.frameworks.tensorflow.oracle_ops_random import RANDOM
from isomorph.frameworks.tensorflow.program import TfNode, TfProgram
from isomorph.frameworks.tensorflow.tensor_list_ops import LISTS
from isomorph.kernels.registry import Call
from isomorph.oracle.dtypes import HALVES, numpy_dtype
from isomorph.oracle.noise import Array, Rounding, generator
from isomorph.oracle.rounded_constants import rounded_again
from isomorph.oracle.rounding_rules import difference, disturbed_attributes, stored_noise
from isomorph.oracle.value import EvalValue, lifted

Read = Callable[[str], EvalValue]
Site = tuple[Any, ...]
"""Where a node stands: its name with those of the bodies around it, and the rounds of loops."""


class Run:
    """The state of one evaluation: the noise, and what is known of the programs."""

    def __init__(
        self, noise: Noise | None, book: Book, magnitudes: dict[Any, Array] | None = None
    ) -> None:
        self.noise, self._book = noise, book
        self.source: Rounding | None = None
        if noise is not None and (noise.rounding or noise.quantizers):
            self.source = Rounding(
                noise.seed, quantizers=noise.quantizers, scale=noise.scale, cache=magnitudes
            )

    def step(
        self, program: TfProgram, node: TfNode, read: Read, place: str = "", rounds: Site = ()
    ) -> list[EvalValue]:
        """The outputs of one node."""
        inputs = [read(name) for name in node.inputs]
        if node.op in SWITCHES:
            return run_switch(node, inputs)
        if DEAD in inputs:
            return [DEAD] * len(node.outputs)
        if node.op in PASSES:
            return inputs
        if node.op in NOTHING:
            return []
        if node.op in BODIES:
            return self._bodies(program, node, inputs, place, rounds)
        step = self._book.step(program, node)
        fixed = all(held.constant for held in inputs) and node.op not in RANDOM
        call = replace(step.call, site=(place + node.name, *rounds), constant=fixed)
        try:
            with np.errstate(all="ignore"):
                if fixed or node.op in SHAPE_ONLY:
                    return self._among_constants(step, call, inputs)
                return self._on_data(step, call, inputs)
        except (IsomorphError, MemoryError):
            raise
        except Exception as error:
            raise failed(place + node.name, node.op, error) from error

    def constant(self, name: str, held: EvalValue) -> EvalValue:
        """The stored value, disturbed by one rounding of its type where the noise names it."""
        return rounded_again(name, held, self.noise)

    def _bodies(
        self,
        program: TfProgram,
        node: TfNode,
        inputs: Sequence[EvalValue],
        place: str,
        rounds: Site,
    ) -> list[EvalValue]:
        def run(
            body: TfProgram, given: Sequence[EvalValue], inner: str, trip: tuple[int, ...]
        ) -> list[EvalValue]:
            return self._whole(body, given, place + inner, (*rounds, *trip))

        return run_bodies(node, program, inputs, run)

    def _whole(
        self, body: TfProgram, given: Sequence[EvalValue], place: str, rounds: Site
    ) -> list[EvalValue]:
        """A body from its inputs to its outputs."""
        values = dict(zip((port.tensor for port in body.inputs), given, strict=True))
        stored = self._book.stored(body)

        def read(name: str) -> EvalValue:
            return values[name] if name in values else self.constant(place + name, stored[name])

        for node in body.nodes:
            outputs = self.step(body, node, read, place, rounds)
            # A node may leave outputs out; one that lacks fails where it is read.
            values.update(zip(node.outputs, outputs, strict=False))
        return [read(port.tensor) for port in body.outputs]

    def _on_data(self, step: Step, call: Call, inputs: Sequence[EvalValue]) -> list[EvalValue]:
        if step.narrow:
            results = step.declared(call, *map(_narrow, inputs))
        else:
            results = self._disturbed(step, call, [_wide(held) for held in inputs])
        return [
            EvalValue(result if isinstance(result, list) else lifted(result), dtype=dtype)
            # A kernel gives outputs that the node leaves out.
            for result, dtype in zip(results, step.dtypes, strict=False)
        ]

    def _among_constants(
        self, step: Step, call: Call, inputs: Sequence[EvalValue]
    ) -> list[EvalValue]:
        results = step.declared(call, *map(_narrow, inputs))
        shifts = self._shifts(step, call, inputs)
        return [
            EvalValue(result, dtype=dtype, constant=True, shift=shift)
            # A kernel gives outputs that the node leaves out.
            for result, dtype, shift in zip(results, step.dtypes, shifts, strict=False)
        ]

    def _shifts(self, step: Step, call: Call, inputs: Sequence[EvalValue]) -> list[Array | None]:
        """The noise of a node among constants: how far the lifted evaluation moves under it.

        The declared value keeps its meaning; the noise is measured beside it, in float64.
        """
        silent: list[Array | None] = [None] * call.outputs
        noise = self.noise
        if noise is None or not step.inexact or call.op in _NO_SPREAD:
            return silent
        shifted = any(held.shift is not None for held in inputs)
        rounding = noise.rounding and not rounds_nothing(call.op)
        if not (shifted or rounding or noise.quantizers or (noise.attributes and step.disturbable)):
            return silent
        still = step.compute(call, *(held.still() for held in inputs))
        moved = self._disturbed(step, call, [held.wide() for held in inputs])
        return [difference(one, other) for one, other in zip(moved, still, strict=True)]

    def _disturbed(self, step: Step, call: Call, arrays: list[Any]) -> tuple[Any, ...]:
        """The node's outputs in float64, under the noise of this evaluation if there is any."""
        noise = self.noise
        if noise is not None and noise.attributes and step.disturbable:
            random = generator(noise.seed, (*call.site, "attributes"))
            call = replace(call, attributes=disturbed_attributes(call.attributes, random))
        if self.source is None or noise is None:
            silent: tuple[Any, ...] = step.compute(call, *arrays)
            return silent
        unit = arithmetic_unit_of(call.op, call.dtype) if noise.rounding else 0.0
        self.source.enter(call.site, unit)
        results: tuple[Any, ...] = step.compute(replace(call, noise=self.source), *arrays)
        if noise.rounding and call.dtype in HALVES and not rounds_nothing(call.op):
            steps = storage_steps(call.op, call.dtype)
            return tuple(stored_noise(each, call.dtype, self.source, steps) for each in results)
        return results


_NO_SPREAD = DISCRETE | SHAPE_ONLY | LISTS.keys()
"""Nodes among constants whose results noise cannot move, or must not."""


def _wide(held: EvalValue) -> Any:  # noqa: ANN401
    """A value in float64; one that depends on data is held so."""
    return held.wide() if held.constant else held.data


def _narrow(held: EvalValue) -> Any:  # noqa: ANN401
    """A value in its declared type, whatever width it is held in."""
    if isinstance(held.data, np.ndarray) and is_inexact(held.dtype):
        return held.data.astype(numpy_dtype(str(held.dtype)), copy=False)
    return held.data
