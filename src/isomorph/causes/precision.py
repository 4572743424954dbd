"""A narrower float where it hurts: overflow to infinity, or too few digits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.experiments import experiment
from isomorph.core.fault_context import Certainty, Detail, Diagnosis, FaultContext, FaultSite
from isomorph.core.messages import message
from isomorph.core.patch import Patch, SetAttribute
from isomorph.core.report import Experiment, Fact
from isomorph.diagnose.cut_constants import CutConstant, cut_constants
from isomorph.diagnose.narrow_float import FLOATS, cut_off, narrowed
from isomorph.oracle.sizes import rms

if TYPE_CHECKING:
    from isomorph.core.execution import Execution

_NARROW = ("float16", "bfloat16", "float8")
_FLOAT = 1
"""ONNX's number for float32."""


class Precision:
    """float16, bfloat16 or tf32 where the values are too large or too fine for it.

    Recognized in a graph where a narrow float stands between right inputs and a wrong result,
    and the result is right once these nodes compute in float32. Recognized in a run by asking
    the runtime for full precision, and by the fingerprint: the oracle, given inputs rounded to
    the narrow type, lands near the run. A kernel that quantizes its activations when it runs, which
    no tensor shows, is recognized by its node.
    """

    name = "precision"
    sites = frozenset({FaultSite.GRAPH, FaultSite.RUN})

    def examine(self, context: FaultContext) -> Iterator[Diagnosis]:
        """Yield a diagnosis if a narrow float type lies between right inputs and the result."""
        if context.execution is not None:
            yield from _as_run(context, context.execution)
            return
        yield from map(_cut, cut_constants(context))
        narrow = [
            spec.dtype
            for node in context.nodes
            for name in node.outputs
            if (spec := context.candidate.tensors.get(name)) is not None
            and (spec.dtype or "").startswith(_NARROW)
        ]
        if not narrow:
            return
        overflow = bool(np.isfinite(context.right).all() and not np.isfinite(context.wrong).all())
        experiment = _raised(context, str(narrow[0]))
        confirmed = overflow or (experiment is not None and experiment.agrees)
        yield Diagnosis(
            cause="precision",
            certainty=Certainty.CONFIRMED if confirmed else Certainty.POSSIBLE,
            summary=message(
                "precision.overflow" if overflow else "precision.digits", dtype=narrow[0]
            ),
            evidence={"type": narrow[0], "largest": float(np.max(np.abs(context.right)))},
            experiments=(experiment,) if experiment is not None else (),
            fix=message("FIX.float32_tensor"),
            about=frozenset({str(narrow[0]), *((Detail.OVERFLOW,) if overflow else ())}),
        )


def _cut(found: CutConstant) -> Diagnosis:
    """A constant beyond the largest number of its type: no other number would be right."""
    return Diagnosis(
        cause="precision",
        certainty=Certainty.EVIDENT,
        summary=message(
            "precision.cut_many" if found.count > 1 else "precision.cut_one",
            constant=found.name,
            limit=found.limit,
            dtype=found.dtype,
            count=found.count,
            largest=found.largest,
        ),
        evidence={
            "type": found.dtype,
            "largest": found.largest,
            Fact.CONSTANT: found.name,
            Fact.PATCHABLE: False,
        },
        fix=message("FIX.float32_node"),
        about=frozenset({found.dtype, Detail.OVERFLOW}),
    )


def _raised(context: FaultContext, narrow: str) -> Experiment | None:
    """The casts to the narrow type lead to float32 instead, where there are such casts."""
    edits = tuple(
        SetAttribute(node=node.name, name="to", value=_FLOAT)
        for node in context.nodes
        if node.op == "Cast"
        and (context.candidate.declared_dtype(node.outputs[0]) or "").startswith(_NARROW)
    )
    found = (
        context.rehearse(Patch(summary=message("PATCH.float32"), edits=edits)) if edits else None
    )
    if found is None:
        return None
    right = context.equals(found)
    return experiment("precision.node", agrees=right, dtype=narrow, node=context.node.name)


def _as_run(context: FaultContext, execution: Execution) -> Iterator[Diagnosis]:
    """The runtime's own choice of precision: asked for otherwise, and recognized by its marks."""
    experiments = []
    switch = None
    now = execution.environment.settings
    for each in execution.switches:
        in_force = all(now.get(key) == value for key, value in each.settings.items())
        if each.kind != "precision" or in_force:
            continue
        right = execution.right(each.settings)
        if right is None:
            continue
        experiments.append(experiment("precision.run", agrees=right, switch=each.name))
        switch = switch or (each if right else None)
    named, mark = _fingerprint(context, execution)
    if switch is not None and switch.dtype:
        named = switch.dtype  # float16 leaves the same marks in numbers of its range
    experiments += [mark] if mark is not None else []
    declared = execution.environment.precision
    wide = declared in {"as declared", "float32", "float64"}
    if switch is None and wide and named is None:
        if experiments:
            yield Diagnosis(
                cause="precision",
                certainty=Certainty.REFUTED,
                summary=message("precision.full"),
                experiments=tuple(experiments),
            )
        return
    word = declared if not wide else named or message("precision.narrower")
    flags = " ".join(f"--set {k}={v}" for k, v in (switch.settings if switch else {}).items())
    yield Diagnosis(
        cause="precision",
        certainty=Certainty.CONFIRMED if switch is not None else Certainty.VISIBLE,
        summary=message("precision.run", dtype=word)
        if switch is None
        else message("precision.run_switch", dtype=word, switch=switch.name),
        experiments=tuple(experiments),
        evidence={"type": word},
        fix=message("FIX.run_with_or_budget", flags=flags) if flags else None,
        restores_run=switch is not None,
        about=frozenset({declared} if not wide else {named} if named is not None else ()),
    )


def _fingerprint(
    context: FaultContext, execution: Execution
) -> tuple[str | None, Experiment | None]:
    """The narrow type to which the oracle's inputs must be rounded to come near the run."""
    if (
        context.wrong.shape != context.right.shape
        or context.wrong.dtype.kind != "f"
        or not context.right.size
    ):
        return None, None
    gap = rms(context.wrong - context.right)
    left: dict[str, float] = {}
    # Tensor cores read float32 as tf32 by dropping digits; whoever converts first rounds.
    for kind, way in [*((kind, narrowed) for kind in FLOATS), ("tf32", cut_off)]:
        found = execution.imitated(partial(way, kind=kind))
        if found is not None and found.shape == context.wrong.shape:
            left[kind] = min(rms(context.wrong - found), left.get(kind, math.inf))
    # Rounding the inputs is most of what a narrow kernel does: the lesser part may be left.
    least = min(left.values(), default=gap)
    if not least < 0.5 * gap:
        return None, None
    # tf32 and float16 have the same digits, and differ in their range alone.
    named = " or ".join(kind for kind, error in left.items() if error == least)
    return named, experiment("precision.mark", dtype=named, gap=gap, least=least)
