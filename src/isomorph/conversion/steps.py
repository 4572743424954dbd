"""The hops of a route: convert, load what came out, check it against the first model, repair."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from isomorph import registry
from isomorph.checking import check as checking
from isomorph.conversion.converter_samples import SampleSource
from isomorph.conversion.converter_worker import Attempt, ConverterWorker, trouble_of
from isomorph.conversion.cpu_support import scope
from isomorph.conversion.float32_nodes import Float32Search, has_reals, kept_operators
from isomorph.conversion.lost_metadata import losses
from isomorph.conversion.orders import order_for
from isomorph.core.conversion import (
    AS_IS,
    KEEP_FLOAT32,
    PRECISIONS,
    Hop,
    HopStatus,
    Route,
    Step,
    Trouble,
    Workaround,
)
from isomorph.core.divergence import Verdict
from isomorph.core.errors import IsomorphError
from isomorph.core.escaping import counted
from isomorph.core.limits import noted_limits
from isomorph.core.messages import message
from isomorph.core.not_done import beyond
from isomorph.core.protocols import ProvenByRuntime
from isomorph.measure import overflow
from isomorph.repair.deliver import write_repair
from isomorph.sessions.in_process import can_patch

if TYPE_CHECKING:
    from isomorph.checking.config import CheckConfig
    from isomorph.checking.loader import Loader
    from isomorph.core.model import Model
    from isomorph.core.report import Report
    from isomorph.inputs.feeds import Sample
    from isomorph.sessions.model_handle import ModelHandle

_STATUS = {
    Verdict.EQUIVALENT: HopStatus.PROVEN,
    Verdict.DEGRADED: HopStatus.PROVEN,
    Verdict.DIVERGENT: HopStatus.DIVERGENT,
    Verdict.UNKNOWN: HopStatus.UNPROVEN,
}
_INFORMATIVE = {None: 0, HopStatus.FAILED: 0, HopStatus.UNPROVEN: 1, HopStatus.DIVERGENT: 2}
"""Of attempts that all failed, the most informative one is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """The state of a route: the file, its model, and the hop that wrote it."""

    location: str
    model: Model
    hop: Hop | None = None

    @property
    def made(self) -> Hop:
        """The hop that wrote it; the origin of a route has none."""
        assert self.hop is not None, "no hop leads to the origin"
        return self.hop


