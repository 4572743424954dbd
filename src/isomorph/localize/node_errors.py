"""The error of each node of a graph: of its execution, and of its translation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.batching import batches
from isomorph.core.profile import GraphProfile, Number
from isomorph.match.tensor_capture import TensorCapture
from isomorph.measure.spread import threshold
from isomorph.measure.tensor_details import nothing_finite, short
from isomorph.oracle.dtypes import numeric
from isomorph.oracle.sizes import rms_and_peak
from isomorph.sessions.fetched_feeds import Source, as_declared, feeds_from

if TYPE_CHECKING:
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array
    from isomorph.localize.fault import Fault
    from isomorph.localize.fault_search import Search

_BYTES_AT_A_TIME = 256 << 20
_WIDEST = 8
"""Bytes of an element of an oracle's result."""


@dataclass(slots=True)
class NodeErrors:
    """The errors of one model's nodes, measured column by column."""

    role: str
    capture: TensorCapture
    tensors: tuple[str, ...] = field(init=False)
    _places: dict[str, int] = field(init=False)
    _measured: dict[str, dict[str, float]] = field(default_factory=dict)
    _run_spread: Mapping[str, float] = field(default_factory=dict)
    _not_finite: set[str] = field(default_factory=set)
    """Tensors without a finite value on either side: nothing was compared there."""

    def __post_init__(self) -> None:
        nodes = self.capture.graph.nodes
        # A node is represented by its first output that depends on the inputs.
        self.tensors = tuple(
            next((name for name in node.outputs if name in self.capture.spread), "")
            for node in nodes
        )
        self._places = {
            name: place for place, node in enumerate(nodes) for name in node.outputs if name
        }

    def place(self, tensor: str) -> int | None:
        """Return the position of the node that computes a tensor; None for an input."""
        return self._places.get(tensor)

    def explain_run(self, run_dtype: str) -> None:
        """Draw the rounding of a run that computes in another float type than the file's."""
        noise = self.capture.noise
        if not run_dtype or noise is None or noise.run_dtype == run_dtype:
            return
        noise = replace(noise, run_time=True, run_dtype=run_dtype)
        drawn = TensorCapture(self.capture.graph, self.capture.oracle, self.capture.feeds, noise)
        drawn.compute()
        self._run_spread = drawn.spread

    def execution(self, session: Session) -> None:
        """Compare the tensors of a run with the oracle's.

        The inputs of a body come from an oracle and are rounded to the declared type; the oracle
        is then fed the same rounded values.
        """
        narrow = _narrow(self.capture)
        for names in _batches(self.capture, [name for name in self.tensors if name]):
            ran = session.run({**self.capture.feeds, **narrow}, names)
            for name, expected in self.capture.run(names, narrow).items():
                if numeric(ran.get(name)) and np.asarray(ran[name]).shape == expected.shape:
                    self._put("execution", name, expected, np.asarray(ran[name]), self._size(name))

    def translation(self, search: Search, faults: Sequence[Fault]) -> None:
        """Compare the oracle with the reference's, as it is and with earlier faults corrected."""
        reference, given = search.reference, search.given
        pairs = {name: search.pairs[name] for name in self.tensors if search.pairs.get(name)}
        found: dict[str, Any] = {each.tensor: (each.counterpart, each.moved) for each in faults}
        found = {**pairs, **{name: pair for name, pair in found.items() if name in self.tensors}}
        for names in _batches(self.capture, list(found)):
            right = reference.run([found[name][0] for name in names])
            free = [name for name in names if name not in given]
            forced = self.capture.run(free, given) if given else {}
            for name, value in self.capture.run(names).items():
                other, moved = found[name]
                if other not in right:
                    continue
                expected, size = moved.array(right[other]), reference.prints[other].rms
                self._put("translation", name, expected, value, size)
                self._put("local", name, expected, forced.get(name, value), size)
        local = self._measured.setdefault("local", {})
        by_node = dict(zip((n.name for n in self.capture.graph.nodes), self.tensors, strict=True))
        for each in faults:
            # The corrected tensor may be computed by a node that only passes the fault on.
            local.pop(each.tensor, None)
            local[by_node.get(each.node) or each.tensor] = each.local_error
        self._measured["counterpart"] = {name: found[name][0] for name in found}

    def _put(self, column: str, tensor: str, expected: Array, value: Array, size: float) -> None:
        if nothing_finite(expected) and nothing_finite(value):
            self._not_finite.add(tensor)
            return
        error = rms_and_peak(expected, value)[0]
        self._measured.setdefault(column, {})[tensor] = _relative(error, size)

    def _size(self, tensor: str) -> float:
        return self.capture.prints[tensor].rms

    def _budget(self, tensor: str, spreads: Mapping[str, float]) -> Number:
        spread = spreads.get(tensor)
        if spread is None or not np.isfinite(spread) or tensor in self._not_finite:
            return None
        allowed = threshold(self.capture.prints[tensor].elements) * spread
        return _relative(allowed, self._size(tensor))

    def profile(self, other: NodeErrors | None = None) -> GraphProfile:
        """Return all measured columns."""
        nodes = self.capture.graph.nodes
        pairs: Mapping[str, Any] = self._measured.get("counterpart", {})
        return GraphProfile(
            role=self.role,
            nodes=tuple(node.name for node in nodes),
            ops=tuple(node.op for node in nodes),
            tensors=self.tensors,
            sources=tuple(self._sources(place) for place in range(len(nodes))),
            execution=self._column("execution"),
            budget=self._budgets(self.capture.spread),
            run_budget=self._budgets(self._run_spread) if self._run_spread else (),
            counterpart=tuple(
                other.place(pairs[name]) if other is not None and name in pairs else None
                for name in self.tensors
            ),
            translation=self._column("translation"),
            local=self._column("local"),
            modules=tuple((node.source and node.source.module) or "" for node in nodes),
        )

    def _budgets(self, spreads: Mapping[str, float]) -> tuple[Number, ...]:
        return tuple(_rounded(self._budget(name, spreads)) for name in self.tensors)

    def _column(self, column: str) -> tuple[Number, ...]:
        found = self._measured.get(column, {})
        return tuple(_rounded(found.get(name)) for name in self.tensors)

    def _sources(self, place: int) -> tuple[int, ...]:
        reads = self.capture.topology.reads(self.capture.graph.nodes[place])
        found = (self._places.get(name) for name in reads)
        return tuple(dict.fromkeys(each for each in found if each is not None and each != place))


