"""The quantisation table: every quantised tensor of the candidate, and how well it serves.

Values before a quantiser are the float64 oracle's. A node that computes on integers shows none,
so there the oracle's quantisers are made transparent for that one piece of the graph. The error
of a kernel is local: the oracle computes the piece from the very integers that the runtime had.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core.errors import IsomorphError
from isomorph.core.model import Quantization
from isomorph.core.quantized_tensor import QuantizedTensor
from isomorph.core.report import Skipped
from isomorph.core.trace import Noise
from isomorph.stages.align.islands import Islands
from isomorph.stages.align.originals import original
from isomorph.stages.align.quantisers import changed, matched, real_values
from isomorph.stages.measure.grids import Figures, Grid

if TYPE_CHECKING:
    from isomorph.core.model import Graph
    from isomorph.core.trace import Array, Arrays
    from isomorph.stages.measure.subject import Subject

MOST_TENSORS = 300
"""Beyond it only the parameters are listed, unless the user asks for all."""

_QUANTISERS = frozenset({"QuantizeLinear", "DynamicQuantizeLinear"})
_RUN_TIME = "DynamicQuantizeLinear"


def table(
    candidate: Subject, reference: Subject | None, *, everything: bool = False
) -> tuple[tuple[QuantizedTensor, ...], tuple[Skipped, ...]]:
    """The rows, worst first, and what could not be measured."""
    graph = candidate.model.graph
    dynamic = [node for node in graph.nodes if node.op == _RUN_TIME]
    known = [entry for entry in graph.quantization if entry.scale]
    count = len(known) + len(dynamic)
    if not count:
        return (), ()
    pairs = _pairs(candidate, reference) if reference is not None else {}
    if count > MOST_TENSORS and not everything:
        rows = tuple(_row(entry, graph, None, pairs) for entry in known)
        why = f"the candidate has {count} quantised tensors; --quantization measures them all"
        return _ordered(rows), (Skipped(what="quantisation table", why=why),)
    audit = _Audit(candidate, reference)
    rows = tuple(
        _row(entry, graph, figures, pairs, local=audit.local_quanta(entry))
        for entry, figures in audit.figures()
    )
    return _ordered(rows), tuple(audit.skipped)


def _ordered(rows: Sequence[QuantizedTensor]) -> tuple[QuantizedTensor, ...]:
    def badness(row: QuantizedTensor) -> tuple[bool, float, float, float]:
        beyond = max((row.local_quanta or 0.0) - 1.0, 0.0)
        return bool(row.changed), beyond, row.lost_db, row.clipped or 0.0

    return tuple(sorted(rows, key=badness, reverse=True))


def _row(
    entry: Quantization,
    graph: Graph,
    figures: Figures | None,
    pairs: Mapping[str, tuple[str, tuple[str, ...]]],
    local: float | None = None,
) -> QuantizedTensor:
    maker = next((node for node in graph.nodes if entry.tensor in node.outputs), None)
    stored = entry.tensor in graph.constants
    twin, differing = pairs.get(entry.tensor, (None, ()))
    measured: dict[str, Any] = asdict(figures) if figures is not None else {}
    measured.setdefault("representable", Grid(entry).representable)
    run_time = maker is not None and maker.op == _RUN_TIME
    return QuantizedTensor(
        tensor=entry.tensor,
        dtype=entry.dtype,
        kind="weight" if stored else "dynamic" if run_time else "activation",
        channels=len(entry.scale),
        scale=(min(entry.scale), max(entry.scale)),
        zero_point=(min(entry.zero_point, default=0), max(entry.zero_point, default=0)),
        axis=entry.axis,
        node=maker.name if maker is not None and not stored else None,
        local_quanta=local,
        counterpart=twin,
        changed=differing,
        **measured,
    )


def _pairs(candidate: Subject, reference: Subject) -> dict[str, tuple[str, tuple[str, ...]]]:
    """The counterpart of each entry in the reference, and the parameters that were changed."""
    mine, yours = reference.model.graph, candidate.model.graph
    if not mine.quantization:
        return {}
    found = matched(
        mine,
        yours,
        reference_value=lambda name: _constant(reference, name),
        candidate_value=lambda name: _constant(candidate, name),
    )
    left = {entry.tensor: entry for entry in mine.quantization}
    right = {entry.tensor: entry for entry in yours.quantization}
    return {
        name: (twin, changed(left[twin], right[name]))
        for name, twin in found.items()
        if name in right
    }


def _constant(subject: Subject, name: str) -> Array | None:
    try:
        return np.asarray(subject.oracle().run({}, [name])[name])
    except IsomorphError:
        return None


class _Audit:
    """The measurements, made in as few runs as possible."""

    def __init__(self, candidate: Subject, reference: Subject | None) -> None:
        self.candidate, self.reference = candidate, reference
        self.graph = candidate.model.graph
        self.skipped: list[Skipped] = []
        dynamic = [node for node in self.graph.nodes if node.op == _RUN_TIME]
        shores = {entry.tensor for entry in self.graph.quantization}
        self.islands = Islands(self.graph, frozenset(shores | {n.outputs[0] for n in dynamic}))
        self.flowing = [
            name
            for node in self.graph.nodes
            for name in node.outputs
            if name in self.islands.shores and name not in self.graph.constants
        ]
        before = [name for name in map(self._before, self.flowing) if name]
        self.meaning = self._run("oracle", [*self.flowing, *before])
        self.as_run = self._run("run as written", self.flowing)
        known = (entry for entry in self.graph.quantization if entry.scale)
        self.entries = (*known, *self._of_run_time(dynamic))

    def figures(self) -> Iterator[tuple[Quantization, Figures | None]]:
        """Each entry with what its grid does to its values."""
        for place, entry in enumerate(self.entries):
            if self.candidate.told is not None:
                self.candidate.told("quantisation", f"tensor {place + 1} of {len(self.entries)}")
            stored = entry.tensor in self.graph.constants
            yield entry, self._of_weight(entry) if stored else self._of_activation(entry)

    def local_quanta(self, entry: Quantization) -> float | None:
        """The steps between the runtime's integers and the oracle's, from the same operands."""
        if self.islands.maker(entry.tensor) is None or not Grid(entry).whole:
            return None
        feeds = self._fed(entry.tensor, self.as_run)
        if feeds is None or entry.tensor not in self.as_run:
            return None
        mine = np.asarray(self.as_run[entry.tensor]).astype(np.int64)
        result = self._local(entry.tensor, feeds, None)
        if result is None or result.shape != mine.shape:
            return None
        return float(np.max(np.abs(mine - result.astype(np.int64)), initial=0))

    def _of_weight(self, entry: Quantization) -> Figures | None:
        integers = _constant(self.candidate, entry.tensor)
        real = None if integers is None else real_values(integers, entry)
        if real is None:
            return None
        source = self.reference
        if source is not None:
            graph = source.model.graph
            found = original(real, entry.tensor, graph, lambda name: _constant(source, name))
            if found is not None:
                return Grid(entry).figures(found, real)
        alone = Grid(entry).figures(real)
        # On their own grid all values lie exactly; what was lost before nobody can tell.
        return Figures(representable=alone.representable, seen=alone.seen, used=alone.used)

    def _of_activation(self, entry: Quantization) -> Figures | None:
        before, maker = self._before(entry.tensor), self.islands.maker(entry.tensor)
        if before:
            real = self.meaning.get(before, self.candidate.feeds.get(before))
        elif maker is None:
            given = self.candidate.feeds.get(entry.tensor)
            real = None if given is None else real_values(np.asarray(given), entry)
        else:
            real = self._transparent(entry)
        return None if real is None else Grid(entry).figures(np.asarray(real))

    def _transparent(self, entry: Quantization) -> Array | None:
        """What an integer kernel would have rounded: its own result, off the grid."""
        feeds = self._fed(entry.tensor, self.meaning)
        if feeds is None:
            return None
        noise = Noise(seed=self.candidate.seed, quantisers=True)
        steps = self._local(entry.tensor, feeds, noise)
        return None if steps is None else real_values(steps, entry)

    def _fed(self, tensor: str, values: Arrays) -> Arrays | None:
        """All that the piece of the graph before a tensor needs, or None where some is missing."""
        known = {**self.candidate.feeds, **values}
        names = self.islands.of(tensor).feeds
        return {name: known[name] for name in names} if set(names) <= set(known) else None

    def _local(self, tensor: str, feeds: Arrays, noise: Noise | None) -> Array | None:
        try:
            return np.asarray(self.candidate.oracle().run(feeds, [tensor], noise=noise)[tensor])
        except IsomorphError as error:
            self._skip(f"quantisation at {tensor!r}", error)
            return None

    def _before(self, tensor: str) -> str | None:
        """The real numbers that go into a plain quantiser."""
        maker = self.islands.maker(tensor)
        if maker is None or maker.op not in _QUANTISERS or tensor != maker.outputs[0]:
            return None
        spec = self.graph.tensors.get(maker.inputs[0])
        whole = spec is None or spec.dtype is None or "float" not in spec.dtype
        return None if whole or maker.inputs[0] in self.graph.constants else maker.inputs[0]

    def _of_run_time(self, nodes: Sequence[Any]) -> Iterator[Quantization]:
        """The grids that run-time quantisers chose for these very inputs."""
        for node in nodes:
            integers, scale, zero = (self.meaning.get(name) for name in node.outputs[:3])
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
            self._skip(f"quantisation table: {what}", error)
            return {}

    def _skip(self, what: str, error: IsomorphError) -> None:
        self.skipped.append(Skipped(what=what, why=error.sentence))