@dataclass(frozen=True, slots=True, kw_only=True)
class _Proof:
    path: Path
    status: HopStatus
    report: Report | None = None
    trouble: Trouble | None = None
    patches: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class RouteRunner:
    """Converts one first model step by step; equal steps are made once."""

    source: str
    first: ModelHandle
    loader: Loader
    converter_worker: ConverterWorker
    check_options: CheckConfig
    options: Mapping[str, str] = field(default_factory=dict)
    """Options for every converter."""
    particular: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Further options for single converters."""
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """The ranges of inputs, within which nodes must be safe that become float16."""
    fewest_float32: bool = False
    """Whether to search for the fewest nodes that must stay in float32."""
    repair: bool = False
    name: str = "model"
    given: Sample | None = None
    """The inputs of each proof; None: those that the loader was given, if any."""
    _done: dict[tuple[Step, ...], Stop] = field(default_factory=dict)
    _unsafe: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _supply: SampleSource = field(init=False)

    def __post_init__(self) -> None:
        stated = self.check_options
        if self.given is None and stated.data is None:
            self.given = self.loader.sample(self.first.model.graph.inputs)
        self._supply = SampleSource(
            first=self.first.model,
            given=self.given,
            data=stated.data,
            dims=stated.dims,
            seed=stated.seed,
        )

    def _stop(self, origin: Stop, steps: Sequence[Step]) -> Stop:
        """The last of these steps, made from where the one before it led."""
        key = tuple(steps)
        if key not in self._done:
            searched = self.fewest_float32 and steps[-1].width in PRECISIONS
            make = self._narrowest if searched else self._hop
            self._done[key] = make(origin, steps[-1])
        return self._done[key]

    def follow(self, route: Route) -> list[Stop]:
        """The stops of a route in their order, up to its end or to the first wrong one."""
        here, stops = Stop(location=self.source, model=self.first.model), []
        for count in range(1, len(route.steps) + 1):
            here = self._stop(here, route.steps[:count])
            stops.append(here)
            if here.made.status in {HopStatus.FAILED, HopStatus.DIVERGENT}:
                break
        return stops

    @property
    def hops(self) -> tuple[Hop, ...]:
        """All that were made, in their order."""
        return tuple(stop.hop for stop in self._done.values() if stop.hop is not None)

    def _narrowest(self, origin: Stop, step: Step) -> Stop:
        """The step with the fewest nodes in float32 whose result is proven."""
        handle = self.loader.open("candidate", origin.location)
        with noted_limits() as noted:
            search = Float32Search(
                graph=handle.model.graph,
                session=handle.oracle(),
                samples=self._supply.proven_on(handle.model),
                alike=self._supply.alike(handle.model),
                dtype=step.width,
                accepts=partial(self._accepts, origin, step),
            )
            proposed = search.sets()
        skipped = tuple(map(beyond, noted))
        for kept in proposed:
            stop = self._hop(origin, step, [each.node for each in kept])
            if stop.made.usable:
                break
        kept += kept_operators(handle.model.graph, stop.model.graph, kept)
        count = sum(has_reals(handle.model.graph, node) for node in handle.model.graph.nodes)
        hop = replace(stop.made, kept=kept, narrowable=count, skipped=skipped)
        return replace(stop, hop=hop)

    def _accepts(self, origin: Stop, step: Step, names: Sequence[str]) -> bool:
        """Whether the result with these nodes in float32 is within the target, on every sample.

        A number that the type cannot hold is refused even where this runtime computes wider.
        """
        self._report_progress(step, None, names)
        options = replace(
            self.check_options, locate=False, look_into_loss=False, align=False,
            quantization=False, hidden_overflow=True,
        )  # fmt: skip
        for workaround in (None, *self._workarounds(step)):
            attempt = self._attempt(origin, step, workaround, names)
            if attempt.trouble is not None:
                continue
            try:
                right = self._open_result(origin, step, attempt.path)
                report = checking.check_pair(self.first, right, self.given, options)
            except IsomorphError:
                continue
            hidden = any(each.code == overflow.CODE for each in report.findings)
            return report.verdict.exit_code == 0 and not hidden
        return False

    def _hop(self, origin: Stop, step: Step, keep: Sequence[str] = ()) -> Stop:
        """Try the step with every known workaround in turn, until a result is proven.

        Where one came out that is divergent, only those workarounds are left that help against it.
        """
        started = time.monotonic()
        best: Stop | None = None
        for workaround in (None, *self._workarounds(step)):
            if (
                workaround is not None
                and not workaround.for_divergent
                and _status(best) == HopStatus.DIVERGENT
            ):
                continue
            used = (workaround,) if workaround is not None else ()
            self._report_progress(step, workaround)
            attempt = self._attempt(origin, step, workaround, keep)
            if attempt.trouble is None:
                stop = self._judged(origin, step, attempt, used, started)
            else:
                stop = self._failed(origin, step, attempt.trouble, started)
            if stop.hop is not None and stop.hop.usable:
                return stop
            # Of equally informative ones, the first is kept.
            if best is None or _INFORMATIVE[_status(stop)] > _INFORMATIVE[_status(best)]:
                best = stop
        assert best is not None, "a converter is tried at least once"
        return best

    def _options(self, step: Step) -> Mapping[str, str]:
        return {**self.options, **self.particular.get(step.converter, {})}

    def _workarounds(self, step: Step) -> tuple[Workaround, ...]:
        """The workarounds that do not contradict the user's options."""
        stated = self._options(step)
        return tuple(
            workaround
            for workaround in registry.converter(step.converter).workarounds
            if all(stated.get(key, value) == value for key, value in workaround.options.items())
        )

    def _attempt(
        self, origin: Stop, step: Step, workaround: Workaround | None, keep: Sequence[str] = ()
    ) -> Attempt:
        folder, notes = self.converter_worker.folder("inputs"), tuple[str, ...]()
        options = {**self._options(step), **(workaround.options if workaround is not None else {})}
        if self.ranges and step.width == "float16":
            unsafe = self._unsafe_nodes(origin)
            keep = tuple(dict.fromkeys((*keep, *unsafe)))
            notes = (message("CONVERT.kept_float32", nodes=", ".join(unsafe)),)
        if keep:
            options[KEEP_FLOAT32] = "\n".join(keep)
        try:
            order = order_for(
                step, origin.model, origin.location,
                samples=self._supply, folder=folder, options=options,
            )  # fmt: skip
        except IsomorphError as error:
            return Attempt(path=folder, trouble=trouble_of(error))
        suffix = registry.converter(step.converter).suffix
        made = self.converter_worker.make(step, origin.location, order, f"{self.name}{suffix}")
        return replace(made, notes=(*made.notes, *notes))

    def _unsafe_nodes(self, origin: Stop) -> tuple[str, ...]:
        """The nodes of a model that are not proven to stay within float16."""
        if origin.location not in self._unsafe:
            self._unsafe[origin.location] = self._found_unsafe(origin)
        return self._unsafe[origin.location]

    def _found_unsafe(self, origin: Stop) -> tuple[str, ...]:
        from isomorph.bounds.model_ranges import model_ranges, nodes_to_keep

        handle = self.loader.open("candidate", origin.location)
        found = model_ranges(
            handle,
            [self.given] if self.given is not None else [],
            self.ranges,
            self.check_options.dims,
            to="float16",
            seed=self.check_options.seed,
            bounds_only=True,
        )
        return nodes_to_keep(handle.model.graph, found)

    def _judged(
        self,
        origin: Stop,
        step: Step,
        attempt: Attempt,
        workarounds: tuple[Workaround, ...],
        started: float,
    ) -> Stop:
        """Load the result, and measure it; an unreadable one is a failure of the converter."""
        hop = Hop(
            step=step,
            status=HopStatus.FAILED,
            seconds=0.0,
            workarounds=workarounds,
            notes=attempt.notes,
        )
        try:
            right = self._open_result(origin, step, attempt.path)
        except IsomorphError as error:
            invalid = replace(
                trouble_of(error), sentence=message("CONVERT.invalid", error=error.sentence)
            )
            return self._failed(None, step, invalid, started, hop)
        proof = self._proof(right, attempt.path)
        report = proof.report
        converter = registry.converter(step.converter)
        paired = (report.input_bindings, report.outputs) if report is not None else ((), ())
        lost = (*converter.loses, *losses(self.first.model, right.model, *paired))
        hop = replace(
            hop,
            status=proof.status,
            seconds=time.monotonic() - started,
            lost=tuple(dict.fromkeys(lost)),
            trouble=proof.trouble,
            report=report,
            patches=proof.patches,
            cpus=scope(right),
        )
        model = right.model if not proof.patches else self.loader.load(str(proof.path))
        return Stop(location=str(proof.path), model=model, hop=hop)

    def _open_result(self, origin: Stop, step: Step, path: Path) -> ModelHandle:
        """The result in the runtime that it is for, or its source there where nothing reads it."""
        converter = registry.converter(step.converter)
        if not isinstance(converter, ProvenByRuntime):
            return self.loader.open("candidate", str(path))
        runtime, settings = converter.proven_as
        read = converter.target in registry.names("frameworks")
        right = self.loader.open("candidate", str(path) if read else origin.location)
        return replace(right, runtime=runtime, settings=settings, _sessions={})

    def _proof(self, right: ModelHandle, path: Path) -> _Proof:
        """Measured against the first model; repaired, where that is asked for and can be."""
        checked = self._checked(right)
        if isinstance(checked, Trouble):
            return _Proof(path=path, status=HopStatus.UNPROVEN, trouble=checked)
        status = _STATUS[checked.verdict]
        if status == HopStatus.DIVERGENT and self.repair:
            target, patches, again = self._repaired(right, path, checked)
            if patches:
                return _Proof(path=target, status=HopStatus.REPAIRED, report=again, patches=patches)
        return _Proof(path=path, status=status, report=checked)

    def _checked(self, right: ModelHandle) -> Report | Trouble:
        try:
            return checking.check_pair(self.first, right, self.given, self.check_options)
        except IsomorphError as error:
            return trouble_of(error)

    def _repaired(
        self, right: ModelHandle, path: Path, report: Report
    ) -> tuple[Path, tuple[str, ...], Report]:
        """The patched and proven copy; unchanged where no repair is proven."""
        if not can_patch(right.model):
            return path, (), report
        target = self.converter_worker.folder(HopStatus.REPAIRED) / path.name
        try:
            done = write_repair(self.first, right, self.given, self.check_options, target)
            if not done.repaired or done.output is None:
                return path, (), report
            again = self._checked(self.loader.open("candidate", str(target)))
        except IsomorphError:
            return path, (), report
        if isinstance(again, Trouble) or again.verdict.exit_code != 0:
            return path, (), report
        return target, tuple(each.patch.summary for each in done.applied), again

    def _failed(
        self,
        origin: Stop | None,
        step: Step,
        trouble: Trouble,
        started: float,
        hop: Hop | None = None,
    ) -> Stop:
        tried = self._workarounds(step)
        hop = hop or Hop(step=step, status=HopStatus.FAILED, seconds=0.0)
        hop = replace(hop, seconds=time.monotonic() - started, trouble=trouble, workarounds=tried)
        here = origin or Stop(location="", model=self.first.model)
        return Stop(location=here.location, model=here.model, hop=hop)

    def _report_progress(
        self, step: Step, workaround: Workaround | None, keep: Sequence[str] = ()
    ) -> None:
        if self.check_options.on_progress is not None:
            width = f", {step.width}" if step.width != AS_IS else ""
            again = f", again: {workaround.name}" if workaround is not None else ""
            again += f", {counted(len(keep), 'node')} in float32" if keep else ""
            self.check_options.on_progress(
                f"convert: {step.source} → {step.target}{width}{again}", step.converter
            )


def _status(stop: Stop | None) -> HopStatus | None:
    return stop.hop.status if stop is not None and stop.hop is not None else None
