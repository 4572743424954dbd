"""The bounds of every tensor of a graph, node after node."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.bounds.affine_walk import AffineWalk
from isomorph.bounds.interval import Interval, unbounded, within
from isomorph.bounds.narrow_constants import NarrowConstants, constants_beyond
from isomorph.bounds.node_inputs import NodeInputs
from isomorph.bounds.node_runs import NodeRuns
from isomorph.bounds.rounding import rounded_constant, type_rounding
from isomorph.bounds.transformers import TRANSFORMERS, bounds_of
from isomorph.bounds.whole_numbers import may_wrap
from isomorph.core.errors import IsomorphError
from isomorph.core.ops import RANDOM
from isomorph.core.ranges import OpenReason
from isomorph.core.search_limits import AFFINE_RUNS
from isomorph.oracle.plan import releases_of

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node
    from isomorph.core.protocols import Session

_SHAPE_ONLY = frozenset({"Shape", "Size", "Rank", "ConstantOfShape", "ZerosLike", "EyeLike"})
"""Operators that read the shape of a float tensor and no number of it."""
_PLACES_BEHIND = frozenset({"MaxPool", "ReduceMax", "ReduceMin"})
"""Operators whose further outputs are places."""
_ROUNDED_TO_INTEGERS = frozenset({"Cast", "QuantizeLinear", "Round", "Floor", "Ceil", "Sign"})
_QUANTIZERS = frozenset({"QuantizeLinear", "DequantizeLinear"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorBounds:
    """The bounds of a tensor over all its elements; ``reason`` is why they prove nothing."""

    lower: float
    upper: float
    reason: OpenReason | None = None

    def within(self, limit: float) -> bool:
        """Whether no number of this size or less is beyond the bounds' ends."""
        return self.lower >= -limit and self.upper <= limit


