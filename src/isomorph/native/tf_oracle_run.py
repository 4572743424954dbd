"""One evaluation of a program: which width each node computes in, and what noise it gets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from isomorph.core.errors import IsomorphError
from isomorph.core.trace import Noise
from isomorph.kernels.dtypes import HALVES, is_float, numpy_dtype
from isomorph.kernels.held import Held, lifted
from isomorph.kernels.noise import Array, Rounding, generator, unit_roundoff
from isomorph.kernels.rounding_rules import (
    difference,
    disturbed_attributes,
    stored_noise,
)
from isomorph.kernels.table import Call
from isomorph.native.tf_kernels_random import RANDOM
from isomorph.native.tf_noise import arithmetic_unit_of, computed_by, rounds_nothing
from isomorph.native.tf_oracle_control import BODIES, DEAD, SWITCHES, run_bodies, run_switch
from isomorph.native.tf_oracle_execute import execute, failed
from isomorph.native.tf_oracle_lists import LISTS
from isomorph.native.tf_oracle_support import (
    DISCRETE,
    NOTHING,
    PASSES,
    SHAPE_ONLY,
    dtypes_of,
    is_inexact,
    narrow_only,
    works_in_floats,
)
from isomorph.native.tf_program import TfNode, TfProgram

Read = Callable[[str], Held]
Site = tuple[Any, ...]
"""Where a node stands: its name with those of the bodies around it, and the rounds of loops."""


class Run:
    """The state of one evaluation: the noise, and the stored values of bodies."""

    def __init__(
        self,
        noise: Noise | None,
        stored: Callable[[TfProgram], dict[str, Held]],
        magnitudes: dict[Any, Array] | None = None,
    ) -> None:
        self.noise, self._stored = noise, stored
        self.source: Rounding | None = None
        if noise is not None and (noise.rounding or noise.quantisers):
            self.source = Rounding(noise.seed, quantisers=noise.quantisers, cache=magnitudes)

    def step(
        self, program: TfProgram, node: TfNode, read: Read, place: str = "", rounds: Site = ()
    ) -> list[Held]:
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
        site = (place + node.name, *rounds)
        fixed = all(held.constant for held in inputs) and node.op not in RANDOM
        call = _call(program, node, site, constant=fixed)
        try:
            with np.errstate(all="ignore"):
                if node.op in SHAPE_ONLY or fixed:
                    return self._among_constants(program, node, call, inputs)
                return self._on_data(program, node, call, inputs)
        except (IsomorphError, MemoryError):
            raise
        except Exception as error:
            raise failed(place + node.name, node.op, error) from error

    def constant(self, name: str, held: Held) -> Held:
        """The stored value, disturbed by one rounding of its type where the noise names it."""
        noise = self.noise
        if noise is None or not held.constant or name not in noise.constants:
            return held
        if not is_float(held.dtype) or not isinstance(held.data, np.ndarray):
            return held
        draw = generator(noise.seed, ("constant", name)).standard_normal(held.data.shape)
        shift = unit_roundoff(held.dtype) * lifted(held.data) * draw
        shift = np.where(np.isfinite(shift), shift, 0.0)
        return Held(held.data, dtype=held.dtype, constant=True, shift=shift)

    def _bodies(
        self,
        program: TfProgram,
        node: TfNode,
        inputs: Sequence[Held],
        place: str,
        rounds: Site,
    ) -> list[Held]:
        def run(
            body: TfProgram, given: Sequence[Held], inner: str, trip: tuple[int, ...]
        ) -> list[Held]:
            return self._whole(body, given, place + inner, (*rounds, *trip))

        return run_bodies(node, program, inputs, run)

    def _whole(
        self, body: TfProgram, given: Sequence[Held], place: str, rounds: Site
    ) -> list[Held]:
        """A body from its inputs to its outputs."""
        values = dict(zip((port.tensor for port in body.inputs), given, strict=True))
        stored = self._stored(body)

        def read(name: str) -> Held:
            return values[name] if name in values else self.constant(place + name, stored[name])

        for node in body.nodes:
            outputs = self.step(body, node, read, place, rounds)
            values.update(zip(node.outputs, outputs, strict=False))
        return [read(port.tensor) for port in body.outputs]

    def _on_data(
        self, program: TfProgram, node: TfNode, call: Call, inputs: Sequence[Held]
    ) -> list[Held]:
        declared = dtypes_of(program, node.outputs)
        if node.op not in LISTS and narrow_only(program, node):
            arrays = [_narrow(held) for held in inputs]
            results = execute(node.op, call.attributes, arrays, call.outputs, wide=False)
        else:
            results = self._disturbed(program, node, call, [held.wide() for held in inputs])
        pairs = zip(results, declared, strict=False)
        return [Held(lifted(result), dtype=dtype) for result, dtype in pairs]

    def _among_constants(
        self, program: TfProgram, node: TfNode, call: Call, inputs: Sequence[Held]
    ) -> list[Held]:
        declared = dtypes_of(program, node.outputs)
        if node.op in LISTS:
            results = _listed(call, [held.data for held in inputs])
        elif node.op in SHAPE_ONLY:
            arrays = [_narrow(held) for held in inputs]
            results = execute(node.op, call.attributes, arrays, call.outputs, wide=False)
        else:
            arrays = [held.data for held in inputs]
            results = execute(node.op, call.attributes, arrays, call.outputs, wide=False)
        shifts = self._shifts(program, node, call, inputs)
        return [
            Held(result, dtype=dtype, constant=True, shift=shift)
            for result, dtype, shift in zip(results, declared, shifts, strict=False)
        ]

    def _shifts(
        self, program: TfProgram, node: TfNode, call: Call, inputs: Sequence[Held]
    ) -> list[Array | None]:
        """The noise of a node among constants: how far the lifted evaluation moves under it.

        The declared value keeps its meaning; the noise is measured beside it, in float64.
        """
        silent: list[Array | None] = [None] * call.outputs
        noise = self.noise
        if noise is None or node.op in DISCRETE | SHAPE_ONLY | LISTS.keys():
            return silent
        if not any(map(is_inexact, dtypes_of(program, node.outputs))):
            return silent
        shifted = any(held.shift is not None for held in inputs)
        rounding = noise.rounding and not rounds_nothing(node.op)
        if not (shifted or rounding or noise.attributes or noise.quantisers):
            return silent
        still = _computed(program, node, call, [held.still() for held in inputs])
        moved = self._disturbed(program, node, call, [held.wide() for held in inputs])
        return [difference(one, other) for one, other in zip(moved, still, strict=True)]

    def _disturbed(
        self, program: TfProgram, node: TfNode, call: Call, arrays: list[Any]
    ) -> tuple[Any, ...]:
        """The node's outputs in float64, under the noise of this evaluation if there is any."""
        noise = self.noise
        if noise is not None and noise.attributes:
            random = generator(noise.seed, (*call.site, "attributes"))
            call = replace(call, attributes=disturbed_attributes(call.attributes, random))
        if self.source is None or noise is None:
            return _computed(program, node, call, arrays)
        unit = arithmetic_unit_of(node.op, call.dtype) if noise.rounding else 0.0
        self.source.enter(call.site, unit)
        call = replace(call, noise=self.source)
        results = _computed(program, node, call, arrays)
        if noise.rounding and call.dtype in HALVES and not rounds_nothing(node.op):
            return tuple(stored_noise(result, call.dtype, self.source) for result in results)
        return results


