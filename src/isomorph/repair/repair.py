"""Find faults, patch a copy, and keep a patch only if the measurement improves."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from isomorph import registry
from isomorph.checking.check import check_pair
from isomorph.checking.config import CheckConfig
from isomorph.core.errors import IsomorphError
from isomorph.core.messages import message
from isomorph.core.patch import Patch
from isomorph.core.repair import Applied, Proof, Repair
from isomorph.core.repair_limits import REPAIR_ATTEMPTS, REPAIR_ROUNDS
from isomorph.repair import targets
from isomorph.repair.advice import manual_advice
from isomorph.repair.free_axes import freed_axes, redeclared_shapes
from isomorph.repair.fresh_samples import of_other_sizes, proving_samples
from isomorph.repair.known_faults import KnownFaults, known_faults
from isomorph.repair.newer_opset import raised_opset, with_newer_opset
from isomorph.repair.patch_selection import LazyPatches, cheapest_first, proposed, selections
from isomorph.repair.proof import GOOD, measured_on, measured_pairs, much_worse, trusted
from isomorph.repair.settings_search import only_runtime_wrong, restoring_settings
from isomorph.repair.unsigned_weights import unsigned_weights
from isomorph.repair.weight_targets import constant_targets, is_unseen, revealing_samples
from isomorph.repair.whole_replacement import replaces_everything
from isomorph.sessions.in_process import can_free_axes, can_patch
from isomorph.sessions.model_handle import ModelHandle

if TYPE_CHECKING:
    from isomorph.core.report import Finding, Report
    from isomorph.inputs.feeds import Sample
    from isomorph.repair.targets import RepairTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """A patched candidate with its patches and the report of every sample."""

    handle: ModelHandle
    applied: tuple[Applied, ...]
    reports: tuple[Report, ...]

    @property
    def rounds(self) -> int:
        return 1 + max((each.round for each in self.applied), default=-1)

    @property
    def good(self) -> bool:
        return trusted(self.reports)


class RepairRun:
    """One reference, the samples that prove a repair, and a folder for the copies."""

    def __init__(
        self,
        reference: ModelHandle,
        samples: Sequence[Sample],
        options: CheckConfig,
        folder: Path,
        known: KnownFaults | None = None,
    ) -> None:
        self.reference, self.samples, self.folder = reference, list(samples), folder
        self.options = replace(options, locate=False, quantization=False)
        self.refused: list[str] = []
        self._copies = 0
        self._sized = False
        self._known = known

    def measured(self, handle: ModelHandle) -> tuple[Report, ...]:
        """The reports of the samples, up to the first bad one."""
        reports: list[Report] = []
        for sample in self.samples:
            reports.append(check_pair(self.reference, handle, sample, self.options))
            if reports[-1].verdict not in GOOD:
                break
        return tuple(reports)

    def examined(self, candidate: ModelHandle, before: Sequence[Report]) -> tuple[Finding, ...]:
        """The findings of a full check on the first bad sample."""
        for sample, report in measured_pairs(self.samples, before):
            if report.verdict not in GOOD:
                options = replace(self.options, locate=True)
                return check_pair(self.reference, candidate, sample, options).findings
        return ()

    def shown_elsewhere(self, candidate: ModelHandle, known: Report | None) -> bool:
        """Add inputs with a difference that no sample shows: those of a report, or of a check."""
        if known is None:
            options = replace(self.options, locate=True)
            known = check_pair(self.reference, candidate, self.samples[0], options)
        wrong = [known] if known.verdict not in GOOD else []
        found = list(revealing_samples(wrong, candidate.model.graph, of_weights=False))
        self.samples += found
        return bool(found)

    def improved(self, state: _State) -> _State | None:
        """One round: a patch for every target that has one, applied together.

        Where nothing but a weight makes the models differ, it is put right before anything is
        located: on inputs that hardly show it, a search leads to other places.
        """
        best = self._patched_together(state, self._decisive_weights(state))
        if best is not None and best.good:
            return best
        return self._patched_together(state, self._targets(state)) or best

    def _patched_together(self, state: _State, every: Iterable[RepairTarget]) -> _State | None:
        found = [pair for each in every for pair in self._supplied(each)]
        if any(each.finding.cause == "shape" for each, _ in found):
            self._prove_at_other_sizes(state.handle)
        best: _State | None = None
        for pick in REPAIR_ATTEMPTS.first(selections([supply for _, supply in found])):
            chosen = [
                Applied(patch=supply[place], finding=each.finding, round=state.rounds)
                for (each, supply), place in zip(found, pick, strict=True)
                if place is not None
            ]
            after = self._attempt(state, _distinct(chosen))
            if after is not None and after.good:
                return after
            best = best or after
        return best

    def freed(self, state: _State) -> _State:
        """The state with axes freed that the conversion fixed, if it is good at other sizes."""
        graphs = self.reference.model.graph, state.handle.model.graph
        able = can_free_axes(state.handle.model)
        found = freed_axes(*graphs, state.reports[0]) if able else None
        if found is None:
            return state
        patch, finding = found
        before, known = self.samples, self._sized
        try:
            handle = self.patched(state.handle, [patch])
            self._prove_at_other_sizes(handle)
            reports = self.measured(handle)
        except IsomorphError as error:
            self.refused.append(
                message("REPAIR.refused", patch=patch.summary, reason=error.sentence)
            )
        else:
            if len(reports) > len(before) and trusted(reports):
                chosen = Applied(patch=patch, finding=finding, round=state.rounds)
                return _State(handle=handle, applied=(*state.applied, chosen), reports=reports)
            self.refused.append(
                message("REPAIR.refused", patch=patch.summary, reason=reports[-1].reason)
            )
        self.samples, self._sized = before, known
        return state

    def stored_unsigned(self, state: _State, findings: Sequence[Finding]) -> _State | None:
        """The state with weights stored unsigned, if that makes every sample good."""
        found = unsigned_weights(state.handle, findings) if can_patch(state.handle.model) else None
        if found is None:
            return None
        chosen = Applied(patch=found[0], finding=found[1], round=state.rounds)
        after = self._attempt(state, [chosen])
        return after if after is not None and after.good else None

    def redeclared(self, state: _State) -> _State:
        """The state with outputs declared in the shape that the repair gave them."""
        graphs = self.reference.model.graph, state.handle.model.graph
        same = self.reference.model.framework == state.handle.model.framework
        patch = redeclared_shapes(*graphs, state.reports[0]) if same and state.applied else None
        if patch is None:
            return state
        chosen = replace(state.applied[-1], patch=patch, round=state.rounds)
        return self._attempt(state, [chosen]) or state

    def _prove_at_other_sizes(self, candidate: ModelHandle) -> None:
        """Add samples of other sizes, which a repair of a frozen size must satisfy."""
        if not self._sized:
            self._sized = True
            known = {each.origin for each in self.samples}
            sized = of_other_sizes(self.reference, candidate, self.options)
            self.samples = [*self.samples, *(each for each in sized if each.origin not in known)]

    def _supplied(self, target: RepairTarget) -> Iterator[tuple[RepairTarget, LazyPatches]]:
        """The target with its patches; where none restores it, its parts with theirs."""
        supply = LazyPatches(self._restoring(target))
        if supply.has(0):
            yield target, supply
            return
        for part in target.parts():
            restoring = LazyPatches(self._restoring(part))
            if restoring.has(0):
                yield part, restoring

    def _decisive_weights(self, state: _State) -> Iterator[RepairTarget]:
        """The weights that differ, where no output of the first bad sample does."""
        for _, report in measured_pairs(self.samples, state.reports):
            if report.verdict not in GOOD:
                if all(each.verdict in GOOD for each in report.outputs):
                    yield from constant_targets(self.reference, state.handle, report.findings)
                return

    def _targets(self, state: _State) -> Iterator[RepairTarget]:
        """The repair targets of the first bad sample that has any."""
        for sample, report in measured_pairs(self.samples, state.reports):
            if report.verdict in GOOD:
                continue
            sides = self.reference, state.handle
            outer = list(targets.unlocated_targets(*sides, report.findings))
            if outer:
                yield from outer
                return
            inner = []
            try:
                # What a report located are faults of the unpatched model on its own sample.
                known = self._known if sample is self.samples[0] and not state.applied else None
                found = targets.fault_targets(
                    *sides, sample, self.options, self.folder, known=known
                )
                inner = list(found)
            except IsomorphError as error:
                self.refused.append(message("REPAIR.not_located", error=error.sentence))
            # A located node shows how its weight is read, which the weight alone does not; what no
            # given input shows is not located.
            located = {node.name for each in inner for node in each.context.nodes}
            for each in constant_targets(*sides, report.findings):
                read_there = not located.isdisjoint(node.name for node in each.context.nodes)
                if not located or (is_unseen(each.finding) and not read_there):
                    inner.append(each)
            if inner:
                yield from inner
                return

    def _restoring(self, target: RepairTarget) -> Iterator[Patch]:
        """Patches that restore the target, those for the diagnosed cause first."""
        for name in _causes(target):
            fix = registry.fix(name)
            proposals = proposed(fix, target.finding, target.context, self.refused.append)
            yield from map(target.whole, cheapest_first(proposals, target.restores))

    def _attempt(self, state: _State, chosen: Sequence[Applied]) -> _State | None:
        """Apply, load and measure; None where it cannot be run or is worse than before."""
        applied = (*state.applied, *chosen)
        text = "; ".join(each.patch.summary for each in chosen)
        try:
            handle = self.patched(state.handle, [each.patch for each in chosen])
            if replaces_everything(handle.model.graph, [each.patch for each in applied]):
                self.refused.append(message("REPAIR.replaces_everything", patch=text))
                return None
            reports = self.measured(handle)
        except IsomorphError as error:
            self.refused.append(message("REPAIR.refused", patch=text, reason=error.sentence))
            return None
        if not reports or much_worse(state.reports, reports):
            self.refused.append(message("REPAIR.refused", patch=text, reason=reports[-1].reason))
            return None
        taken = raised_opset(state.handle.model, handle.model)
        applied = (
            (*applied[:-1], with_newer_opset(applied[-1], taken)) if taken and chosen else applied
        )
        return _State(handle=handle, applied=applied, reports=reports)

    def patched(self, handle: ModelHandle, patches: Sequence[Patch]) -> ModelHandle:
        """Write a copy with these patches, and load it."""
        self._copies += 1
        path = self.folder / f"patched-{self._copies}{Path(handle.model.location).suffix}"
        edits = tuple(edit for patch in patches for edit in patch.edits)
        whole = Patch(summary="; ".join(patch.summary for patch in patches), edits=edits)
        handle.host.apply(handle.model, whole, path)
        model = handle.host.load(str(path), handle.model.framework, {})
        return replace(handle, model=model, _sessions={})


def _distinct(chosen: Sequence[Applied]) -> list[Applied]:
    """The patches without repetition: one patch may repair several findings."""
    return list({each.patch.summary: each for each in reversed(chosen)}.values())[::-1]


def _causes(target: RepairTarget) -> list[str]:
    """The names of the fixes to try, that of the diagnosed cause first."""
    known = list(registry.names("fixes"))
    causes = target.finding.causes or (target.finding.cause,)
    first = [name for name in causes if name in known]
    if not target.local:
        return first[:1]
    return list(dict.fromkeys([*first, *known]))


def repair(
    reference: ModelHandle,
    candidate: ModelHandle,
    given: Sample | None,
    options: CheckConfig,
    folder: Path,
    *,
    report: Report | None = None,
) -> Repair:
    """Repair the candidate in ``folder``: the patches kept, refused, and the measurements.

    Faults that ``report`` has located in the same models, on the same inputs, are not searched for.
    """
    started = time.monotonic()
    samples = proving_samples(reference, candidate, given, options)
    known = known_faults(report, reference, candidate, given) if report is not None else None
    run = RepairRun(reference, samples, options, folder, known)
    if known is not None and known.measures(options):
        before: tuple[Report, ...] = (known.report,)
    else:
        before = run.measured(candidate)
    run.samples += revealing_samples(before, candidate.model.graph)
    if trusted(before) and run.shown_elsewhere(candidate, report):
        before = run.measured(candidate)
    state = _State(handle=candidate, applied=(), reports=before)
    if not state.good and only_runtime_wrong(before):
        return _run_otherwise(run, candidate, before, started)
    patchable = can_patch(candidate.model)
    while patchable and not state.good:
        if state.rounds >= REPAIR_ROUNDS.most:
            REPAIR_ROUNDS.reached()
            break
        better = run.improved(state)
        if better is None:
            break
        state = better
    if patchable and state.good:
        state = run.freed(run.redeclared(state))
    done = _result(run, state, before, options, time.monotonic() - started)
    if done.repaired:
        return done
    words = manual_advice(run.examined(candidate, before), patchable=patchable)
    return replace(done, advice=tuple(words))


def _run_otherwise(
    run: RepairRun, candidate: ModelHandle, before: Sequence[Report], started: float
) -> Repair:
    """The result where the file is right and its run is not: settings that restore the run."""
    findings = run.examined(candidate, before)
    state = _State(handle=candidate, applied=(), reports=tuple(before))
    stored = run.stored_unsigned(state, findings)
    if stored is not None:
        return _result(run, stored, before, run.options, time.monotonic() - started)
    found = restoring_settings(candidate, findings, run.measured)
    done = _result(run, state, before, run.options, time.monotonic() - started)
    if found is None:
        return replace(done, advice=tuple(manual_advice(findings, patchable=True)))
    option, reports = found
    after = measured_on(run.samples, reports)
    return replace(
        done,
        verdict=reports[-1].verdict,
        reason=message("REPAIR.run", flags=option.flags),
        repaired=len(after) > 1,
        proof=Proof(before=done.proof.before, after=after),
        session=option,
    )


def _result(
    run: RepairRun, state: _State, before: Sequence[Report], options: CheckConfig, elapsed: float
) -> Repair:
    after = measured_on(run.samples, state.reports)
    proof = Proof(
        before=measured_on(run.samples, before),
        after=after if state.applied else (),
    )
    worst = next((r for r in state.reports if r.verdict not in GOOD), state.reports[0])
    repaired = state.good and (not state.applied or proof.holds)
    if repaired and not state.applied:
        reason = message("REPAIR.nothing", reason=worst.reason)
    elif repaired:
        count = len(state.applied)
        reason = message(
            "REPAIR.one_patch" if count == 1 else "REPAIR.patches",
            count=count,
            reason=worst.reason,
        )
    else:
        reason = message("REPAIR.failed", reason=worst.reason)
    return Repair(
        verdict=worst.verdict,
        reason=reason,
        repaired=repaired,
        applied=state.applied if repaired else (),
        proof=proof,
        refused=tuple(dict.fromkeys(run.refused)),
        seed=options.seed,
        elapsed=elapsed,
    )
