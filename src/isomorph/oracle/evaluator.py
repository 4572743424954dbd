"""A program evaluated in float64, fed and fetched at any tensor of its graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol

import numpy as np

from isomorph.core.last_node import leave
from isomorph.oracle.arithmetic import arithmetic_of
from isomorph.oracle.dtypes import numpy_dtype
from isomorph.oracle.executor import Executor
from isomorph.oracle.magnitudes import Magnitudes
from isomorph.oracle.step import Body, K, Read, Scope
from isomorph.oracle.value import EvalValue, lifted

if TYPE_CHECKING:
    from isomorph.core.trace import Noise
    from isomorph.oracle.noise import Array
    from isomorph.oracle.plan import Planner
    from isomorph.oracle.session import Keep
    from isomorph.oracle.step import Step
    from isomorph.oracle.weights import FoldedConstants


_TOP = Scope()
"""Of a node that is in no body."""


class MainGraph(Body[K], Protocol[K]):
    """The graph of a program, with what its tensors are called and how they are fed."""

    @property
    def planner(self) -> Planner[K, Step[K]]:
        """Plans the runs."""
        ...

    @property
    def folded(self) -> FoldedConstants[K]:
        """The tensors that follow from stored ones alone."""
        ...

    def find(self, name: str) -> K:
        """The tensor of this name."""
        ...

    def is_stored(self, key: K) -> bool:
        """Whether a tensor has a value before anything has run."""
        ...

    def fed(self, key: K, value: Any, noise: Noise | None) -> EvalValue:  # noqa: ANN401
        """What a fed array stands for."""
        ...

    def shown(self, key: K, value: EvalValue) -> Any:  # noqa: ANN401
        """What a user gets of a value."""
        ...

    def clear(self) -> None:
        """Release what is kept between runs."""
        ...


class Evaluator(Generic[K]):
    """One program, loaded once and run many times; a run computes only what is fetched."""

    def __init__(self, graph: MainGraph[K]) -> None:
        self._graph = graph
        self._magnitudes = Magnitudes()

    def run(
        self,
        feeds: Mapping[str, Any],
        fetch: Sequence[str],
        noise: Noise | None = None,
        keep: Keep = lambda _, value: value,
    ) -> dict[str, Any]:
        """Compute ``fetch`` from ``feeds``; floats are returned in float64, the rest as declared.

        A float array fed to a quantized tensor is taken for real numbers and put onto its grid.
        ``keep`` decides, as soon as a tensor is computed, how it is kept.
        """
        graph = self._graph
        feeds = self.accepted(feeds)
        given = {graph.find(name): value for name, value in feeds.items()}
        names: dict[K, list[str]] = {}
        for name in fetch:
            names.setdefault(graph.find(name), []).append(name)
        plan = graph.planner.plan(frozenset(given), tuple(names))
        arithmetic = arithmetic_of(noise, {} if noise is None else self._magnitudes.of(feeds))
        executor = Executor(arithmetic)
        values = {key: graph.fed(key, value, noise) for key, value in given.items()}
        results: dict[str, Any] = {}

        def read(key: K) -> EvalValue:
            return values[key] if key in values else self._stored(key, executor)

        def fetched(key: K, value: EvalValue) -> None:
            for name in names.get(key, ()):
                results[name] = keep(name, graph.shown(key, value))

        for key in names:
            if key in values or graph.is_stored(key):
                fetched(key, read(key))
        folds = noise is None and not (graph.folded.names & given.keys())
        for (_, step), finished in zip(plan.steps, plan.releases, strict=True):
            outputs = self._outputs(step, executor, read, folds=folds)
            # A node may leave optional outputs out; one that lacks fails where it is read.
            for key, value in zip(step.outputs, outputs, strict=False):
                if key in given:
                    continue  # what is fed stays, though a step runs for its other outputs
                values[key] = arithmetic.stored(graph.name(key, _TOP), value)
                fetched(key, values[key])
            for key in finished:
                values.pop(key, None)
        return {name: results[name] for name in fetch}

    def accepted(self, feeds: Mapping[str, Any]) -> Mapping[str, Any]:
        """The feeds that a run takes; a framework may leave some out."""
        return feeds

    def _outputs(
        self, step: Step[K], executor: Executor, read: Read, *, folds: bool
    ) -> list[EvalValue]:
        """The outputs of a step, those that every run has in common computed once."""
        folded = self._graph.folded
        kept = folded.outputs(step) if folds else None
        if kept is not None:
            return kept
        leave(step.name)
        outputs = executor.step(step, read, _TOP)
        if folds and not step.passes:
            folded.keep(step, step.outputs, outputs)
        return outputs

    def _stored(self, key: K, executor: Executor) -> EvalValue:
        found = self._graph.stored(key, executor, _TOP)
        if found is None:
            raise LookupError(f"{self._graph.name(key, _TOP)} has no value")
        return found

    def close(self) -> None:
        """Release what is kept between runs."""
        self._graph.clear()
        self._magnitudes.clear()


def own_constant(array: Array, dtype: str) -> EvalValue | None:
    """A constant that was fed its own value: the array in its declared type, if that loses nothing.

    None where the type does not hold the array, which then is another value.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = array.astype(numpy_dtype(dtype))
    if not np.array_equal(narrow.astype(np.float64), lifted(array), equal_nan=True):
        return None
    return EvalValue(narrow, dtype=dtype, constant=True)


def words_as_objects(array: Array) -> Array:
    """Text as Python strings; every other array as it is."""
    return array.astype(str).astype(object) if array.dtype.kind in "SU" else array
