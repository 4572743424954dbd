"""A quantised model with its few worst nodes kept in float: how many, how large, how far off.

Each node is kept by itself once, in the float64 oracle, and the error of the outputs read off;
then they are kept together, the one that gains most first, and every step is measured as
deployed on every sample.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.errors import IsomorphError, UsageError
from isomorph.core.patch import Applied, Patch, Proof, Repair, Trade
from isomorph.core.report import Finding
from isomorph.stages.align.reals import beside
from isomorph.stages.repair.float_weights import with_weights
from isomorph.stages.repair.repair import Workshop, measured_on, proving_samples, trusted

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node
    from isomorph.core.report import Report
    from isomorph.stages.check import Wishes
    from isomorph.stages.run.feeds import Sample
    from isomorph.stages.run.opened import Opened

_MOST = 64
"""Nodes that are tried one by one; beyond it those with the most weights."""
_QUANTISERS = frozenset({"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"})


def keep_float(
    reference: Opened,
    candidate: Opened,
    given: Sample | None,
    wishes: Wishes,
    *,
    folder: Path,
    wanted: int | None,
) -> tuple[Repair, Opened]:
    """The trade step by step, and the model of its last one; ``wanted`` None: until it is good."""
    started = time.monotonic()
    nodes = quantised_nodes(candidate.model.graph)
    if not nodes:
        raise UsageError(
            "NOTHING_QUANTISED",
            "no node of the candidate computes on quantised numbers",
            file=candidate.model.location,
            fix="leave --keep-float out",
        )
    shop = Workshop(reference, proving_samples(reference, candidate, given, wishes), wishes, folder)
    before = shop.measured(candidate)
    patches = {node.name: with_weights(reference, candidate, node) for node in nodes}
    gains = _gains(reference, candidate, shop.samples[0], patches)
    kept: list[str] = []
    trades, state, reports = [_trade((), candidate, before)], candidate, before
    for name in gains:
        if (wanted is None and trusted(reports)) or len(kept) == wanted:
            break
        after = _with(shop, candidate, [patches[each] for each in (*kept, name)])
        if after is None:
            continue
        found = shop.measured(after)
        trade = _trade((*kept, name), after, found)
        if _farther(trades[-1], trade) and not (trusted(found) and not trusted(reports)):
            shop.refused.append(f"{patches[name].summary}: gains nothing beside the others")
            continue
        kept.append(name)
        trades.append(trade)
        state, reports = after, found
    applied = tuple(
        Applied(patch=patches[name], finding=_finding(name, trades, place))
        for place, name in enumerate(kept)
    )
    good = trusted(reports) and len(reports) > 1
    count = f"{len(kept)} of {len(nodes)} quantised nodes kept in float"
    repair = Repair(
        verdict=reports[-1].verdict,
        reason=f"{count}; {reports[-1].reason}",
        repaired=good,
        applied=applied,
        proof=Proof(
            before=measured_on(shop.samples, before),
            after=measured_on(shop.samples, reports) if kept else (),
        ),
        trades=tuple(trades),
        refused=tuple(shop.refused),
        seed=wishes.seed,
        elapsed=time.monotonic() - started,
    )
    return repair, state


def quantised_nodes(graph: Graph) -> list[Node]:
    """Nodes that compute on integers that stand for real numbers, or on dequantised ones."""
    grids = beside(graph)
    back = {n for node in graph.nodes if node.op == "DequantizeLinear" for n in node.outputs}
    found = [
        node
        for node in graph.nodes
        if node.op not in _QUANTISERS and any(name in grids or name in back for name in node.inputs)
    ]
    sizes = {name: int(np.prod(each.shape)) for name, each in graph.constants.items()}
    found.sort(key=lambda node: -max((sizes.get(name, 0) for name in node.inputs), default=0))
    return found[:_MOST]


def _gains(
    reference: Opened, candidate: Opened, sample: Sample, patches: dict[str, Patch]
) -> list[str]:
    """The nodes by the error of the outputs with just this one in float, the smallest first."""
    pairs = list(zip(reference.model.graph.outputs, candidate.model.graph.outputs, strict=False))
    feeds = {k: np.asarray(v) for k, v in sample.feeds.items() if v is not None}
    right = reference.oracle().run(feeds, [mine.name for mine, _ in pairs])
    names = [spec.name for spec in candidate.model.graph.inputs]
    carried = dict(zip(names, feeds.values(), strict=False))
    errors: dict[str, float] = {}
    for name, patch in patches.items():
        try:
            found = candidate.host.rehearse(
                candidate.model, patch, carried, [yours.name for _, yours in pairs]
            )
        except (IsomorphError, ValueError):
            continue  # a node that cannot be kept so is no part of the trade
        errors[name] = max(_apart(right[m.name], found[y.name]) for m, y in pairs)
    return sorted(errors, key=lambda name: errors[name])


def _apart(right: object, found: object) -> float:
    left, other = np.asarray(right, np.float64), np.asarray(found, np.float64)
    if left.size != other.size:
        return float("inf")
    size = float(np.linalg.norm(left)) or 1.0
    return float(np.linalg.norm(left.reshape(-1) - other.reshape(-1))) / size


def _with(shop: Workshop, candidate: Opened, patches: Sequence[Patch]) -> Opened | None:
    try:
        return shop.patched(candidate, patches)
    except IsomorphError as error:
        shop.refused.append(f"{patches[-1].summary}: {error.sentence}")
        return None


def _trade(nodes: tuple[str, ...], opened: Opened, reports: Sequence[Report]) -> Trade:
    outputs = measured_on(None, reports[:1])[0].outputs
    worst = max(outputs, key=lambda each: each.relative_l2 or 0.0, default=None)
    path = Path(opened.model.location)
    return Trade(
        nodes=nodes,
        size=path.stat().st_size if path.is_file() else 0,
        verdict=reports[-1].verdict,
        relative_l2=worst.relative_l2 if worst is not None else None,
        max_abs=worst.max_abs if worst is not None else None,
    )


def _farther(before: Trade, after: Trade) -> bool:
    """Two roundings may have cancelled each other: then one of them less is no gain."""
    if before.relative_l2 is None or after.relative_l2 is None:
        return False
    return after.relative_l2 > before.relative_l2


def _finding(name: str, trades: Sequence[Trade], place: int) -> Finding:
    was, now = trades[place].relative_l2, trades[place + 1].relative_l2
    return Finding(
        rank=place + 1,
        code="KEPT_IN_FLOAT",
        cause="quantization",
        status="confirmed",
        effect="reaches_output",
        node=name,
        nodes=(name,),
        summary=f"with {name!r} in float the relative error is {_number(now)}, not {_number(was)}",
    )


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3g}"