def _narrow(capture: TensorCapture) -> dict[str, Array]:
    """Return inputs that are fed in float64 but declared in a narrower float type."""
    sources: dict[str, Source] = {}
    for spec in capture.graph.inputs:
        value: Any = capture.feeds.get(spec.name)
        wide = isinstance(value, np.ndarray) and value.dtype == np.float64
        if wide and spec.dtype is not None and "float" in spec.dtype and spec.dtype != "float64":
            sources[spec.name] = Source(name=spec.name, convert=as_declared(spec))
    return feeds_from(capture.feeds, sources)


def _batches(capture: TensorCapture, names: Sequence[str]) -> list[list[str]]:
    """Return batches of tensors that fit into memory together."""
    return batches(
        dict.fromkeys(names), lambda name: capture.prints[name].elements * _WIDEST, _BYTES_AT_A_TIME
    )


def _relative(error: float, size: float) -> float:
    """Return the relative error; infinite where the expected value is zero and this is not."""
    return error / size if size > 0 else (0.0 if error == 0 else float("inf"))


def _rounded(value: Number) -> Number:
    return None if value is None else short(value)


def value_at(capture: TensorCapture, tensor: str, given: Mapping[str, Array]) -> Array | None:
    """Return one tensor with some others substituted."""
    return capture.run([tensor], given).get(tensor)
