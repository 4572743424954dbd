"""Values that a tensor's declared type cannot hold, where the run was too wide to notice.

Some runtimes compute float16 nodes in float32. There such a model looks right; on a device that
computes as declared, what exceeds the type becomes infinite.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.errors import IsomorphError
from isomorph.core.report import Finding, FindingEffect, FindingStatus

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node
    from isomorph.core.trace import Array
    from isomorph.measure.evaluated_model import EvaluatedModel

CODE = "OVERFLOW_HIDDEN"
_NODES_AT_A_TIME, _MOST_PASSES = 32, 4
"""Tensors wait on disk; few enough of them at a time, and few enough passes of the oracle."""


def hidden_overflow(subject: EvaluatedModel) -> Iterator[Finding]:
    """The first node whose result its type cannot hold, if the outputs would change by that.

    An output that is not finite is told elsewhere: then nothing is hidden.
    """
    narrow = _narrow(subject.model.graph)
    run, meaning = subject.runtime_outputs(), subject.oracle_outputs()
    if not narrow or isinstance(run, IsomorphError) or isinstance(meaning, IsomorphError):
        return
    oracle = subject.oracle()
    finite = all(np.isfinite(each).all() for each in _real(run).values())
    if not finite or oracle.capabilities.feed != "all":
        return
    nodes = [node for node in subject.model.graph.nodes if narrow & set(node.outputs)]
    at_a_time = max(_NODES_AT_A_TIME, -(-len(nodes) // _MOST_PASSES))
    for start in range(0, len(nodes), at_a_time):
        batch = nodes[start : start + at_a_time]
        names = [name for node in batch for name in node.outputs if name in narrow]
        values = _real(oracle.run(subject.feeds, names))
        for node in batch:
            for name in [name for name in node.outputs if name in values]:
                held = _held(values[name])
                if held is not None and _matters(subject, name, held, _real(meaning)):
                    yield _finding(node, name, values[name])
                    return


def _narrow(graph: Graph) -> set[str]:
    """The tensors of a type that reaches less far than float32, and ends in infinity.

    bfloat16 reaches as far, and the types of eight bits come with scales of their own.
    """
    return {name for name, spec in graph.tensors.items() if spec.dtype == "float16"}


def _real(values: Mapping[str, Any]) -> dict[str, Array]:
    """The tensors of numbers: in words and lists nothing overflows."""
    return {
        name: value
        for name, value in values.items()
        if isinstance(value, np.ndarray) and value.dtype.kind in "fiub"
    }


def _held(value: Array) -> Array | None:
    """The value as float16 can hold it, infinite where that ends; None where all of it fits."""
    if value.dtype.kind != "f":
        return None
    with np.errstate(over="ignore"):
        beyond = np.isinf(value.astype(np.float16)) & np.isfinite(value)
    return np.where(beyond, np.copysign(np.inf, value), value) if beyond.any() else None


def _matters(subject: EvaluatedModel, name: str, held: Array, meaning: Mapping[str, Array]) -> bool:
    """Whether an output changes by it; a score that a mask puts out may as well be infinite."""
    outputs = _real(subject.oracle().run({**subject.feeds, name: held}, list(meaning)))
    return any(
        each not in outputs or not np.array_equal(outputs[each], value, equal_nan=True)
        for each, value in meaning.items()
    )


def _finding(node: Node, name: str, value: Array) -> Finding:
    largest, limit = float(np.max(np.abs(value))), float(np.finfo(np.float16).max)
    return Finding(
        rank=0,
        code=CODE,
        cause="precision",
        status=FindingStatus.CONFIRMED,
        effect=FindingEffect.LATENT,
        node=node.name,
        nodes=(node.name,),
        tensors=(name,),
        source=node.source,
        summary=f"node {node.name!r} ({node.op}) makes values up to {largest:.3g}, and float16 "
        f"ends at {limit:.0f}: this run was wider and hid it; computed as declared, they become "
        "infinite and change the outputs",
        evidence={"largest": largest, "limit": limit},
    )
