"""Run a model once, and record what a later comparison may need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.recording import OracleRecord, Record
from isomorph.core.stated_numbers import DRAWS, TENSOR_DRAWS
from isomorph.core.trace import Noise, Trace
from isomorph.measure.budget_check import explained_by_rounding
from isomorph.measure.distance import differs
from isomorph.measure.evaluated_model import EvaluatedModel
from isomorph.measure.noise_draws import flattened, spreads
from isomorph.measure.precision import narrow_constants, widths
from isomorph.measure.run_time_quantizers import execution_noise, run_time_quantizers
from isomorph.measure.spread import FALSE_ALARM
from isomorph.measure.undecided_branches import of_decisions
from isomorph.oracle.sizes import rms
from isomorph.sessions.memory_estimate import refuse_without_space
from isomorph.sessions.trace_session import SEEDS, Playback
from isomorph.version import VERSION

if TYPE_CHECKING:
    from isomorph.core.model import Graph, Model
    from isomorph.core.trace import Array, Arrays
    from isomorph.sessions.model_handle import ModelHandle

Progress = Callable[[str, str], None]


def noises(graph: Graph, seed: int) -> dict[str, Noise]:
    """Return the kinds of noise by name; only rounding for a model of full precision."""
    kinds = {"rounding": Noise(seed=seed, rounding=True)}
    if widths(graph):
        lossy = replace(kinds["rounding"], quantizers=True, run_time=True)
        kinds["intended"] = replace(lossy, seed=seed + 2, constants=narrow_constants(graph))
        kinds["execution"] = replace(lossy, seed=seed + 3)
        run = execution_noise(graph, seed + 3)
        if run_time_quantizers(graph) or not run.quantizers:
            kinds["run_time"] = replace(run, quantizers=False)
    return kinds


def record(
    handle: ModelHandle,
    feeds: Arrays,
    *,
    seed: int,
    oracle: bool,
    on_progress: Progress | None = None,
) -> Record:
    """Record every tensor of a run, its outputs without capturing, and the oracle's tensors."""
    model = handle.model
    names = _captured(model)
    outputs = list(dict.fromkeys(spec.name for spec in model.graph.outputs))
    refuse_without_space(model, feeds, names)
    session = handle.run()
    _report_progress(on_progress, "run", f"{len(outputs)} outputs, untouched")
    untouched = flattened(session.run(feeds, outputs))
    everything = session.capabilities.fetch == "all"
    notes = [] if everything else ["this runtime gives no tensors but its outputs"]
    _report_progress(on_progress, "run", f"{len(names)} tensors" if everything else "outputs only")
    tensors = flattened(session.run(feeds, names)) if everything else untouched
    recorded = None
    if oracle:
        settled = _settled(handle, feeds, seed)
        recorded = _recorded_oracle(settled, names, on_progress)
        taken = of_decisions("as recorded", model.graph, settled.taken)
        notes += [finding.summary for finding in taken]
    _report_progress(on_progress, "run as written", "")
    written = flattened(handle.plain().run(feeds, outputs))
    notes += _changed_by_capturing(tensors, untouched, recorded)
    return Record(
        model=replace(model, native=None),
        seed=seed,
        inputs=dict(feeds),
        run=Trace(environment=session.environment, tensors=tensors),
        untouched=untouched,
        written=written,
        oracle=recorded,
        notes=tuple(notes),
        version=VERSION,
    )


def _captured(model: Model) -> list[str]:
    """Return every tensor in graph order, and the outputs, which may be inputs."""
    made = [name for node in model.graph.nodes for name in node.outputs if name]
    return list(dict.fromkeys([*made, *(spec.name for spec in model.graph.outputs)]))


def _settled(handle: ModelHandle, feeds: Arrays, seed: int) -> EvaluatedModel:
    """Evaluate the model with decisions that rounding leaves open taken as in the run."""
    evaluated = EvaluatedModel.of(handle, feeds, seed=seed, draws=DRAWS)
    evaluated.settle()
    return evaluated


def _recorded_oracle(
    evaluated: EvaluatedModel, names: Sequence[str], on_progress: Progress | None
) -> OracleRecord:
    session, feeds, graph = evaluated.oracle(), evaluated.feeds, evaluated.model.graph
    _report_progress(on_progress, "oracle", f"{len(names)} tensors")
    values = session.run(feeds, list(names))
    outputs = list(dict.fromkeys(spec.name for spec in graph.outputs))
    spread, draws = {}, {}
    for kind, noise in noises(graph, evaluated.seed).items():
        _report_progress(on_progress, "oracle", f"{kind} of {len(names)} tensors")
        moved = spreads(
            session, feeds, values, replace(noise, seed=0), draws=TENSOR_DRAWS,
            about_mean=noise.quantizers,
        )  # fmt: skip
        spread[kind] = {
            name: _rms_and_peak(each.deviation)
            for name, each in moved.items()
            if each.deviation is not None
        }
        for number in range(DRAWS):
            _report_progress(on_progress, "oracle", f"{kind}, draw {number + 1} of {DRAWS}")
            disturbed = replace(noise, seed=noise.seed * SEEDS + number)
            draws[f"{kind}/{number}"] = flattened(session.run(feeds, outputs, noise=disturbed))
    return OracleRecord(
        environment=session.environment, tensors=flattened(values), spread=spread, draws=draws
    )


def _rms_and_peak(deviation: Array) -> tuple[float, float]:
    if not deviation.size:
        return 0.0, 0.0
    # A few draws seldom exceed twice the deviation, even at the noisiest element.
    return rms(deviation), float(2.0 * np.max(deviation))


def _changed_by_capturing(
    captured: Mapping[str, Array], untouched: Mapping[str, Array], recorded: OracleRecord | None
) -> list[str]:
    """Return a note if capturing changed the outputs by more than rounding."""
    other = differs(untouched, captured)
    if not other:
        return []
    changed = f"capturing changed the outputs {', '.join(other)}"
    if recorded is None:
        return [f"{changed}; without an oracle it is unknown whether that is rounding"]
    return [changed] if any(_beyond(name, captured, untouched, recorded) for name in other) else []


def _beyond(
    name: str, captured: Mapping[str, Array], untouched: Mapping[str, Array], recorded: OracleRecord
) -> bool:
    rms = recorded.spread["rounding"].get(name)
    one, two = captured.get(name), untouched[name]
    if rms is None or one is None or one.shape != two.shape:
        return True
    session = Playback(recorded.environment, {}, recorded.tensors, recorded)
    center = {name: recorded.tensors[name]}
    spread = spreads(session, {}, center, Noise(seed=0, rounding=True))[name]
    return not explained_by_rounding(one, two, spread, false_alarm=FALSE_ALARM)


def _report_progress(on_progress: Progress | None, what: str, detail: str) -> None:
    if on_progress is not None:
        on_progress(what, detail)
