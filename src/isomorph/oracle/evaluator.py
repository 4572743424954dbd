"""A program evaluated in float64, fed and fetched at any tensor of its graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import starmap
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Generic, Protocol

import numpy as np

from isomorph.core.last_node import leave
from isomorph.oracle.arithmetic import arithmetic_of
from isomorph.oracle.dtypes import numpy_dtype
from isomorph.oracle.executor import Executor
from isomorph.oracle.magnitudes import Magnitudes, asking
from isomorph.oracle.peak_bytes import PeakBytes, run_key
from isomorph.oracle.shared_constants import SharedByNoise
from isomorph.oracle.step import Body, K, Scope
from isomorph.oracle.stored_matrix import multiplying_by
from isomorph.oracle.value import ABSENT, EvalValue, lifted

if TYPE_CHECKING:
    from isomorph.core.execution import StoredProducts
    from isomorph.core.trace import Noise
    from isomorph.oracle.noise import Array
    from isomorph.oracle.plan import Planner
    from isomorph.oracle.session import Keep
    from isomorph.oracle.step import Step
    from isomorph.oracle.stored_matrix import StoredMatrix
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

    @property
    def keeps_weights(self) -> bool:
        """Whether all weights that were read stay between runs."""
        ...

    def reads_shared(self, *, between: int) -> AbstractContextManager[None]:
        """Within, a weight that is read stays until ``release_reads``, if several draws use it."""
        ...

    def release_reads(self) -> None:
        """Release the weights that were read since the last call, if nothing keeps them."""
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

    def __init__(self, graph: MainGraph[K], products: StoredProducts | None = None) -> None:
        self._graph, self._products = graph, products
        self._magnitudes = Magnitudes()
        self._peaks = PeakBytes()

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
        return self.run_draws([feeds], fetch, [noise], [keep])[0]

    def draws_at_once(self, feeds: Mapping[str, Any], fetch: Sequence[str]) -> int:
        """How many draws like this are computed side by side: where weights are not kept.

        Each weight is then read and lifted once for all of them.
        """
        if self._graph.keeps_weights:
            return 1
        return self._peaks.runs_at_once(run_key(self.accepted(feeds), fetch))

    def run_draws(
        self,
        feeds: Sequence[Mapping[str, Any]],
        fetch: Sequence[str],
        noises: Sequence[Noise | None],
        keeps: Sequence[Keep],
    ) -> list[dict[str, Any]]:
        """As ``run`` once for each of these feeds and noises, node by node side by side.

        All feeds have the same names; they may have other numbers and sizes.
        """
        graph = self._graph
        accepted = [self.accepted(each) for each in feeds]
        given = [{graph.find(name): value for name, value in each.items()} for each in accepted]
        names: dict[K, list[str]] = {}
        for name in fetch:
            names.setdefault(graph.find(name), []).append(name)
        plan = graph.planner.plan(frozenset(given[0]), tuple(names))
        sizes = self._magnitudes.of_each(feeds, noises, accepted)
        sized = asking(sizes, noises)
        folds = not (graph.folded.names & given[0].keys())
        shared = SharedByNoise.of(noises)
        several = len(feeds) > 1
        fed = _fed_once(graph)
        draws = [
            _Draw(
                graph,
                Executor(arithmetic_of(noises[place], sizes[place]), own if several else None),
                values={key: fed(key, each, noises[place]) for key, each in given[place].items()},
                names=names,
                keep=keeps[place],
                folds=folds and noises[place] is None,
                shared=own.stored if several else None,
            )
            for place, own in sorted(shared.each(), key=itemgetter(0))
        ]
        with graph.reads_shared(between=len(draws)), multiplying_by(self._products):
            for (_, step), finished in zip(plan.steps, plan.releases, strict=True):
                product = several and step.multiplies
                matrix = _prepare_product(step, draws, sized) if product else None
                for place, _ in shared.each():
                    draws[place].compute(step, finished)
                if matrix is not None:
                    matrix.release()
                graph.release_reads()
                shared.clear()
        self._peaks.note(run_key(accepted[0], fetch), draws[0].peak_bytes)
        return [{name: draw.results[name] for name in fetch} for draw in draws]

    def accepted(self, feeds: Mapping[str, Any]) -> Mapping[str, Any]:
        """The feeds that a run takes; a framework may leave some out."""
        return feeds

    def close(self) -> None:
        """Release what is kept between runs."""
        self._graph.clear()
        self._magnitudes.clear()
        if self._products is not None:
            self._products.close()


class _Draw(Generic[K]):
    """One run of a program, node by node."""

    def __init__(
        self,
        graph: MainGraph[K],
        executor: Executor,
        *,
        values: dict[K, EvalValue],
        names: Mapping[K, Sequence[str]],
        keep: Keep,
        folds: bool,
        shared: dict[K, EvalValue] | None,
    ) -> None:
        self._graph, self._values, self._given = graph, values, frozenset(values)
        self._names, self._keep, self._folds = names, keep, folds
        self._executor, self._shared = executor, shared
        self.results: dict[str, Any] = {}
        self._bytes = self.peak_bytes = sum(starmap(self._bytes_of, values.items()))
        for key in names:
            if key in values or graph.is_stored(key):
                self._fetched(key, self.read(key))

    def read(self, key: K) -> EvalValue:
        """The value of a tensor."""
        return self._values[key] if key in self._values else self._stored(key)

    def compute(self, step: Step[K], finished: Sequence[K]) -> None:
        """Compute one node, and release the tensors that nothing reads after it."""
        arithmetic, graph = self._executor.arithmetic, self._graph
        outputs = self._outputs(step)
        # A node may leave optional outputs out; one that lacks fails where it is read.
        for key, value in zip(step.outputs, outputs, strict=False):
            if key in self._given:
                continue  # what is fed stays, though a step runs for its other outputs
            self._values[key] = stored = arithmetic.stored(graph.name(key, _TOP), value)
            self._bytes += self._bytes_of(key, stored)
            self._fetched(key, stored)
        self.peak_bytes = max(self.peak_bytes, self._bytes)
        for key in finished:
            gone = self._values.pop(key, None)
            self._bytes -= self._bytes_of(key, gone) if gone is not None else 0

    def _bytes_of(self, key: K, value: EvalValue) -> int:
        """The bytes of a value; what takes the place of a weight is there once for all draws."""
        return 0 if self._graph.is_stored(key) else _bytes_of(value)

    def _fetched(self, key: K, value: EvalValue) -> None:
        for name in self._names.get(key, ()):
            self.results[name] = self._keep(name, self._graph.shown(key, value))

    def _outputs(self, step: Step[K]) -> list[EvalValue]:
        """The outputs of a step, those that every run has in common computed once."""
        folded, folds = self._graph.folded, self._folds
        kept = folded.outputs(step) if folds else None
        if kept is not None:
            return kept
        leave(step.name)
        outputs = self._executor.step(step, self.read, _TOP)
        if folds and not step.passes:
            folded.keep(step, step.outputs, outputs)
        return outputs

    def _stored(self, key: K) -> EvalValue:
        known = None if self._shared is None else self._shared.get(key)
        if known is not None:
            return known
        found = self._graph.stored(key, self._executor, _TOP)
        if found is None:
            raise LookupError(f"{self._graph.name(key, _TOP)} has no value")
        # What a node wrote into a variable is that of its draw.
        if self._shared is not None and found.constant and not self._executor.states:
            self._shared[key] = found
        return found


def _prepare_product(
    step: Step[K], draws: Sequence[_Draw[K]], sized: Sequence[int]
) -> StoredMatrix | None:
    """Multiply a large stored matrix with the operands of all draws in one pass over it.

    The sizes of the products of the draws ``sized`` share another pass. Returns the matrix.
    """
    found = []
    for draw in draws:
        inputs = [ABSENT if key == step.absent else draw.read(key) for key in step.inputs]
        found.append(step.factors(inputs))
    factors = [each for each in found if each is not None]
    if len(factors) < len(draws) or any(each[1] is not factors[0][1] for each in factors):
        return None
    operands = [operand for operand, _ in factors]
    factors[0][1].prepare(operands, [operands[place] for place in sized])
    return factors[0][1]


def _fed_once(graph: MainGraph[K]) -> Callable[[K, Any, Noise | None], EvalValue]:
    """What fed arrays stand for; one that several draws are fed is lifted once for all of them."""
    known: dict[tuple[K, int, Noise | None], EvalValue] = {}

    def fed(key: K, value: Any, noise: Noise | None) -> EvalValue:  # noqa: ANN401
        if not isinstance(value, np.ndarray):
            return graph.fed(key, value, noise)
        place = key, id(value), noise if noise is not None and noise.quantizers else None
        if place not in known:
            known[place] = graph.fed(key, value, noise)
        return known[place]

    return fed


def _bytes_of(value: EvalValue) -> int:
    """The bytes that a value holds by itself: a transposed weight is a view of the stored one."""
    data = value.data
    if value.constant and isinstance(data, np.ndarray) and not data.flags.owndata:
        return 0
    return int(getattr(data, "nbytes", 0))


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
