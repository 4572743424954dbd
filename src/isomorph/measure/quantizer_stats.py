"""Measure what the quantizers of one model do to the values of one sample.

Values before a quantizer are the float64 oracle's. A node that computes on integers has none, so
the oracle's quantizers are made transparent for that part of the graph. The error of a kernel is
local: the oracle computes that part from the same integers as the runtime.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.errors import IsomorphError
from isomorph.core.model import Quantization
from isomorph.core.not_done import not_done
from isomorph.core.report import ReportSection, Skipped
from isomorph.core.trace import Noise
from isomorph.match.quantized_regions import QuantizedRegions
from isomorph.match.quantizers import quantization_by_tensor
from isomorph.match.weight_origin import FloatWeights
from isomorph.measure.quantization_grid import Figures, Grid
from isomorph.measure.weight_factor import foldable_factors, weight_factor
from isomorph.sessions.constants import read_constant
from isomorph.sessions.dequantized_session import (
    DequantizedSession,
    quantized_feeds,
    real_values,
)
from isomorph.sessions.fetched_feeds import complete

if TYPE_CHECKING:
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array, Arrays
    from isomorph.measure.evaluated_model import EvaluatedModel

_TABLE = ReportSection.QUANTIZATION
RUN_TIME = "DynamicQuantizeLinear"
_FAKE = "FakeQuant"
"""Puts real numbers on a grid and returns real numbers: what it gives are no integers."""
_QUANTIZERS = frozenset({"QuantizeLinear", RUN_TIME, _FAKE})
# Kernels with a run-time quantizer inside; those with quantized weights are known by these.
_HIDING = frozenset({"DynamicQuantizeLSTM", "QAttention", "MatMulNBits"})


def _on_grid(entry: Quantization, real: Array) -> Figures:
    """Return figures of values that are already quantized, without the unknown loss."""
    alone = Grid(entry).figures(real)
    return Figures(representable=alone.representable, seen=alone.seen, used=alone.used)


def _as_stored(evaluated: EvaluatedModel) -> EvaluatedModel:
    """Return the model with integer inputs and outputs, where it is dequantized."""

    def stored(open_session: Callable[[], Session]) -> Callable[[], Session]:
        def session() -> Session:
            seen = open_session()
            return seen.stored if isinstance(seen, DequantizedSession) else seen

        return session

    try:
        seen = evaluated.oracle()
    except IsomorphError:
        return evaluated
    if not isinstance(seen, DequantizedSession):
        return evaluated
    return replace(
        evaluated,
        feeds=quantized_feeds(evaluated.feeds, seen.grids),
        runtime=stored(evaluated.runtime),
        plain=stored(evaluated.plain),
        oracle=stored(evaluated.oracle),
    )


def _originals(reference: EvaluatedModel) -> FloatWeights:
    return FloatWeights(reference.model.graph, lambda name: read_constant(reference.oracle, name))


class Audit:
    """The measurements, made in as few runs as possible."""

    def __init__(self, candidate: EvaluatedModel, reference: EvaluatedModel | None) -> None:
        self.given = candidate.feeds
        self.candidate, self.reference = _as_stored(candidate), reference
        self._originals = None if reference is None else _originals(reference)
        self._factors = () if reference is None else foldable_factors(reference.model.graph)
        self.graph = candidate.model.graph
        self.skipped: list[Skipped] = []
        dynamic = [node for node in self.graph.nodes if node.op == RUN_TIME]
        self.writers = quantization_by_tensor(self.graph)
        boundaries = set(self.writers)
        self.regions = QuantizedRegions(
            self.graph, frozenset(boundaries | {n.outputs[0] for n in dynamic})
        )
        self.flowing = [
            name
            for node in self.graph.nodes
            for name in node.outputs
            if name in self.regions.boundaries and name not in self.graph.constants
        ]
        before = [name for name in map(self._before, self.flowing) if name]
        self.oracle_values = self._run("oracle", [*self.flowing, *before])
        self.runtime_values = self._run("run as written", self.flowing)
        known = (entry for entry in self.graph.quantization if entry.scale)
        self.entries = (*known, *self._of_run_time(dynamic))

    def figures(self) -> Iterator[tuple[Quantization, Figures | None]]:
        """Yield each entry with its figures."""
        for place, entry in enumerate(self.entries):
            if self.candidate.on_progress is not None:
                self.candidate.on_progress(
                    "quantization", f"tensor {place + 1} of {len(self.entries)}"
                )
            stored = entry.tensor in self.graph.constants
            yield entry, self._of_weight(entry) if stored else self._of_activation(entry)

    def local_quanta(self, entry: Quantization) -> float | None:
        """Return the largest difference of runtime and oracle in steps, from equal operands."""
        maker = self.regions.maker(entry.tensor)
        if maker is None or maker.op == _FAKE or not Grid(entry).whole:
            return None
        if entry is not self.writers.get(entry.tensor, entry) or self._hides_quantizer(entry):
            return None
        feeds = self._fed(entry.tensor, self.runtime_values)
        if feeds is None or entry.tensor not in self.runtime_values:
            return None
        actual = np.asarray(self.runtime_values[entry.tensor]).astype(np.int64)
        result = self._local(entry.tensor, feeds, None)
        if result is None or result.shape != actual.shape:
            return None
        return float(np.max(np.abs(actual - result.astype(np.int64)), initial=0))

    def unrounded(self, entry: Quantization) -> Array | None:
        """Return the real values before a quantizer; None where they are unknown."""
        if entry.tensor in self.graph.constants:
            real = self._stored(entry)
            return None if real is None else self._original(entry, real)
        before = self._before(entry.tensor)
        if before:
            value = self.oracle_values.get(before, self.candidate.feeds.get(before))
            return None if value is None else np.asarray(value)
        return None if self.regions.maker(entry.tensor) is None else self._transparent(entry)

    def _stored(self, entry: Quantization) -> Array | None:
        integers = read_constant(self.candidate.oracle, entry.tensor)
        return None if integers is None else real_values(integers, entry)

    def _original(self, entry: Quantization, real: Array) -> Array | None:
        """The reference's weight as its quantizer met it, with a factor that was worked in."""
        found = None if self._originals is None else self._originals.of(real, entry.tensor)
        if found is None:
            return None
        return found * (weight_factor(found, real, Grid(entry), self._factors) or 1.0)

    def _of_weight(self, entry: Quantization) -> Figures | None:
        real = self._stored(entry)
        if real is None:
            return None
        found = None if self._originals is None else self._originals.of(real, entry.tensor)
        if found is None:
            return _on_grid(entry, real)
        grid = Grid(entry)
        factor = weight_factor(found, real, grid, self._factors)
        return replace(grid.figures(found * (factor or 1.0), real), factor=factor)

    def _of_activation(self, entry: Quantization) -> Figures | None:
        before, maker = self._before(entry.tensor), self.regions.maker(entry.tensor)
        if before:
            real = self.oracle_values.get(before, self.candidate.feeds.get(before))
        elif maker is None:
            given = self.given.get(entry.tensor)
            if given is not None and np.asarray(given).dtype.kind == "f":
                return Grid(entry).figures(np.asarray(given))
            real = None if given is None else real_values(np.asarray(given), entry)
            return None if real is None else _on_grid(entry, real)
        else:
            real = self._transparent(entry)
        if real is None:
            return None
        real, writer = np.asarray(real), self.writers.get(entry.tensor, entry)
        if writer is entry:
            return Grid(entry).figures(real)
        reader = Grid(entry)
        misread = Grid(writer).figures(real, Grid(writer).round_trip(real, reader))
        return replace(misread, representable=reader.representable)

    def _hides_quantizer(self, entry: Quantization) -> bool:
        """Whether a kernel before it quantizes inside, where its steps are not visible."""
        nodes = {node.name: node for node in self.graph.nodes}
        for node in (nodes[name] for name in self.regions.of(entry.tensor).nodes):
            if node.op in _HIDING:
                return True
            weights = any(name in self.writers for name in node.inputs if name)
            specs = [self.graph.tensors.get(name) for name in node.outputs if name]
            floats = any(spec is not None and "float" in (spec.dtype or "") for spec in specs)
            if weights and floats and node.op != "DequantizeLinear":
                return True
        return False

    def _transparent(self, entry: Quantization) -> Array | None:
        """Return the result of an integer kernel before it is rounded."""
        feeds = self._fed(entry.tensor, self.oracle_values)
        if feeds is None:
            return None
        noise = Noise(seed=self.candidate.seed, quantizers=True)
        steps = self._local(entry.tensor, feeds, noise)
        return None if steps is None else real_values(steps, entry)

    def _fed(self, tensor: str, values: Arrays) -> Arrays | None:
        """Return the feeds of the region before a tensor, or None where one is missing."""
        return complete({**self.candidate.feeds, **values}, self.regions.of(tensor).feeds)

    def _local(self, tensor: str, feeds: Arrays, noise: Noise | None) -> Array | None:
        try:
            return np.asarray(self.candidate.oracle().run(feeds, [tensor], noise=noise)[tensor])
        except IsomorphError as error:
            self.skipped.append(
                not_done("quantization_at", error.sentence, section=_TABLE, tensor=tensor)
            )
            return None

    def _before(self, tensor: str) -> str | None:
        """Return the name of the real input of a plain quantizer."""
        maker = self.regions.maker(tensor)
        if maker is None or maker.op not in _QUANTIZERS or tensor != maker.outputs[0]:
            return None
        spec = self.graph.tensors.get(maker.inputs[0])
        whole = spec is None or spec.dtype is None or "float" not in spec.dtype
        return None if whole or maker.inputs[0] in self.graph.constants else maker.inputs[0]

    def _of_run_time(self, nodes: Sequence[Any]) -> Iterator[Quantization]:
        """Yield the quantizations that dynamic quantizers chose for these inputs."""
        for node in nodes:
            integers, scale, zero = (self.oracle_values.get(name) for name in node.outputs[:3])
            if integers is not None and scale is not None and zero is not None:
                yield Quantization(
                    tensor=node.outputs[0],
                    dtype=str(np.asarray(integers).dtype),
                    scale=(float(np.asarray(scale)),),
                    zero_point=(int(np.asarray(zero)),),
                )

    def _run(self, what: str, fetch: Sequence[str]) -> Arrays:
        names = list(dict.fromkeys(name for name in fetch if name not in self.candidate.feeds))
        session = self.candidate.oracle if what == "oracle" else self.candidate.plain
        try:
            return session().run(self.candidate.feeds, names) if names else {}
        except IsomorphError as error:
            self.skipped.append(
                not_done("quantization_of", error.sentence, section=_TABLE, part=what)
            )
            return {}
