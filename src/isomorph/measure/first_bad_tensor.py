"""Find the first tensor of one model that is not finite, or differs from the oracle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.errors import IsomorphError
from isomorph.core.messages import message
from isomorph.core.messages.phrases import named_node
from isomorph.core.report import Finding, FindingEffect, FindingStatus
from isomorph.core.trace import Noise
from isomorph.measure.budget_check import judge
from isomorph.measure.distance import is_inexact, widen
from isomorph.measure.noise_draws import spreads
from isomorph.measure.run_time_quantizers import run_time_quantizers

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.trace import Array
    from isomorph.measure.evaluated_model import EvaluatedModel

_NODES_AT_A_TIME = 32


def first_bad_tensors(evaluated: EvaluatedModel, false_alarm: float) -> Iterator[Finding]:
    """Yield the first node of each kind of error, in graph order.

    Nothing is examined if the outputs are finite and within their budget: infinities inside the
    graph (an attention mask) are then intended.
    """
    run, oracle_outputs = evaluated.runtime_outputs(), evaluated.oracle_outputs()
    if isinstance(run, IsomorphError) or isinstance(oracle_outputs, IsomorphError):
        return
    astray = _beyond_budget(evaluated, run, false_alarm)
    broken = any(is_inexact(array) and not np.isfinite(array).all() for array in run.values())
    if not (astray or broken) or evaluated.runtime().capabilities.fetch != "all":
        return
    found: set[str] = set()
    for nodes in _batches(evaluated.model.graph.nodes):
        for finding in _walk(evaluated, nodes, false_alarm, astray=astray):
            if finding.code not in found:
                found.add(finding.code)
                yield finding


def _beyond_budget(evaluated: EvaluatedModel, run: Mapping[str, Array], false_alarm: float) -> bool:
    expected = evaluated.oracle_outputs()
    # A run that was set to a narrower type may lose what that type loses, and a kernel that
    # quantizes its activations what they lose.
    lossy = evaluated.run_dtype or run_time_quantizers(evaluated.model.graph)
    rounding = evaluated.execution_loss() if lossy else evaluated.rounding()
    if isinstance(expected, IsomorphError) or isinstance(rounding, IsomorphError):
        return False
    return any(
        (_judged(array, expected[name], rounding[name], false_alarm) or 0.0) > 1.0
        for name, array in run.items()
        if name in expected and name in rounding and array.shape == expected[name].shape
    )


def _walk(
    evaluated: EvaluatedModel, nodes: Sequence[Node], false_alarm: float, *, astray: bool
) -> Iterator[Finding]:
    names = [name for node in nodes for name in node.outputs if name]
    run = evaluated.runtime().run(evaluated.feeds, names)
    oracle = evaluated.oracle()
    oracle_outputs = oracle.run(evaluated.feeds, names)
    noise = Noise(seed=evaluated.seed, rounding=True, run_time=True, run_dtype=evaluated.run_dtype)
    spread = spreads(oracle, evaluated.feeds, oracle_outputs, noise) if astray else {}
    for node in nodes:
        for name in node.outputs:
            actual, expected = run.get(name), oracle_outputs.get(name)
            if not isinstance(actual, np.ndarray) or not isinstance(expected, np.ndarray):
                continue
            if not is_inexact(actual) or actual.shape != expected.shape:
                continue
            if not np.isfinite(widen(actual)).all():
                yield _not_finite(node, name, actual, expected)
            elif name in spread and (
                (_judged(actual, expected, spread[name], false_alarm) or 0.0) > 1.0
            ):
                yield _lost(node, name, _judged(actual, expected, spread[name], false_alarm))


def _judged(actual: Array, expected: Array, spread: Any, false_alarm: float) -> float | None:  # noqa: ANN401
    part = judge(
        actual, expected, spread, dtype=str(actual.dtype), derivation="", false_alarm=false_alarm
    )
    return part.budget.ratio


def _not_finite(node: Node, name: str, actual: Array, expected: Array) -> Finding:
    wide = widen(actual)
    kinds = [
        word for word, seen in (("NaN", np.isnan(wide)), ("infinity", np.isinf(wide))) if seen.any()
    ]
    expected_too = not np.isfinite(expected).all()
    code = "NOT_FINITE_AS_MEANT" if expected_too else "NOT_FINITE"
    place = named_node(node.op, node.name)
    return Finding(
        code=code,
        cause=None if expected_too else "precision",
        status=FindingStatus.CONFIRMED,
        effect=FindingEffect.NONE if expected_too else FindingEffect.REACHES_OUTPUT,
        node=node.name,
        tensors=(name,),
        source=node.source,
        summary=message(f"{code}.first", kinds=" and ".join(kinds), place=place),
    )


def _lost(node: Node, name: str, ratio: float | None) -> Finding:
    return Finding(
        code="PRECISION_LOST",
        cause="precision",
        status=FindingStatus.SUSPECTED,
        effect=FindingEffect.REACHES_OUTPUT,
        node=node.name,
        tensors=(name,),
        source=node.source,
        local_error=ratio,
        summary=message("PRECISION_LOST.first", place=named_node(node.op, node.name)),
    )


def _batches(nodes: Sequence[Node]) -> Iterator[Sequence[Node]]:
    for start in range(0, len(nodes), _NODES_AT_A_TIME):
        yield nodes[start : start + _NODES_AT_A_TIME]
