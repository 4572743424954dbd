"""A quantized model with its few worst nodes kept in float: how many, how large, how far off.

Each node is kept by itself once, in the float64 oracle, and the error of the outputs read off;
then they are kept together, the one that gains most first, and every step is measured as
deployed on every sample.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.divergence import Verdict
from isomorph.core.errors import IsomorphError, UsageError
from isomorph.core.messages import message
from isomorph.core.patch import Patch
from isomorph.core.repair import Applied, Proof, Repair, Trade
from isomorph.core.repair_limits import FLOAT_NODES, FLOAT_TRIES
from isomorph.core.report import Finding, FindingEffect, FindingStatus
from isomorph.inputs.feeds import carried_over
from isomorph.match.binding import bind_inputs, bind_model_outputs
from isomorph.repair.float_weights import with_weights
from isomorph.repair.fresh_samples import proving_samples
from isomorph.repair.proof import measured_on, trusted
from isomorph.repair.repair import RepairRun
from isomorph.sessions.fetched_feeds import present

if TYPE_CHECKING:
    from isomorph.checking.config import CheckConfig
    from isomorph.core.model import Graph, Node
    from isomorph.core.report import Report
    from isomorph.inputs.feeds import Sample
    from isomorph.sessions.model_handle import ModelHandle

_QUANTIZERS = frozenset({"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"})


def keep_float(
    reference: ModelHandle,
    candidate: ModelHandle,
    given: Sample | None,
    options: CheckConfig,
    *,
    folder: Path,
    count: int | None,
) -> tuple[Repair, ModelHandle]:
    """The trade step by step, and the model of its last one; ``count`` None: until it is good."""
    started = time.monotonic()
    nodes = quantized_nodes(candidate.model.graph)
    if not nodes:
        raise UsageError(
            "NOTHING_QUANTIZED",
            "no node of the candidate computes on quantized numbers",
            file=candidate.model.location,
            fix="leave --keep-float out",
        )
    run = RepairRun(
        reference, proving_samples(reference, candidate, given, options), options, folder
    )
    before = run.measured(candidate)
    patches = {node.name: with_weights(reference, candidate, node) for node in nodes}
    trial = _Trial(reference, candidate, run.samples[0], patches, options)
    kept: list[str] = []
    trades, state, reports = [_trade((), candidate, before)], candidate, before
    for names in trial.worthwhile(kept):
        if (count is None and trusted(reports)) or len(kept) + len(names) > (count or len(nodes)):
            break
        text = ", ".join(patches[name].summary for name in names)
        after = _with(run, candidate, [patches[each] for each in (*kept, *names)])
        if after is None:
            continue
        found = run.measured(after)
        trade = _trade((*kept, *names), after, found)
        if found[-1].verdict is Verdict.UNKNOWN:
            run.refused.append(message("REPAIR.refused", patch=text, reason=found[-1].reason))
            continue
        if not _nearer(trades[-1], trade) and not (trusted(found) and not trusted(reports)):
            run.refused.append(message("REPAIR.no_gain", patch=text))
            continue
        kept += names
        trades.append(trade)
        state, reports = after, found
    steps = pairwise(trades)
    applied = tuple(
        Applied(patch=patches[name], finding=_finding(name, place, was, now))
        for was, now in steps
        for place, name in enumerate(now.nodes[len(was.nodes) :], len(was.nodes) + 1)
    )
    good = trusted(reports) and len(reports) > 1
    repair = Repair(
        verdict=reports[-1].verdict,
        reason=message(
            "REPAIR.floats", kept=len(kept), count=len(nodes), reason=reports[-1].reason
        ),
        repaired=good,
        applied=applied,
        proof=Proof(
            before=measured_on(run.samples, before),
            after=measured_on(run.samples, reports) if kept else (),
        ),
        trades=tuple(trades),
        refused=tuple(run.refused),
        seed=options.seed,
        elapsed=time.monotonic() - started,
    )
    return repair, state


def quantized_nodes(graph: Graph) -> list[Node]:
    """Nodes that compute on integers that stand for real numbers, or on dequantized ones."""
    grids = {each.tensor for each in graph.quantization}
    back = {n for node in graph.nodes if node.op == "DequantizeLinear" for n in node.outputs}
    found = [
        node
        for node in graph.nodes
        if node.op not in _QUANTIZERS and any(name in grids or name in back for name in node.inputs)
    ]
    sizes = {name: int(np.prod(each.shape)) for name, each in graph.constants.items()}
    found.sort(key=lambda node: -max((sizes.get(name, 0) for name in node.inputs), default=0))
    return list(FLOAT_NODES.first(found))


class _Trial:
    """The outputs' error in the float64 oracle with some nodes in float, one run for each try."""

    def __init__(
        self,
        reference: ModelHandle,
        candidate: ModelHandle,
        sample: Sample,
        patches: Mapping[str, Patch],
        options: CheckConfig,
    ) -> None:
        self._candidate, self._patches = candidate, patches
        left, right = reference.model.graph, candidate.model.graph
        self._pairs = bind_model_outputs(reference.model, candidate.model, options.bind_outputs)
        feeds = present(sample.feeds)
        self._right = reference.oracle().run(feeds, [pair.reference for pair in self._pairs])
        self.tries = 0
        inputs = bind_inputs(left.inputs, right.inputs, options.bind_inputs)
        self._feeds = carried_over(feeds, inputs, right.inputs)

    def error(self, names: Sequence[str]) -> float:
        """The largest relative error of an output; infinite where they cannot be kept so."""
        edits = tuple(edit for name in names for edit in self._patches[name].edits)
        self.tries += 1
        try:
            found = self._candidate.host.rehearse(
                self._candidate.model,
                Patch(summary="", edits=edits),
                self._feeds,
                [pair.candidate for pair in self._pairs],
            )
        except (IsomorphError, ValueError):
            return float("inf")
        return max(
            _apart(self._right[pair.reference], found[pair.candidate]) for pair in self._pairs
        )

    def worthwhile(self, kept: Sequence[str]) -> Iterator[tuple[str, ...]]:
        """Nodes that gain beside those kept by now, one by one; where none does, some together.

        Once round is not enough: beside a neighbor in float, a node gains what lies between
        them. And two roundings may have canceled each other: then both have to go.
        """
        alone = {name: self.error([name]) for name in self._patches}
        order = sorted((n for n in alone if np.isfinite(alone[n])), key=lambda n: alone[n])
        before = -1
        while before < len(kept):
            before, now = len(kept), self.error(kept)
            for name in order:
                if name not in kept and self.error([*kept, name]) < now:
                    yield (name,)
                    now = min(now, self.error(kept))
            if before == len(kept):
                together = self._together(kept, [name for name in order if name not in kept])
                yield from (together,) if together else ()

    def _together(self, kept: Sequence[str], left: list[str]) -> tuple[str, ...]:
        """The fewest nodes, each the best beside the ones before it, that gain as a whole."""
        now, chosen = self.error(kept), list[str]()
        while left:
            if self.tries >= FLOAT_TRIES.most:
                FLOAT_TRIES.reached()
                break
            errors = {name: self.error([*kept, *chosen, name]) for name in left}
            best = min(left, key=lambda name: errors[name])
            chosen.append(best)
            left.remove(best)
            if errors[best] < now:
                return tuple(chosen)
        return ()


