"""The implementation of one operator does not do what the operator means."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.experiments import experiment
from isomorph.core.fault_context import Certainty, Diagnosis, FaultContext, FaultSite
from isomorph.core.messages import message
from isomorph.core.report import Experiment, Fact
from isomorph.diagnose import int16_saturation

if TYPE_CHECKING:
    from isomorph.core.execution import Execution
    from isomorph.core.trace import Array


class Kernel:
    """A kernel of the runtime is wrong, flushes subnormal numbers, or treats NaN its own way.

    Recognized by running the faulty node alone, every optimizer off, fed with the oracle's
    values: if it is still off, nothing around it is the cause. Then what sets it right: the
    runtime's other kernels, another runtime, or an oracle that reads subnormal numbers as zero.
    Products of unsigned and signed bytes whose sums of pairs stop at 16 bits, as on processors
    without VNNI, are emulated: if the emulation lands on the run, that is the reason.
    """

    name = "kernel"
    sites = frozenset({FaultSite.RUN})

    def examine(self, context: FaultContext) -> Iterator[Diagnosis]:
        """Yield a diagnosis if the node alone is wrong; surest if another kernel is right."""
        execution = context.execution
        if execution is None:
            return
        found = execution.alone(execution.environment.runtime, execution.plain)
        if found is None:
            yield Diagnosis(
                cause="kernel",
                certainty=Certainty.POSSIBLE,
                summary=message("kernel.not_run_alone"),
            )
            return
        off = not context.equals(found)
        alone = experiment("kernel.alone", agrees=off, op=context.node.op)
        if not off:
            yield Diagnosis(
                cause="kernel",
                certainty=Certainty.REFUTED,
                summary=message("kernel.right_alone"),
                experiments=(alone,),
            )
            return
        stopped = _saturated(context)
        other = _other_kernels(execution)
        reasons = (_flushed(context, found), stopped, other)
        decisive = [each[:2] for each in reasons if each]
        others = list(_other_runtimes(context, execution))
        off_alone = message(
            "kernel.off",
            op=context.node.op,
            runtime=execution.environment.runtime,
            where=_special(context, found),
        )
        yield Diagnosis(
            cause="kernel",
            certainty=Certainty.CONFIRMED if decisive else Certainty.VISIBLE,
            summary="; ".join([off_alone, *(text for text, _ in decisive)]),
            experiments=(alone, *(each for _, each in decisive), *others),
            evidence={
                "operator": context.node.native_op,
                **({Fact.SATURATED_SUMS: stopped[2]} if stopped else {}),
            },
            fix=message("FIX.seven_bits" if stopped else "FIX.other_kernel"),
            restores_run=other is not None,
        )


def _flushed(context: FaultContext, found: Array) -> tuple[str, Experiment] | None:
    """Whether the node reads subnormal numbers as zero."""
    execution = context.execution
    imitation = execution.imitated(_without_subnormals) if execution is not None else None
    if imitation is None or np.array_equal(imitation, context.right) or context.equals(imitation):
        return None  # no subnormal number reaches it, so this cannot be the reason
    with np.errstate(invalid="ignore"):
        near = np.abs(imitation - found.astype(np.float64)) < np.abs(imitation - context.right)
    lost = ~np.isclose(imitation, context.right, rtol=0.0, atol=0.0, equal_nan=True)
    if not np.all(near[lost]):
        return None
    return message("kernel.subnormal"), experiment("kernel.subnormal", op=context.node.op)


def _saturated(context: FaultContext) -> tuple[str, Experiment, int] | None:
    """Whether sums of two products of bytes stopped at 16 bits, and at how many places."""
    if len(context.nodes) > 1:
        return None
    found = int16_saturation.emulated(
        context.node, lambda name: context.value(context.candidate, name)
    )
    if found is None or not found.explains(context.wrong):
        return None
    count = int(np.count_nonzero(np.abs(found.saturated - found.exact) > found.slack))
    text = message("kernel.saturation", count=count, size=context.wrong.size)
    shown = experiment(
        "kernel.saturation", op=context.node.op, count=count, size=context.wrong.size
    )
    return text, shown, count


def _without_subnormals(array: Array) -> Array:
    smallest = float(np.finfo(np.float32).smallest_normal)
    return np.where(np.abs(array) < smallest, 0.0, array)


def _other_kernels(execution: Execution) -> tuple[str, Experiment] | None:
    """Whether the runtime has other kernels that are right."""
    for switch in execution.switches:
        if switch.kind == "kernel" and execution.right(switch.settings):
            return message("kernel.other_right", switch=switch.name), experiment(
                "kernel.other_kernels", switch=switch.name
            )
    return None


def _other_runtimes(context: FaultContext, execution: Execution) -> Iterator[Experiment]:
    for name in execution.others:
        found = execution.alone(name, {})
        if found is not None:
            right = context.equals(found)
            yield experiment("kernel.other_runtime", agrees=right, op=context.node.op, runtime=name)


def _special(context: FaultContext, found: Array) -> str:
    """Where only NaN and infinities stand in other places."""
    if context.right.dtype.kind != "f" or found.shape != context.right.shape:
        return ""
    special = np.isfinite(context.right) != np.isfinite(found.astype(np.float64))
    count = int(np.count_nonzero(special))
    if not count:
        return ""
    return message("kernel.not_finite", count=count, size=special.size)
