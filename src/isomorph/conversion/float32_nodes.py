"""The smallest set of nodes to keep in float32 so that a narrow model is near enough.

Numbers that further inputs may take beyond the type always count: no check of the inputs at hand
shows what they do. Numbers beyond the type come next: their makers and readers, and the readers of
stored ones. If that is not enough, nodes are added by their measured share of the loss, as few as
reach the target. What the target does not need is then taken out again, piece by piece.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from isomorph.bounds.headroom import (
    beyond,
    further_extreme,
    measured_extremes,
    sample_extremes,
    stored_extremes,
)
from isomorph.conversion.rounding_shares import rounding_shares
from isomorph.core.conversion import KeptNode, KeptReason
from isomorph.core.conversion_limits import NARROW_TRIALS
from isomorph.oracle.dtypes import HALVES, is_float

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array


@dataclass(slots=True, kw_only=True)
class Float32Search:
    """Searches with ``accepts``, which converts with these nodes in float32 and measures.

    ``samples`` are the inputs that it measures on, ``alike`` groups of inputs of one kind each.
    """

    graph: Graph
    session: Session
    samples: Sequence[Mapping[str, Array]]
    alike: Sequence[Sequence[Mapping[str, Array]]]
    dtype: str
    accepts: Callable[[Sequence[str]], bool]
    _known: dict[frozenset[str], bool] = field(default_factory=dict)
    _forced: frozenset[str] = frozenset()

    def sets(self) -> list[tuple[KeptNode, ...]]:
        """Sets that were accepted, the smallest first; where none was, the one that keeps most."""
        seen = measured_extremes(self.graph, self.session, self.samples)
        near = nodes_near(self.graph, self.session, self.alike, seen, self.dtype)
        self._forced = frozenset(each.node for each in near)
        if self._accepted([each.node for each in near]):
            return [tuple(near)]
        needed = nodes_beyond(self.graph, self.session, seen, self.dtype)
        reasons = {each.node: each for each in (*near, *needed)}
        names = list(reasons)
        enough = names if names and self._accepted(names) else None
        if enough is None:
            shares = rounding_shares(self.graph, self.session, self.samples, self.dtype)
            reasons |= {name: self._by_share(name, shares) for name in self._real_nodes()
                        if name not in reasons}  # fmt: skip
            enough = self._fewest(names, shares)
        if enough is None:
            return [tuple(reasons[name] for name in reasons)]
        smaller = self._reduced(enough)
        found = [smaller, enough] if len(smaller) < len(enough) else [enough]
        return [tuple(reasons[name] for name in self._in_order(each)) for each in found]

    def _accepted(self, names: Sequence[str]) -> bool:
        key = frozenset(names)
        if key not in self._known:
            if len(self._known) >= NARROW_TRIALS.most:
                NARROW_TRIALS.reached()
                return False
            self._known[key] = self.accepts(self._in_order(names))
        return self._known[key]

    def _in_order(self, names: Sequence[str]) -> list[str]:
        chosen = set(names)
        return [node.name for node in self.graph.nodes if node.name in chosen]

    def _real_nodes(self) -> list[str]:
        return [node.name for node in self.graph.nodes if has_reals(self.graph, node)]

    def _by_share(self, name: str, shares: Mapping[str, float]) -> KeptNode:
        op = next(node.op for node in self.graph.nodes if node.name == name)
        return KeptNode(node=name, op=op, reason=KeptReason.ROUNDING, share=shares.get(name, 0.0))

    def _fewest(self, needed: Sequence[str], shares: Mapping[str, float]) -> list[str] | None:
        """The fewest groups, in the order of their shares, with which the target is reached.

        A group is a node and those that read its result: between two of them it is not rounded.
        """
        order = sorted(shares, key=lambda name: -shares[name])
        groups = [[name, *self._readers(name)] for name in order]
        groups.append(self._real_nodes())

        def first(count: int) -> list[str]:
            return list(dict.fromkeys([*needed, *(n for group in groups[:count] for n in group)]))

        low, high = 0, len(groups)
        if not self._accepted(first(high)):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._accepted(first(middle)) else (middle, high)
        return first(high)

    def _readers(self, name: str) -> list[str]:
        node = next(each for each in self.graph.nodes if each.name == name)
        real = self._real_nodes()
        readers = [n.name for n in self.graph.nodes if set(node.outputs) & set(n.inputs)]
        return [reader for reader in readers if reader in real]

    def _reduced(self, names: Sequence[str]) -> list[str]:
        """The set without every piece that the target does not need; pieces get smaller."""
        kept, size = list(names), max(1, len(names) // 2)
        while size:
            start = len(kept)
            while start > 0:
                start = max(0, start - size)
                rest = [
                    name for at, name in enumerate(kept)
                    if not start <= at < start + size or name in self._forced
                ]  # fmt: skip
                if rest and len(rest) < len(kept) and self._accepted(rest):
                    kept = rest
            size //= 2
        return kept


def has_reals(graph: Graph, node: Node) -> bool:
    """Whether a node reads or makes real numbers, so that it could compute in a narrow type."""
    return any(is_float(dtype) for dtype in _types(graph, node))


def _types(graph: Graph, node: Node) -> set[str | None]:
    names = [name for name in (*node.inputs, *node.outputs) if name]
    return {
        graph.constants[name].dtype if name in graph.constants else graph.declared_dtype(name)
        for name in names
    }


def nodes_near(
    graph: Graph,
    session: Session,
    alike: Sequence[Sequence[Mapping[str, Array]]],
    seen: Mapping[str, float],
    dtype: str,
) -> list[KeptNode]:
    """The nodes that make or read a tensor that further inputs may take beyond a type.

    A tensor that is beyond it on the inputs that are measured (``seen``) is not among them: there
    the measurement tells what that does.
    """
    decided = beyond(seen, dtype)
    further: dict[str, float] = {}
    for samples in alike:
        for name, values in sample_extremes(graph, session, samples).items():
            further[name] = max(further.get(name, 0.0), further_extreme(values), key=abs)
    near = {name: value for name, value in beyond(further, dtype).items() if name not in decided}
    found = []
    for node in graph.nodes:
        first = next((name for name in (*node.outputs, *node.inputs) if name in near), None)
        if first is not None:
            found.append(KeptNode(node=node.name, op=node.op, reason=KeptReason.NEAR_OVERFLOW,
                                  tensor=first, value=near[first]))  # fmt: skip
    return found


def nodes_beyond(
    graph: Graph, session: Session, extremes: Mapping[str, float], dtype: str
) -> list[KeptNode]:
    """The nodes that make or read numbers beyond a type, each with the first tensor that has one.

    A result that stays in float32 must not be narrowed on the way to its reader.
    """
    made = beyond(extremes, dtype)
    stored = beyond(stored_extremes(graph, session), dtype)
    found = []
    for node in graph.nodes:
        for names, values, reason in (
            (node.outputs, made, KeptReason.OVERFLOW),
            (node.inputs, stored, KeptReason.CONSTANT),
            (node.inputs, made, KeptReason.READS_OVERFLOW),
        ):
            name = next((name for name in names if name in values), None)
            if name is not None:
                kept = KeptNode(node=node.name, op=node.op, reason=reason, tensor=name)
                found.append(replace(kept, value=values[name]))
                break
    return found


def kept_operators(
    origin: Graph, result: Graph, chosen: Sequence[KeptNode]
) -> tuple[KeptNode, ...]:
    """The nodes that compute in float32 alone in the result, and were not chosen to."""
    made = {node.name: node for node in result.nodes}
    known = {each.node for each in chosen}
    found = []
    for node in origin.nodes:
        counterpart = made.get(node.name)
        if counterpart is None or node.name in known or not has_reals(origin, node):
            continue
        types = _types(result, counterpart)
        if "float32" in types and not types & HALVES:
            found.append(KeptNode(node=node.name, op=node.op, reason=KeptReason.OPERATOR))
    return tuple(found)
