"""One evaluation of a program: which width each node computes in, and what noise it gets."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from isomorph.core.errors import IsomorphError, RuntimeFailedError
from isomorph.core.ops import RANDOM
from isomorph.core.trace import Noise
from isomorph.frameworks.onnx import eval_control as control
from isomorph.frameworks.onnx.declared_types import declared_outputs
from isomorph.frameworks.onnx.eval_program import Program, Step
from isomorph.frameworks.onnx.op_facts import DISCRETE, EXACT, KEPT_AS_DECLARED, SHAPE_ONLY
from isomorph.kernels.registry import Call
from isomorph.oracle.dtypes import HALVES, is_float, numpy_dtype
from isomorph.oracle.noise import (
    Array,
    Rounding,
    generator,
)
from isomorph.oracle.rounding_rules import (
    arithmetic_unit,
    difference,
    disturbed_attributes,
    is_inexact_number,
    own_noise,
    stored_noise,
)
from isomorph.oracle.value import ABSENT, EvalValue, element_type, lifted, stored

_LOOK_UPS = frozenset({"Gather", "GatherElements", "GatherND"})

Site = tuple[int, ...]
Read = Callable[[str], EvalValue]


class Run:
    """The state of one evaluation: the noise, and nothing else."""

    def __init__(self, noise: Noise | None, magnitudes: dict[Any, Array] | None = None) -> None:
        self.noise = noise
        self.source: Rounding | None = None
        if noise is not None and (noise.rounding or noise.quantizers):
            self.source = Rounding(
                noise.seed, quantizers=noise.quantizers, scale=noise.scale, cache=magnitudes
            )

    def program(
        self, program: Program, given: Mapping[str, EvalValue], outer: Read | None, site: Site
    ) -> list[EvalValue]:
        """A body or function from beginning to end; names it lacks are read from ``outer``."""
        values = {**program.initializers, **given}

        def read(name: str) -> EvalValue:
            if name in values:
                return values[name]
            return ABSENT if outer is None or not name else outer(name)

        for step in program.steps:
            # A node may leave optional outputs out; one that lacks fails where it is read.
            values.update(zip(step.outputs, self.step(step, read, site), strict=False))
        return [read(name) for name in program.outputs]

    def step(self, step: Step, read: Read, site: Site) -> list[EvalValue]:
        """The outputs of one node."""
        site = (*site, step.index)
        if step.bodies:
            return control.run(self, step, read, site)
        inputs = [read(name) if name else ABSENT for name in step.inputs]
        program = step.program
        if step.expand is not None:
            program = step.expand([(held.dtype, _shape(held)) for held in inputs])
        if program is not None:
            given = dict.fromkeys(program.inputs, ABSENT)
            # A call may leave optional inputs out.
            given.update(zip(program.inputs, inputs, strict=False))
            return self.program(program, given, None, site)
        fixed = all(held.constant for held in inputs) and step.op not in RANDOM
        if step.op in SHAPE_ONLY or fixed:
            return self._among_constants(step, inputs, site)
        return self._on_data(step, inputs, site)

    def _on_data(self, step: Step, inputs: Sequence[EvalValue], site: Site) -> list[EvalValue]:
        declared = declared_outputs(step, [held.dtype for held in inputs])
        call = _call(step, inputs, declared, site, constant=False)
        arrays = [_consumed(step, index, held) for index, held in enumerate(inputs)]
        results = self._disturbed(step, call, arrays, site)
        return [
            EvalValue(lifted(result), dtype=_tag(result, dtype))
            # A kernel gives optional outputs that the node leaves out.
            for result, dtype in zip(results, declared, strict=False)
        ]

    def _among_constants(
        self, step: Step, inputs: Sequence[EvalValue], site: Site
    ) -> list[EvalValue]:
        declared = declared_outputs(step, [held.dtype for held in inputs])
        call = _call(step, inputs, declared, site, constant=True)
        results = _compute(step, call, [held.working() for held in inputs])
        # A kernel gives optional outputs that the node leaves out.
        tags = [_tag(result, dtype) for result, dtype in zip(results, declared, strict=False)]
        shifts = self._shifts(step, call, inputs, tags, site)
        return [
            EvalValue(stored(result, tag), dtype=tag, constant=True, shift=shift)
            for result, tag, shift in zip(results, tags, shifts, strict=True)
        ]

    def _shifts(
        self,
        step: Step,
        call: Call,
        inputs: Sequence[EvalValue],
        tags: Sequence[str | None],
        site: Site,
    ) -> list[Array | None]:
        """The noise of a node among constants: how far the lifted evaluation moves under it.

        The declared value keeps its meaning; the noise is measured beside it, in float64.
        """
        silent: list[Array | None] = [None] * len(tags)
        noise = self.noise
        if noise is None or step.op in DISCRETE or step.op in SHAPE_ONLY:
            return silent
        moved_inputs = any(held.shift is not None for held in inputs)
        makes_noise = (noise.rounding and step.op not in EXACT) or noise.attributes
        if not (moved_inputs or (makes_noise and any(map(is_float, tags))) or noise.quantizers):
            return silent
        still = _compute(step, call, [held.still() for held in inputs])
        moved = self._disturbed(step, call, [held.wide() for held in inputs], site)
        return [difference(one, other) for one, other in zip(moved, still, strict=True)]

    def _disturbed(self, step: Step, call: Call, arrays: list[Any], site: Site) -> tuple[Any, ...]:
        """The node's outputs under the noise of this evaluation, if there is any."""
        noise = self.noise
        if noise is not None and noise.attributes and _has_inexact(step):
            random = generator(noise.seed, (*site, "attributes"))
            call = replace(call, attributes=disturbed_attributes(step.attributes, random))
        if self.source is None or noise is None:
            return _compute(step, call, arrays)
        self.source.enter(site, arithmetic_unit(call.dtype) if noise.rounding else 0.0)
        call = replace(call, noise=self.source)
        rough = step.kernel is None and step.op not in EXACT
        if rough:
            # The reference evaluator's inner steps are out of reach: one rounding before, one
            # after.
            arrays = [own_noise(array, self.source) for array in arrays]
        results = _compute(step, call, arrays)
        if rough:
            results = tuple(own_noise(result, self.source) for result in results)
        if noise.rounding and call.dtype in HALVES and step.op not in EXACT:
            results = tuple(stored_noise(result, call.dtype, self.source) for result in results)
        return results


