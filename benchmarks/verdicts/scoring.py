"""What isomorph says of a pair, held against what is true."""

from __future__ import annotations

import time
import traceback
import warnings
from dataclasses import asdict, dataclass, field
from typing import Any

from .pairs import Pair
from .truth import Expected, expected

LARGEST_GROUP = 12
"""A finding that names more nodes than this has not localized anything; a norm is nine nodes."""


@dataclass
class Row:
    """One pair and its outcome: right, false equivalent, false divergent, unknown, crash."""

    seed: int
    group: str
    outcome: str
    answered: str = ""
    reason: str = ""
    rewrites: tuple[str, ...] = ()
    mutation: str = ""
    faulty: list[str] = field(default_factory=list)
    named: list[str] = field(default_factory=list)
    named_right: bool | None = None
    single_element: bool = False
    margin: float = 0.0
    tie: bool = False
    why: str = ""
    seconds: float = 0.0
    judge_seconds: float = 0.0
    invariants: dict[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def answer(
    reference: Any, candidate: Any, *, locate: bool = True, **arguments: Any
) -> tuple[str, Any]:
    """The verdict as a word and the report, or ``crash …`` and the traceback."""
    import isomorph

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            options = isomorph.CheckOptions(locate=locate)
            report = isomorph.check(
                reference, candidate, in_process=True, options=options, **arguments
            )
        except Exception as error:
            return f"crash {type(error).__name__}", traceback.format_exc()
    return report.verdict.value, report


def score(pair: Pair, *, locate: bool = True) -> tuple[Row, Expected]:
    started = time.process_time()
    truth = expected(pair)
    row = Row(pair.seed, truth.group, "left out", rewrites=pair.rewrites)
    row.judge_seconds = time.process_time() - started
    if truth.truth is not None:
        row.margin, row.tie, row.why = truth.truth.margin, truth.truth.tie, truth.truth.why
    if pair.mutation is not None:
        row.mutation, row.faulty = pair.mutation.kind, sorted(pair.mutation.nodes)
        row.single_element = pair.mutation.single_element
    if not truth.counts:
        return row, truth
    started = time.process_time()
    row.answered, report = answer(
        pair.reference, pair.candidate, inputs=pair.sample.inputs, locate=locate
    )
    row.seconds = time.process_time() - started
    row.outcome = outcome(row.answered, truth)
    if row.answered.startswith("crash"):
        row.reason = report
        return row, truth
    row.reason = report.reason
    if row.group in ("mutated", "unreached", "in half") and row.answered == "divergent" and locate:
        _hold_names(row, pair, report)
    return row, truth


def outcome(answered: str, truth: Expected) -> str:
    if answered in truth.verdicts:
        return "right"
    if answered.startswith("crash") or answered == "unknown":
        return answered.split(maxsplit=1)[0]
    return "false divergent" if truth.group == "clean" else "false equivalent"


def _hold_names(row: Row, pair: Pair, report: Any) -> None:
    """Whether the first finding names the changed node, its constant, or the lost counterpart."""
    mutation = pair.mutation
    first = next((f for f in report.findings if f.node or f.nodes), None)
    if first is None or mutation is None:
        row.named_right = False
        return
    nodes = {first.node, *first.nodes} - {None}
    row.named = sorted(nodes)
    last = {name.rpartition("/")[2] for name in nodes}
    hit = nodes & mutation.nodes or last & {n.rpartition("/")[2] for n in mutation.nodes}
    lost = set(first.reference_nodes) & mutation.reference_nodes
    weight = mutation.constant and mutation.constant in first.tensors
    row.named_right = bool(hit or lost or weight) and len(nodes) <= LARGEST_GROUP