def _computed(
    program: TfProgram, node: TfNode, call: Call, arrays: Sequence[Any]
) -> tuple[Any, ...]:
    if node.op in LISTS:
        return _listed(call, arrays)
    if not works_in_floats(program, node):
        return execute(node.op, call.attributes, arrays, call.outputs, wide=False)
    results: tuple[Any, ...] = computed_by(node.op)(call, *arrays)
    return results


def _listed(call: Call, values: Sequence[Any]) -> tuple[Any, ...]:
    results = LISTS[call.op](call, *values)
    return results if isinstance(results, tuple) else (results,)


def _narrow(held: Held) -> Any:  # noqa: ANN401
    """A value in its declared type, whatever width it is held in."""
    if isinstance(held.data, np.ndarray) and is_inexact(held.dtype):
        kind = np.complex64 if held.dtype == "complex64" else numpy_dtype(str(held.dtype))
        return held.data.astype(kind, copy=False)
    return held.data


def _call(program: TfProgram, node: TfNode, site: Site, *, constant: bool) -> Call:
    dtypes = dtypes_of(program, node.inputs)
    floats = [dtype for dtype in (*dtypes, *dtypes_of(program, node.outputs)) if is_float(dtype)]
    complexes = {"complex64": "float32", "complex128": "float64"}
    others = [complexes[dtype] for dtype in dtypes if dtype in complexes]
    return Call(
        op=node.op,
        attributes=node.attributes,
        outputs=len(node.outputs),
        dtype=next(iter((*floats, *others)), None),
        constant=constant,
        input_dtypes=dtypes,
        site=site,
    )