def _has_inexact(step: Step) -> bool:
    return step.op != "Constant" and any(map(is_inexact_number, step.attributes.values()))


def _shape(held: EvalValue) -> tuple[int, ...] | None:
    return held.data.shape if isinstance(held.data, np.ndarray) else None


def _call(
    step: Step,
    inputs: Sequence[EvalValue],
    declared: Sequence[str | None],
    site: Site,
    *,
    constant: bool,
) -> Call:
    dtypes = tuple(held.dtype for held in inputs)
    floats = [dtype for dtype in (*dtypes, *declared) if is_float(dtype)]
    return Call(
        op=step.op,
        domain=step.domain,
        version=step.version,
        attributes=step.attributes,
        outputs=len(step.outputs),
        dtype=floats[0] if floats else None,
        constant=constant,
        input_dtypes=dtypes,
        site=site,
    )


def _consumed(step: Step, index: int, held: EvalValue) -> Any:  # noqa: ANN401
    if index in KEPT_AS_DECLARED.get(step.op, ()) and is_float(held.dtype):
        return np.asarray(held.data).astype(numpy_dtype(str(held.dtype)))
    if index == 0 and step.op in _LOOK_UPS and held.constant and held.shift is None:
        # A table is looked up as it is stored, and what was found is lifted: lifting the whole
        # of it would take three times its memory.
        return held.data
    return held.wide()


def _compute(step: Step, call: Call, arrays: Sequence[Any]) -> tuple[Any, ...]:
    try:
        with np.errstate(all="ignore"):
            if step.kernel is not None:
                results = step.kernel(call, *arrays)
            else:
                results = _refer(step, call, arrays)
    except (IsomorphError, MemoryError):
        raise
    except Exception as error:
        raise RuntimeFailedError(
            "NODE_FAILED",
            "the oracle could not compute a node",
            where=f"{step.name} ({step.domain or 'ai.onnx'}::{step.op})",
            why=f"{type(error).__name__}: {error}",
            fix="check the shapes and attributes of this node's inputs",
        ) from error
    if not isinstance(results, tuple):
        results = (results,)
    return tuple(np.asarray(r) if isinstance(r, np.generic) else r for r in results)


def _refer(step: Step, call: Call, arrays: Sequence[Any]) -> tuple[Any, ...]:
    changed = call.attributes if call.attributes is not step.attributes else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return step.reference(arrays, changed) if step.reference is not None else ()


def _tag(result: Any, declared: str | None) -> str | None:  # noqa: ANN401
    own = element_type(result)
    if declared is not None and not is_float(declared):
        return declared
    return declared if declared is not None and (own is None or is_float(own)) else own