@dataclass(kw_only=True)
class GraphWalk:
    """What does not change between two boxes of one model.

    ``sample`` has the value of every tensor in one run, which fixes the shapes.
    """

    graph: Graph
    session: Session
    sample: Mapping[str, Any]
    target: str | None = None
    moving: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.moving = moving_tensors(self.graph)
        self._producers = {out: node for node in self.graph.nodes for out in node.gives}
        self._quantized = {each.tensor for each in self.graph.quantization}
        self._runs = NodeRuns(self.session, self.sample)
        self._fixed = frozenset(self.sample) - self.moving
        self._affine_runs = AFFINE_RUNS
        read = {name for node in self.graph.nodes if self.moving.intersection(node.outputs)
                for name in node.inputs if name in self._fixed}  # fmt: skip
        self._constants = NarrowConstants(
            sample=self.sample,
            declared=self.declared,
            target=self.target,
            beyond=constants_beyond(self.sample, sorted(read), self.target),
        )
        # A node with bodies reads nothing of its inputs here: its outputs have any value.
        self._releases = releases_of(self.graph.nodes)

    def bounds(
        self, box: Mapping[str, Interval], *, overflowing: bool = False
    ) -> dict[str, TensorBounds]:
        """The bounds of every tensor that the inputs move, for all inputs in the box.

        A tensor whose bound exceeds its type is taken to hold the numbers all the same, as if it
        were stored in a wider one; if ``overflowing``, to hold infinities, as a run does.
        """
        known = {
            name: self._as_stored(name, each, overflowing=overflowing) for name, each in box.items()
        }
        reasons: dict[str, OpenReason] = {}
        nodes = max(1, len(self.graph.nodes))
        real = {name: each for name, each in known.items() if self._is_real(name)}
        forms = AffineWalk(real, self._affine_runs // nodes)
        found = {name: _summary(each, None) for name, each in known.items()}
        for node, finished in zip(self.graph.nodes, self._releases, strict=True):
            moved = self.moving.intersection(node.outputs)
            intervals, reason = (
                self._outputs(node, known, reasons, forms, overflowing=overflowing)
                if moved
                else ([], None)
            )
            for name, exact in zip(node.gives if moved else (), intervals, strict=True):
                interval = self._in_run(name, exact) if overflowing else exact
                if not np.array_equal(interval.infinite, exact.infinite):
                    # A form is about numbers, and a run may have none.
                    forms.forget(name)
                known[name] = interval
                why = self._reason(node, interval, reason, reasons)
                if why is not None:
                    reasons[name] = why
                found[name] = _summary(interval, why)
            for name in finished:
                known.pop(name, None)
                forms.forget(name)
        self._affine_runs -= forms.terms * nodes
        return found

    def _in_run(self, name: str, interval: Interval) -> Interval:
        """What a run holds that stores numbers beyond the type as infinities."""
        if not self._is_real(name):
            return interval
        return interval.beyond_is_infinite(type_rounding(self.declared(name), self.target).most)

    def _reason(
        self,
        node: Node,
        interval: Interval,
        lost: OpenReason | None,
        reasons: Mapping[str, OpenReason],
    ) -> OpenReason | None:
        """Why a bound proves nothing; None where it does."""
        if interval.bounded and not interval.may_be_nan:
            return None
        if lost is not None:
            return lost
        if any(name in reasons for name in node.inputs):
            return OpenReason.BEHIND_OPEN
        return OpenReason.MAY_BE_NAN if interval.bounded else OpenReason.UNBOUNDED

    def _as_stored(self, name: str, interval: Interval, *, overflowing: bool) -> Interval:
        """The range of an input, whose ends its own type or a narrow one may round outward."""
        declared = self.declared(name)
        low, high = interval.lower, interval.upper
        for narrow in (declared, self.target):
            low = np.minimum(low, rounded_constant(interval.lower, "float64", narrow).lower)
            high = np.maximum(high, rounded_constant(interval.upper, "float64", narrow).upper)
        found = Interval(low, high)
        return self._in_run(name, found) if overflowing else found

    def _outputs(
        self,
        node: Node,
        known: Mapping[str, Interval],
        reasons: Mapping[str, OpenReason],
        forms: AffineWalk,
        *,
        overflowing: bool,
    ) -> tuple[list[Interval], OpenReason | None]:
        """The bounds of the outputs of a node, or why they are unknown."""
        shapes_known = all(
            reasons.get(name) is not OpenReason.UNKNOWN_SHAPE for name in node.inputs if name
        )
        if not shapes_known:
            return self._unknown(node), OpenReason.UNKNOWN_SHAPE
        if "::" in node.native_op or self._is_quantized(node) or self._is_opaque(node):
            return self._unknown(node), self._lost(node)
        if overflowing and self._constants.lose(node):
            return self._unknown(node), OpenReason.UNBOUNDED
        inputs = NodeInputs(
            node=node,
            intervals={name: known[name] for name in node.inputs if name in known},
            runs=self._runs,
            rounding=type_rounding(self._dtype(node), self.target),
            producers=self._producers,
            fixed=self._fixed,
        )
        names = node.gives
        try:
            with np.errstate(all="ignore"):
                inputs = self._constants.rounded(inputs, overflowing=overflowing)
                found = bounds_of(inputs)
                if found is not None and all(map(self._is_real, (*inputs.intervals, *names))):
                    found = forms.narrowed(inputs, names, found)
        except (IsomorphError, TypeError):
            found = None
        if found is None:
            return self._unknown(node), self._lost(node)
        return [
            self._typed(inputs, place, name, interval)
            for place, (name, interval) in enumerate(zip(names, found, strict=True))
        ], None

    @property
    def overflows_in_constants(self) -> bool:
        """Whether a constant that is read holds a number that the target has not."""
        return bool(self._constants.beyond)

    def _is_real(self, name: str) -> bool:
        return np.asarray(self.sample[name]).dtype.kind == "f"

    def _typed(self, inputs: NodeInputs, place: int, name: str, interval: Interval) -> Interval:
        """The interval as the type of the tensor holds it."""
        node, value = inputs.node, np.asarray(self.sample[name])
        if value.dtype.kind == "b":
            return within(value.shape, 0.0, 1.0)
        if value.dtype.kind not in "iu":
            return interval
        moving = [np.asarray(self.sample[n]).dtype.kind for n in node.inputs if n in self.moving]
        places = node.op in _PLACES_BEHIND and place > 0
        if interval.may_be_nan or any(each.may_be_nan for each in inputs.intervals.values()):
            return self._of_type(name)
        if places or ("f" in moving and node.op not in _ROUNDED_TO_INTEGERS):
            return self._of_type(name)
        facts = np.iinfo(value.dtype)
        if may_wrap(inputs, facts):
            return self._of_type(name)
        return Interval(
            np.clip(np.round(interval.lower), facts.min, facts.max),
            np.clip(np.round(interval.upper), facts.min, facts.max),
        )

    def _unknown(self, node: Node) -> list[Interval]:
        """The outputs of a node of which nothing is known but their types."""
        return [self._of_type(name) for name in node.gives]

    def _of_type(self, name: str) -> Interval:
        value = self.sample.get(name)
        if not isinstance(value, np.ndarray):
            return replace(unbounded(()), may_be_nan=True)
        if value.dtype.kind == "b":
            return within(value.shape, 0.0, 1.0)
        if value.dtype.kind in "iu":
            facts = np.iinfo(value.dtype)
            return within(value.shape, float(facts.min), float(facts.max))
        return replace(unbounded(value.shape), may_be_nan=True)

    def _lost(self, node: Node) -> OpenReason:
        """Why nothing is known behind a node, whose shapes may depend on the data."""
        for name in node.outputs:
            spec = self.graph.tensors.get(name)
            shape = spec.shape if spec is not None else None
            if name and (shape is None or not all(isinstance(size, int) for size in shape)):
                return OpenReason.UNKNOWN_SHAPE
        return OpenReason.NO_TRANSFORMER

    def _is_quantized(self, node: Node) -> bool:
        """Whether a node computes on integers that stand for real numbers."""
        names = {*node.inputs, *node.outputs}
        return bool(names & self._quantized) and node.op not in _QUANTIZERS

    def _is_opaque(self, node: Node) -> bool:
        """Whether a node runs bodies or draws random numbers, or holds what is no real tensor."""
        if node.bodies or node.op in RANDOM or node.op not in TRANSFORMERS:
            return True
        held = [self.sample.get(name) for name in (*node.inputs, *node.outputs) if name]
        return not all(isinstance(v, np.ndarray) and v.dtype.kind in "fiub" for v in held)

    def _dtype(self, node: Node) -> str | None:
        return self.declared(next(name for name in node.outputs if name))

    def declared(self, name: str) -> str | None:
        """The declared type of a tensor or constant."""
        constant = self.graph.constants.get(name)
        return constant.dtype if constant is not None else self.graph.declared_dtype(name)


def moving_tensors(graph: Graph) -> frozenset[str]:
    """The inputs, and every tensor whose numbers depend on theirs."""
    moving = {spec.name for spec in graph.inputs}
    for node in graph.nodes:
        read = set(node.inputs) & moving
        if node.op in _SHAPE_ONLY:
            # Its integers would be sizes that depend on the data.
            read = {n for n in read if "int" in (graph.declared_dtype(n) or "float")}
            read = read if node.op == "ConstantOfShape" else set()
        if read or node.bodies or node.op in RANDOM:
            moving.update(node.gives)
    return frozenset(moving)


def _summary(interval: Interval, reason: OpenReason | None) -> TensorBounds:
    if not math.prod(interval.shape):
        return TensorBounds(lower=0.0, upper=0.0)
    return TensorBounds(lower=interval.least, upper=interval.most, reason=reason)


def float_tensors(graph: Graph, sample: Mapping[str, Any]) -> Iterator[str]:
    """The names of all tensors of real numbers, in the order in which they are computed."""
    names = [spec.name for spec in graph.inputs]
    names += [name for node in graph.nodes for name in node.outputs if name]
    for name in dict.fromkeys(names):
        value = sample.get(name)
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            yield name
