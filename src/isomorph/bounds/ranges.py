"""The range of every tensor of a model: bounds, measured values, and inputs that overflow."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from isomorph.bounds.boxes import bounds_by_parts
from isomorph.bounds.headroom import headroom
from isomorph.bounds.interval import within
from isomorph.bounds.magnitude_trail import magnitude_trail
from isomorph.bounds.measured import MeasuredRanges
from isomorph.bounds.rounding import largest, overflow_begins, rounds_to_zero
from isomorph.bounds.sample_values import SampleValues
from isomorph.bounds.walk import GraphWalk, TensorBounds, float_tensors, moving_tensors
from isomorph.core.errors import IsomorphError
from isomorph.core.limits import noted_limits
from isomorph.core.not_done import beyond
from isomorph.core.ranges import (
    OpenReason,
    OverflowInput,
    Ranges,
    RangeStatus,
    TensorRange,
    TrailStep,
)
from isomorph.core.search_limits import RANGE_SAMPLES, SEARCH_CHILDREN, SEARCHED_TENSORS, SEARCHES
from isomorph.inputs.extreme_search import differentiable, search, steps_along
from isomorph.inputs.input_space import input_range
from isomorph.oracle.dtypes import is_float
from isomorph.version import VERSION

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Node
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array
    from isomorph.inputs.input_space import InputSpace
    from isomorph.sessions.model_handle import ModelHandle

_CORNERS = (1.0, 0.0, 0.5)
"""Shares of elements at the ends of their ranges, in the inputs that are drawn."""
_INT8_STEPS = 127.0


@dataclass(kw_only=True)
class RangeAnalysis:
    """One model, the ranges of its inputs, and samples within them.

    ``samples`` have words for how each was made; the first one fixes the shapes. ``given`` tells
    whether they are the user's data, which headroom is about, or one that was generated.
    """

    handle: ModelHandle
    space: InputSpace
    samples: Sequence[tuple[Mapping[str, Array], str]]
    given: bool = False
    target: str | None = None
    seed: int = 0
    bounds_only: bool = False
    """Whether nothing is measured and no input is searched for."""
    on_progress: Callable[[str, str], None] | None = None
    _nodes: dict[str, Node] = field(default_factory=dict)
    _notes: list[str] = field(default_factory=list)
    _data_magnitudes: dict[str, float] = field(default_factory=dict)
    _data_extremes: dict[str, tuple[float, Mapping[str, Array], str]] = field(default_factory=dict)
    """Tensors that overflow on the user's data: their largest number, on which sample."""

    def ranges(self) -> Ranges:
        """The answer, with the limits that were hit."""
        with noted_limits() as noted:
            found = self._ranges()
        skipped = tuple(map(beyond, noted))
        return replace(found, skipped=skipped)

    def _ranges(self) -> Ranges:
        graph, session = self.handle.model.graph, self.handle.oracle()
        self._nodes = {out: node for node in graph.nodes for out in node.outputs if out}
        self._report("bound", "")
        first = self.space.fitted(self.samples[0][0])
        sample = SampleValues(graph, session, first, moving_tensors(graph))
        walk = GraphWalk(graph=graph, session=session, sample=sample, target=self.target)
        box = {each.name: within(each.shape, each.lower, each.upper)
               for each in self.space.variables}  # fmt: skip
        names = [name for name in float_tensors(graph, sample) if name in walk.moving]
        limits = {name: self._largest(graph, name) for name in names}
        bounds, boxes = bounds_by_parts(walk, box, limits, self.space)
        measured = MeasuredRanges(
            session=session,
            names=names,
            bytes_each=8 * sum(int(np.prod(np.shape(sample[name]))) for name in names),
        )
        if not self.bounds_only:
            self._measure(measured)
            self._search(measured, bounds, limits)
        tensors = [self._tensor(graph, name, sample, bounds[name], measured) for name in names]
        tensors += self._constants(graph, walk, sample)
        overflows = self._overflows(tensors, measured)
        return Ranges(
            model=self.handle.summary,
            target=self.target,
            largest=largest(str(self.target)) if is_float(self.target) else None,
            inputs=tuple(input_range(each) for each in self.space.variables),
            tensors=tuple(tensors),
            overflows=overflows,
            trail=self._trail(overflows, session, names),
            notes=tuple(self._notes),
            seed=self.seed,
            evaluations=measured.runs,
            boxes=boxes,
            version=VERSION,
        )

    def _largest(self, graph: Graph, name: str) -> float:
        """The largest number that a tensor may hold; infinite where a scale follows the bound."""
        declared = graph.declared_dtype(name)
        if is_float(self.target):
            return largest(str(self.target))
        if self.target is not None:
            return float(np.finfo(np.float64).max)
        return largest(str(declared) if is_float(declared) else "float32")

    def _measure(self, measured: MeasuredRanges) -> None:
        """Run the given samples and drawn ones."""
        self._report("measure", f"{len(self.samples) + RANGE_SAMPLES} inputs")
        random = np.random.default_rng([self.seed, 0])
        measured.measure([(self.space.fitted(feeds), words) for feeds, words in self.samples])
        if self.given:
            self._data_magnitudes = {name: measured.magnitude(name) for name in measured.lower}
            self._data_extremes = {
                name: (max(low, measured.upper[name], key=abs), *measured.extremes[name])
                for name, low in measured.lower.items()
                if self._overflowed(name, measured) and name in measured.extremes
            }
        samples: list[tuple[Mapping[str, Array], str]] = []
        for place in range(RANGE_SAMPLES):
            share = _CORNERS[place % len(_CORNERS)]
            words = f"drawn, {share:.0%} of the elements at the ends of their ranges"
            samples.append((self.space.drawn(random, corners=share), words))
        for end in ("lower", "upper"):
            feeds = {each.name: each.typed(np.full(each.shape, getattr(each, end)))
                     for each in self.space.variables}  # fmt: skip
            samples.append((feeds, f"every element at its {end} end"))
        measured.measure(samples)

    def _search(
        self,
        measured: MeasuredRanges,
        bounds: Mapping[str, TensorBounds],
        limits: Mapping[str, float],
    ) -> None:
        """Search for inputs on which tensors overflow whose bounds allow it."""
        if not is_float(self.target) and self.target is not None:
            return
        undecided = [
            name for name, limit in limits.items()
            if not bounds[name].within(limit) and not self._overflowed(name, measured)
        ]  # fmt: skip
        if len(undecided) < len(limits) and any(self._overflowed(n, measured) for n in limits):
            # What is behind an overflow is of no use before it is repaired.
            return
        undecided.sort(key=lambda name: -measured.magnitude(name) / limits[name])
        chosen = list(SEARCHED_TENSORS.first(undecided))
        # Fewer tensors are searched several times, each time from other inputs.
        again = [chosen[at % len(chosen)] for at in range(SEARCHES - len(chosen)) if chosen]
        for place, name in enumerate((*chosen, *again)):
            self._report("search", name)
            random = np.random.default_rng([self.seed, 1, place])
            start = self._starts(name, measured, random if place else None)
            search(
                self.space,
                start,
                partial(measured.magnitudes, name, others=undecided),
                random,
                enough=self._beginning(name, limits[name]),
                propose=partial(self._steps, name),
            )
            if self._overflowed(name, measured):
                # One input usually overflows several tensors: every one is measured on it.
                measured.measure([(measured.extremes[name][0], f"search for {name}")])
                break

    def _steps(self, name: str, best: Mapping[str, Array]) -> Sequence[Mapping[str, Array]]:
        """Steps along the gradient of the largest element, where the oracle has gradients."""
        oracle = differentiable(self.handle.oracle())
        if oracle is None:
            return ()
        try:
            value = np.asarray(self.handle.oracle().run(best, [name])[name])
            weight = np.zeros(value.shape)
            place = int(np.abs(value).argmax())
            weight.reshape(-1)[place] = np.sign(value.reshape(-1)[place]) or 1.0
            slopes = oracle.gradients(best, {name: weight})
        except IsomorphError:
            return ()
        return steps_along(self.space, best, slopes, (1.0,))

    def _starts(
        self, name: str, measured: MeasuredRanges, random: np.random.Generator | None
    ) -> list[tuple[Mapping[str, Array], float]]:
        """The best input so far, or others that are drawn: one hill may hide a higher one."""
        known = measured.extremes.get(name)
        if random is None and known is not None:
            return [(known[0], measured.magnitude(name))]
        drawn = [self.space.drawn(random or np.random.default_rng(self.seed), corners=0.5)
                 for _ in range(SEARCH_CHILDREN)]  # fmt: skip
        return list(zip(drawn, measured.magnitudes(name, drawn), strict=True))

    def _beginning(self, name: str, limit: float) -> float:
        return overflow_begins(str(self.target)) if self.target is not None else limit

    def _overflowed(self, name: str, measured: MeasuredRanges) -> bool:
        if self.target is not None and not is_float(self.target):
            return False
        dtype = self._float_type(self.handle.model.graph, name)
        return measured.magnitude(name) >= overflow_begins(dtype)

    def _float_type(self, graph: Graph, name: str) -> str:
        """The float type that a tensor is to be stored in."""
        declared = graph.declared_dtype(name)
        return self.target or (str(declared) if is_float(declared) else "float32")

    def _tensor(
        self,
        graph: Graph,
        name: str,
        sample: Mapping[str, Array],
        bounds: TensorBounds,
        measured: MeasuredRanges,
    ) -> TensorRange:
        node = self._nodes.get(name)
        limit = self._largest(graph, name)
        reason = bounds.reason
        _refuse_contradiction(name, bounds, measured)
        if name in measured.nan:
            reason = OpenReason.MEASURED_NAN
        if self._overflowed(name, measured):
            status, reason = RangeStatus.OVERFLOW, None
        elif reason is None and bounds.within(limit):
            status, reason = RangeStatus.SAFE, None
        else:
            status, reason = RangeStatus.OPEN, reason or OpenReason.TOO_WIDE
        low, high = measured.lower.get(name, math.nan), measured.upper.get(name, math.nan)
        reach = max(abs(bounds.lower), abs(bounds.upper))
        is_int8 = self.target == "int8"
        largest_given = self._data_magnitudes.get(name)
        return TensorRange(
            name=name,
            node=node.name if node is not None else None,
            op=node.op if node is not None else None,
            dtype=graph.declared_dtype(name),
            shape=tuple(np.shape(sample[name])),
            lower=bounds.lower,
            upper=bounds.upper,
            measured_lower=low,
            measured_upper=high,
            status=status,
            reason=reason,
            scale=reach / _INT8_STEPS if is_int8 and math.isfinite(reach) else None,
            measured_scale=measured.magnitude(name) / _INT8_STEPS if is_int8 else None,
            data_magnitude=largest_given,
            headroom=None
            if largest_given is None or is_int8
            else headroom(largest_given, self._float_type(graph, name)),
        )

    def _constants(
        self, graph: Graph, walk: GraphWalk, sample: Mapping[str, Array]
    ) -> list[TensorRange]:
        """Stored tensors, and what follows from them alone, that a float type cannot hold."""
        if not is_float(self.target):
            return []
        target, found = str(self.target), []
        names = dict.fromkeys(
            name for node in graph.nodes if set(node.outputs) & walk.moving for name in node.inputs
            if name and name not in walk.moving
        )  # fmt: skip
        for name in names:
            value = sample.get(name)
            if not isinstance(value, np.ndarray) or value.dtype.kind != "f" or not value.size:
                continue
            finite = value[np.isfinite(value)]
            lost = int(np.count_nonzero(rounds_to_zero(finite, target)))
            if lost:
                self._notes.append(
                    f"constant {name!r}: {lost} of {value.size} numbers become 0 in {target}"
                )
            if not finite.size or np.abs(finite).max() < overflow_begins(target):
                continue
            low, high = float(finite.min()), float(finite.max())
            node = self._nodes.get(name)
            found.append(
                TensorRange(
                    name=name,
                    node=node.name if node is not None else None,
                    op=node.op if node is not None else "Constant",
                    dtype=walk.declared(name),
                    shape=tuple(value.shape),
                    lower=low,
                    upper=high,
                    measured_lower=low,
                    measured_upper=high,
                    status=RangeStatus.OVERFLOW,
                )
            )
        return found

    def _overflows(
        self, tensors: Sequence[TensorRange], measured: MeasuredRanges
    ) -> tuple[OverflowInput, ...]:
        """The input of the first tensor that overflows, one of the user's where one does it."""
        wrong = [each for each in tensors if each.status is RangeStatus.OVERFLOW
                 and each.name in measured.extremes]  # fmt: skip
        if not wrong:
            return ()
        on_data = [each for each in wrong if each.name in self._data_extremes]
        if on_data:
            first = on_data[0]
            value, feeds, recipe = self._data_extremes[first.name]
        else:
            first = wrong[0]
            feeds, recipe = measured.extremes[first.name]
            value, recipe = _signed_extreme(first), f"{recipe}, seed {self.seed}"
        return (
            OverflowInput(
                tensor=first.name,
                node=first.node,
                op=first.op,
                value=value,
                run_value=None,
                narrow_value=None,
                recipe=recipe,
                given=bool(on_data),
                inputs=dict(feeds),
            ),
        )

    def _trail(
        self, overflows: Sequence[OverflowInput], session: Session, names: Sequence[str]
    ) -> tuple[TrailStep, ...]:
        """What the first tensor that overflows grew from, on the input that shows it."""
        if not overflows:
            return ()
        values = session.run(overflows[0].inputs, list(names))
        magnitudes = {
            name: float(np.max(np.abs(np.asarray(value)), initial=0.0))
            for name, value in values.items()
        }
        return magnitude_trail(self.handle.model.graph, overflows[0].tensor, magnitudes)

    def _report(self, phase: str, detail: str) -> None:
        if self.on_progress is not None:
            self.on_progress(phase, detail)


def _refuse_contradiction(name: str, bounds: TensorBounds, measured: MeasuredRanges) -> None:
    """Raise if a run refutes a bound: that is a defect of a transformer, never a result."""
    low, high = measured.lower.get(name, bounds.lower), measured.upper.get(name, bounds.upper)
    if name in measured.nan and bounds.reason is None:
        raise AssertionError(f"tensor {name!r} was measured to be NaN, which its bound excludes")
    if low < bounds.lower or high > bounds.upper:
        raise AssertionError(
            f"tensor {name!r} was measured at {low!r} … {high!r}, "
            f"outside its bound {bounds.lower!r} … {bounds.upper!r}"
        )


def _signed_extreme(tensor: TensorRange) -> float:
    low, high = tensor.measured_lower, tensor.measured_upper
    return low if abs(low) > abs(high) else high
