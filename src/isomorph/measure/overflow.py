"""Values that overflow a tensor's declared type, and inputs that make a model overflow.

Some runtimes compute float16 nodes in float32. There such a model looks right; on a device that
computes as declared, values beyond the type become infinite.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.errors import IsomorphError
from isomorph.core.messages import message
from isomorph.core.messages.phrases import named_node
from isomorph.core.report import Finding, FindingEffect, FindingStatus
from isomorph.oracle.noise_stats import hand_over

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node
    from isomorph.core.trace import Array
    from isomorph.measure.evaluated_model import EvaluatedModel

CODE = "OVERFLOW_HIDDEN"
_LARGEST_FLOAT32 = float(np.finfo(np.float32).max)
_NODES_AT_A_TIME, _MOST_PASSES = 32, 4
"""Nodes whose tensors are on disk at a time, and passes of the oracle at most."""


def hidden_overflow(evaluated: EvaluatedModel) -> Iterator[Finding]:
    """Yield the first node whose result overflows its type, if that would change the outputs.

    An output that is not finite is reported elsewhere: then nothing is hidden.
    """
    narrow = _narrow(evaluated.model.graph)
    run, expected = evaluated.runtime_outputs(), evaluated.oracle_outputs()
    if not narrow or isinstance(run, IsomorphError) or isinstance(expected, IsomorphError):
        return
    oracle = evaluated.oracle()
    finite = all(np.isfinite(each).all() for each in _real(run).values())
    if not finite or oracle.capabilities.feed != "all":
        return
    nodes = [node for node in evaluated.model.graph.nodes if narrow & set(node.outputs)]
    at_a_time = max(_NODES_AT_A_TIME, -(-len(nodes) // _MOST_PASSES))
    for start in range(0, len(nodes), at_a_time):
        batch = nodes[start : start + at_a_time]
        names = [name for node in batch for name in node.outputs if name in narrow]
        values = _real(oracle.run(evaluated.feeds, names))
        for node in batch:
            for name in [name for name in node.outputs if name in values]:
                clipped = _in_float16(values[name])
                if clipped is not None and _matters(evaluated, name, clipped, _real(expected)):
                    yield _finding(node, name, values[name])
                    return


def overflows(evaluated: EvaluatedModel, given: EvaluatedModel, *, undefined: bool = False) -> bool:
    """Whether a tensor exceeds float32 or float64 here, and does not on the ``given`` input.

    Beyond it two ways to compute one function differ: the logarithm of an exponential is infinite.
    With ``undefined``, a tensor that has a NaN here alone counts as well.
    """
    kinds = set(_Excess) if undefined else {_Excess.FLOAT32, _Excess.FLOAT64}
    return any(kind in kinds for _, kind in _excess(evaluated) - _excess(given))


class _Excess(StrEnum):
    """What a tensor has that is no number of its type."""

    FLOAT32 = "a number beyond float32"
    FLOAT64 = "an infinity"
    UNDEFINED = "a NaN"


def _excess(evaluated: EvaluatedModel) -> set[tuple[str, _Excess]]:
    """Return the tensors of the oracle that have such values, each with what it has."""
    oracle = evaluated.oracle()
    found: set[tuple[str, _Excess]] = set()

    def look(name: str, value: Any) -> None:  # noqa: ANN401
        if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
            return
        # A comparison with NaN is false.
        if not np.all(np.abs(value) <= _LARGEST_FLOAT32):
            where = {
                _Excess.FLOAT32: np.abs(value) > _LARGEST_FLOAT32,
                _Excess.FLOAT64: np.isinf(value),
                _Excess.UNDEFINED: np.isnan(value),
            }
            found.update((name, kind) for kind, each in where.items() if each.any())

    if oracle.capabilities.fetch == "all":
        names = [name for node in evaluated.model.graph.nodes for name in node.outputs if name]
        hand_over(oracle, evaluated.feeds, list(dict.fromkeys(names)), look)
    return found


def _narrow(graph: Graph) -> set[str]:
    """Return the tensors of a type with a smaller range than float32, ending in infinity.

    bfloat16 has the same range, and types of eight bits have scales of their own.
    """
    return {name for name, spec in graph.tensors.items() if spec.dtype == "float16"}


def _real(values: Mapping[str, Any]) -> dict[str, Array]:
    """Return the numeric tensors; strings and lists do not overflow."""
    return {
        name: value
        for name, value in values.items()
        if isinstance(value, np.ndarray) and value.dtype.kind in "fiub"
    }


def _in_float16(value: Array) -> Array | None:
    """Return the value with infinities where float16 overflows; None where all of it fits."""
    if value.dtype.kind != "f":
        return None
    with np.errstate(over="ignore"):
        beyond = np.isinf(value.astype(np.float16)) & np.isfinite(value)
    return np.where(beyond, np.copysign(np.inf, value), value) if beyond.any() else None


def _matters(
    evaluated: EvaluatedModel, name: str, clipped: Array, expected: Mapping[str, Array]
) -> bool:
    """Whether an output changes; a score that is masked out may be infinite."""
    outputs = _real(evaluated.oracle().run({**evaluated.feeds, name: clipped}, list(expected)))
    return any(
        each not in outputs or not np.array_equal(outputs[each], value, equal_nan=True)
        for each, value in expected.items()
    )


def _finding(node: Node, name: str, value: Array) -> Finding:
    largest, limit = float(np.max(np.abs(value))), float(np.finfo(np.float16).max)
    return Finding(
        code=CODE,
        cause="precision",
        status=FindingStatus.CONFIRMED,
        effect=FindingEffect.LATENT,
        node=node.name,
        nodes=(node.name,),
        tensors=(name,),
        source=node.source,
        summary=message(
            "OVERFLOW_HIDDEN.value",
            place=named_node(node.op, node.name),
            largest=largest,
            limit=limit,
        ),
        evidence={"largest": largest, "limit": limit},
    )
