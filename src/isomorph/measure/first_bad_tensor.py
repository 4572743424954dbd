"""Where in one model trouble begins: the first tensor not finite, or not as it should be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.errors import IsomorphError
from isomorph.core.report import Finding, FindingEffect, FindingStatus
from isomorph.core.trace import Noise
from isomorph.measure.budget_check import judge
from isomorph.measure.distance import is_inexact, widen
from isomorph.measure.noise_draws import spreads

if TYPE_CHECKING:
    from isomorph.core.model import Node
    from isomorph.core.trace import Array
    from isomorph.measure.evaluated_model import EvaluatedModel

_NODES_AT_A_TIME = 32


def first_trouble(subject: EvaluatedModel, false_alarm: float) -> Iterator[Finding]:
    """Walk the graph once and name the first node of each kind of trouble.

    Nothing is walked when the outputs are finite and within their budget: then there is no
    trouble to trace, and infinities inside (an attention mask) are meant.
    """
    run, meaning = subject.runtime_outputs(), subject.oracle_outputs()
    if isinstance(run, IsomorphError) or isinstance(meaning, IsomorphError):
        return
    astray = _beyond_budget(subject, run, false_alarm)
    broken = any(is_inexact(array) and not np.isfinite(array).all() for array in run.values())
    if not (astray or broken) or subject.runtime().capabilities.fetch != "all":
        return
    found: set[str] = set()
    for nodes in _batches(subject.model.graph.nodes):
        for finding in _walk(subject, nodes, false_alarm, astray=astray):
            if finding.code not in found:
                found.add(finding.code)
                yield finding


def _beyond_budget(subject: EvaluatedModel, run: Mapping[str, Array], false_alarm: float) -> bool:
    meaning, rounding = subject.oracle_outputs(), subject.rounding()
    if isinstance(meaning, IsomorphError) or isinstance(rounding, IsomorphError):
        return False
    return any(
        (_judged(array, meaning[name], rounding[name], false_alarm) or 0.0) > 1.0
        for name, array in run.items()
        if name in meaning and name in rounding and array.shape == meaning[name].shape
    )


def _walk(
    subject: EvaluatedModel, nodes: Sequence[Node], false_alarm: float, *, astray: bool
) -> Iterator[Finding]:
    names = [name for node in nodes for name in node.outputs if name]
    run = subject.runtime().run(subject.feeds, names)
    oracle = subject.oracle()
    meaning = oracle.run(subject.feeds, names)
    noise = Noise(seed=subject.seed, rounding=True)
    spread = spreads(oracle, subject.feeds, meaning, noise) if astray else {}
    for node in nodes:
        for name in node.outputs:
            actual, expected = run.get(name), meaning.get(name)
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
    meant = not np.isfinite(expected).all()
    told = "its float64 oracle has it, too" if meant else "its float64 oracle is finite there"
    return Finding(
        rank=0,
        code="NOT_FINITE_AS_MEANT" if meant else "NOT_FINITE",
        cause=None if meant else "precision",
        status=FindingStatus.CONFIRMED,
        effect=FindingEffect.NONE if meant else FindingEffect.REACHES_OUTPUT,
        node=node.name,
        tensors=(name,),
        source=node.source,
        summary=f"{' and '.join(kinds)} first appears at node {node.name!r} ({node.op}); {told}",
    )


def _lost(node: Node, name: str, ratio: float | None) -> Finding:
    return Finding(
        rank=0,
        code="PRECISION_LOST",
        cause="precision",
        status=FindingStatus.SUSPECTED,
        effect=FindingEffect.REACHES_OUTPUT,
        node=node.name,
        tensors=(name,),
        source=node.source,
        local_error=ratio,
        summary=f"node {node.name!r} ({node.op}) is the first that is farther from float64 than "
        "rounding explains",
    )


def _batches(nodes: Sequence[Node]) -> Iterator[Sequence[Node]]:
    for start in range(0, len(nodes), _NODES_AT_A_TIME):
        yield nodes[start : start + _NODES_AT_A_TIME]