def _apart(right: object, found: object) -> float:
    left, other = np.asarray(right, np.float64), np.asarray(found, np.float64)
    if left.size != other.size:
        return float("inf")
    size = float(np.linalg.norm(left)) or 1.0
    return float(np.linalg.norm(left.reshape(-1) - other.reshape(-1))) / size


def _with(run: RepairRun, candidate: ModelHandle, patches: Sequence[Patch]) -> ModelHandle | None:
    try:
        return run.patched(candidate, patches)
    except IsomorphError as error:
        run.refused.append(f"{patches[-1].summary}: {error.sentence}")
        return None


def _trade(nodes: tuple[str, ...], handle: ModelHandle, reports: Sequence[Report]) -> Trade:
    outputs = measured_on(None, reports[:1])[0].outputs
    worst = max(outputs, key=lambda each: each.relative_l2 or 0.0, default=None)
    path = Path(handle.model.location)
    return Trade(
        nodes=nodes,
        size=path.stat().st_size if path.is_file() else 0,
        verdict=reports[-1].verdict,
        relative_l2=worst.relative_l2 if worst is not None else None,
        max_abs=worst.max_abs if worst is not None else None,
    )


def _nearer(before: Trade, after: Trade) -> bool:
    """Two roundings may have canceled each other: then one of them less is no gain."""
    if before.relative_l2 is None or after.relative_l2 is None:
        return True
    return after.relative_l2 < before.relative_l2


def _finding(name: str, place: int, before: Trade, after: Trade) -> Finding:
    others = [each for each in after.nodes[len(before.nodes) :] if each != name]
    beside = message("REPAIR.beside", nodes=", ".join(map(repr, others))) if others else ""
    return Finding(
        rank=place,
        code="KEPT_IN_FLOAT",
        cause="quantization",
        status=FindingStatus.CONFIRMED,
        effect=FindingEffect.REACHES_OUTPUT,
        node=name,
        nodes=(name,),
        summary=message(
            "KEPT_IN_FLOAT.node",
            node=name,
            beside=beside,
            after=_number(after.relative_l2),
            before=_number(before.relative_l2),
        ),
    )


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3g}"
