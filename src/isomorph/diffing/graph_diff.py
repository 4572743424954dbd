"""Compare two graphs node by node: pair, group, and describe what differs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from isomorph.core.model import TensorSpec
from isomorph.core.model_diff import ChangeKind, DiffNode, DiffRow, NodeChange, Relation
from isomorph.diffing.attribute_changes import attribute_changes
from isomorph.diffing.connections import Connections
from isomorph.diffing.constant_changes import ConstantChanges, ConstantComparison
from isomorph.diffing.group_constants import GroupConstants
from isomorph.diffing.linked_graph import LinkedGraph, operator_of
from isomorph.diffing.node_groups import NodeGroup, group_nodes
from isomorph.diffing.node_pairs import NodePairs
from isomorph.diffing.one_sided import OneSided
from isomorph.diffing.sequence_pairs import pair_in_order, pair_moved

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node
    from isomorph.diffing.constant_changes import Read
    from isomorph.diffing.group_constants import StoredNumbers


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffConfig:
    """What both graphs have in common, and how constants are read."""

    one_framework: bool
    one_layout: bool = True
    """Whether both sides have one convention for the place of the channels."""
    read: Read | None = None
    numbers: Callable[[], StoredNumbers | None] | None = None
    """Opens the weights of both models, which those of groups follow from."""


def diff_graphs(
    reference: Graph,
    candidate: Graph,
    *,
    inputs: Mapping[str, str],
    outputs: Sequence[tuple[str, str]],
    config: DiffConfig,
) -> list[DiffRow]:
    """Return the rows of two graphs.

    ``inputs`` are the reference's by the candidate's, ``outputs`` pairs, the reference's first.
    """
    return _GraphDiff((reference, candidate), inputs, outputs, config).rows()


class _GraphDiff:
    def __init__(
        self,
        graphs: tuple[Graph, Graph],
        inputs: Mapping[str, str],
        outputs: Sequence[tuple[str, str]],
        config: DiffConfig,
        holder: str = "",
    ) -> None:
        self.config, self.holder = config, holder
        self.graphs = graphs
        reference, candidate = graphs
        self.sides = (
            LinkedGraph(reference, [ref for ref, _ in outputs]),
            LinkedGraph(candidate, [cand for _, cand in outputs]),
        )
        self.pairs = NodePairs(
            *self.sides,
            tensors=inputs,
            same_attributes=lambda ref, cand: not self._attributes(ref, cand),
            one_framework=config.one_framework,
        )
        self.pairs.extend(outputs)
        pair_in_order(self.pairs)
        self.pairs.extend_by_operator()
        self.moved = set(pair_moved(self.pairs)) if config.one_framework else set()
        self.groups = group_nodes(self.pairs, outputs)
        self.moved &= self.pairs.cand_of.keys()
        plain = Connections(self.pairs, self.groups, self.moved)
        self.moved |= {
            ref for ref, cand in self.pairs.cand_of.items() if plain.elsewhere(ref, cand)
        }
        self.connections = Connections(self.pairs, self.groups, self.moved)
        self._one_sided = OneSided(self.sides, self.groups, one_framework=config.one_framework)
        self.constants = ConstantChanges(
            self.sides,
            config.read,
            one_framework=config.one_framework,
            pairs=self.pairs.cand_of,
        )
        self.group_constants = GroupConstants(
            self.sides,
            self.constants,
            config.numbers,
            one_framework=config.one_framework,
            one_layout=config.one_layout,
        )

    def rows(self) -> list[DiffRow]:
        """Every row, in the order of the reference's file."""
        keyed: list[tuple[tuple[int, int, int], list[DiffRow]]] = []
        at: dict[int, int] = {}
        """The reference's place in whose neighborhood each of the candidate's nodes stands."""
        for ref, cand in self.pairs.cand_of.items():
            at[cand] = ref
            keyed.append(((ref, 0, 0), [self._pair(ref, cand), *self._bodies(ref, cand)]))
        for group in self.groups:
            if group.reference:
                at |= dict.fromkeys(group.candidate, group.reference[0])
                keyed.append(((group.reference[0], 0, 0), [self._group(group)]))
        place = -1
        before: dict[int, int] = {}
        for cand in range(len(self.sides[1].nodes)):
            place = before[cand] = at.get(cand, place)
        keyed += [
            ((before[group.candidate[0]], 1, group.candidate[0]), [self._group(group)])
            for group in self.groups
            if not group.reference
        ]
        return [row for _, rows in sorted(keyed, key=lambda each: each[0]) for row in rows]

    def _pair(self, ref: int, cand: int) -> DiffRow:
        left, right = self.sides[0].nodes[ref], self.sides[1].nodes[cand]
        if {left.op, right.op} - {self.sides[0].ops[ref], self.sides[1].ops[cand]}:
            # Integers stand for the numbers of the other side, and their scales for nothing.
            found = self.group_constants.compared((ref,), (cand,))
            constants = ConstantComparison(changes=found.changes, uncompared=found.uncompared)
        else:
            constants = self.constants.between(ref, cand)
        changes = [
            *self._operator(left, right),
            *self._attributes(ref, cand),
            *constants.changes,
            *self._declared(ref, cand),
        ]
        moved = ref in self.moved
        if not moved:
            changes += self.connections.changes(ref, cand)
        relation = Relation.MOVED if moved else Relation.CHANGED if changes else Relation.MATCHED
        return DiffRow(
            relation=relation,
            reference=(self._node(0, ref),),
            candidate=(self._node(1, cand),),
            changes=tuple(changes),
            uncompared=constants.uncompared,
            renamed=left.name != right.name,
        )

    def _operator(self, ref: Node, cand: Node) -> Iterator[NodeChange]:
        if operator_of(ref.op) != operator_of(cand.op) or (
            self.config.one_framework and ref.native_op != cand.native_op
        ):
            yield NodeChange(
                kind=ChangeKind.OPERATOR, name="operator", reference=ref.native_op,
                candidate=cand.native_op,
            )  # fmt: skip

    def _attributes(self, ref: int, cand: int) -> list[NodeChange]:
        return attribute_changes(
            self.graphs,
            self.sides[0].nodes[ref],
            self.sides[1].nodes[cand],
            one_framework=self.config.one_framework,
            one_layout=self.config.one_layout,
        )

    def _declared(self, ref: int, cand: int) -> Iterator[NodeChange]:
        """Types and shapes that begin to differ here: those of the inputs do not."""
        left, right = self.sides
        reads = left.live_reads[ref], right.live_reads[cand]
        outputs = list(zip(left.nodes[ref].outputs, right.nodes[cand].outputs, strict=False))
        for kind, differ in ((ChangeKind.TYPE, self._types), (ChangeKind.SHAPE, self._shapes)):
            if len(reads[0]) == len(reads[1]) and any(
                differ(one, other) for one, other in zip(*reads, strict=True)
            ):
                continue
            for one, other in outputs:
                found = differ(one, other)
                if found is not None:
                    yield NodeChange(kind=kind, name=other, reference=found[0], candidate=found[1])

    def _types(self, ref: str, cand: str) -> tuple[str, str] | None:
        types = self.graphs[0].declared_dtype(ref), self.graphs[1].declared_dtype(cand)
        if types[0] is None or types[1] is None or types[0] == types[1]:
            return None
        return types[0], types[1]

    def _shapes(self, ref: str, cand: str) -> tuple[str, str] | None:
        shapes = self.sides[0].shape(ref), self.sides[1].shape(cand)
        if shapes[0] is None or shapes[1] is None:
            return None
        sizes = [list(shape) for shape in shapes if shape is not None]
        fixed = all(isinstance(size, int) for shape in sizes for size in shape)
        if not self.config.one_layout:
            # Where channels stand elsewhere, only the sizes as a whole can be compared.
            same = not fixed or sorted(map(str, sizes[0])) == sorted(map(str, sizes[1]))
        else:
            same = all(
                one == other
                for one, other in zip(*sizes, strict=False)
                if isinstance(one, int) and isinstance(other, int)
            )
        if len(sizes[0]) == len(sizes[1]) and same:
            return None
        return str(list(shapes[0])), str(list(shapes[1]))

    def _group(self, group: NodeGroup) -> DiffRow:
        relation = self._relation(group)
        row = DiffRow(
            relation=relation,
            reference=tuple(self._node(0, place) for place in group.reference),
            candidate=tuple(self._node(1, place) for place in group.candidate),
            changes=tuple(self._replaced(group)),
        )
        if not (group.reference and group.candidate):
            return row
        found = self.group_constants.compared(group.reference, group.candidate)
        return replace(
            row,
            changes=(*row.changes, *found.changes),
            uncompared=found.uncompared,
            attributes_compared=found.attributes,
        )

    def _relation(self, group: NodeGroup) -> Relation:
        if group.reference and group.candidate:
            replaced = self.config.one_framework and self._is_replaced(group)
            return Relation.CHANGED if replaced else Relation.REGROUPED
        return self._one_sided.relation(group)

    @staticmethod
    def _is_replaced(group: NodeGroup) -> bool:
        return len(group.reference) == len(group.candidate) == 1

    def _replaced(self, group: NodeGroup) -> Iterator[NodeChange]:
        if self.config.one_framework and self._is_replaced(group):
            left = self.sides[0].nodes[group.reference[0]]
            right = self.sides[1].nodes[group.candidate[0]]
            yield from self._operator(left, right)

    def _bodies(self, ref: int, cand: int) -> Iterator[DiffRow]:
        """The rows of the bodies of two nodes, and of the functions that they call."""
        left, right = self.sides[0].nodes[ref], self.sides[1].nodes[cand]
        keys = [(key, left.bodies[key], body) for key, body in right.bodies.items()
                if key in left.bodies]  # fmt: skip
        for key, one, other in keys:
            bodies = [
                self._with_captured(side, node, body)
                for side, (node, body) in enumerate(((left, one), (right, other)))
            ]
            own = zip(one.inputs, other.inputs, strict=False)
            outputs = zip(one.outputs, other.outputs, strict=False)
            inputs = {b.name: a.name for a, b in own}
            inputs |= self._captured_pairs(ref, cand)
            inner = _GraphDiff(
                (bodies[0], bodies[1]),
                inputs,
                [(a.name, b.name) for a, b in outputs],
                replace(self.config, read=None, numbers=None),
                f"{self.holder}{right.name}/{key}/",
            )
            yield from inner.rows()

    def _with_captured(self, side: int, node: Node, body: Graph) -> Graph:
        """A body with what it reads from outside as further inputs and constants."""
        graph = self.graphs[side]
        outside = [n for n in self.sides[side].topology.reads(node) if n not in node.inputs]
        stored = {n: graph.constants[n] for n in outside if n in graph.constants}
        specs = tuple(
            graph.tensors.get(n) or TensorSpec(name=n, dtype=None, shape=None)
            for n in outside
            if n not in stored
        )
        return replace(body, inputs=(*body.inputs, *specs), constants={**stored, **body.constants})

    def _captured_pairs(self, ref: int, cand: int) -> dict[str, str]:
        nodes = self.sides[0].nodes[ref], self.sides[1].nodes[cand]
        outside = [
            [n for n in side.topology.reads(node) if n not in node.inputs]
            for side, node in zip(self.sides, nodes, strict=True)
        ]
        by_source = {self.connections.source(0, name): name for name in outside[0]}
        found = {name: by_source.get(self.connections.source(1, name)) for name in outside[1]}
        return {name: other for name, other in found.items() if other is not None}

    def _node(self, side: int, place: int) -> DiffNode:
        graph = self.sides[side]
        node = graph.nodes[place]
        makers = (graph.maker.get(name) for name in graph.live_reads[place])
        reads = (
            name if made is None else graph.nodes[made[0]].name
            for name, made in zip(graph.live_reads[place], makers, strict=True)
        )
        tensors = graph.graph.tensors
        return DiffNode(
            name=f"{self.holder}{node.name}",
            op=node.op,
            native_op=node.native_op,
            reads=tuple(f"{self.holder}{name}" for name in dict.fromkeys(reads)),
            outputs=tuple(
                tensors.get(name) or TensorSpec(name=name, dtype=None, shape=None)
                for name in node.outputs
                if name
            ),
            constants=tuple(n for n in graph.constants[place] if n in graph.graph.constants),
            source=node.source,
        )
