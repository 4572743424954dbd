"""What a check was asked, in its report; and the same request again, for a repair."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.api.options import CheckOptions, Limits, PairOptions, RuntimeOptions
from isomorph.core.error_of import error_of
from isomorph.core.errors import IsomorphError, UsageError
from isomorph.core.messages import message
from isomorph.core.request import CheckRequest, FileRole

if TYPE_CHECKING:
    from isomorph.core.report import Report
    from isomorph.core.request import RequestedFile
    from isomorph.core.trace import Environment
    from isomorph.sessions.model_handle import ModelHandle


def check_request(
    options: PairOptions,
    *,
    dims: Mapping[str, int],
    budgets: Mapping[str, float],
    **files: object,
) -> CheckRequest:
    """The request of a check; ``files`` are its inputs and test set, where these are paths."""
    from isomorph.store.requested_files import requested_file, working_directory

    runtime = options.runtime
    given = {**files, FileRole.STATE: runtime.state}
    name, memory = runtime.name, runtime.limits.memory
    # A call from Python may state threads=1 or memory=4e9; a document has each field in one type.
    return CheckRequest(
        directory=working_directory(),
        files=tuple(
            requested_file(FileRole(role), path)
            for role, path in given.items()
            if isinstance(path, (str, Path))
        ),
        runtime={"": name} if isinstance(name, str) else dict(name or {}),
        settings={key: str(value) for key, value in runtime.settings.items()},
        ops=tuple(runtime.ops),
        memory=None if memory is None else int(memory),
        timeout=runtime.limits.timeout,
        dims=dict(dims),
        budgets=dict(budgets),
        bind_inputs=dict(options.bind_inputs),
        bind_outputs=dict(options.bind_outputs),
        layouts=options.axis_orders,
        decode=options.decode if isinstance(options, CheckOptions) else None,
        caches=dict(options.caches) if isinstance(options, CheckOptions) else {},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairCall:
    """What a repair is asked: two models, and how they are compared."""

    reference: Any
    candidate: Any
    options: PairOptions
    inputs: Any
    dims: Mapping[str, int]
    budgets: Mapping[str, float]
    seed: int | None
    report: Report | None = None
    """The report that the call repeats."""
    notes: tuple[str, ...] = ()
    """What differs from the check of the report, one line each."""
    same_question: bool = False
    """Whether the call compares as the report did, so that its faults need no search."""


def repeated_call(call: RepairCall) -> RepairCall:
    """The check of the report that the reference names, with what the call states besides."""
    from isomorph.store.reports import may_be_report, reported_models
    from isomorph.store.requested_files import located

    if not may_be_report(call.reference):
        raise _no_candidate(call.reference)
    path = Path(call.reference)
    report, reference, candidate = reported_models(path)
    asked = report.request or _request_of_bindings(report)
    options = _repeated_options(call.options, asked, path)
    given = (call.inputs, []) if call.inputs is not None else _given_again(report, asked, path)
    inputs, notes = given
    state = asked.file(FileRole.STATE)
    if state is not None and call.options.runtime.state is None:
        notes += _change(state, str(options.runtime.state))
    dims, budgets = call.dims or asked.dims, call.budgets or asked.budgets
    other = _differences(asked, check_request(options, dims=dims, budgets=budgets))
    if other:
        notes.append(message("REPAIR.other_options", options=", ".join(other)))
    return RepairCall(
        reference=located(reference, asked, path),
        candidate=located(candidate, asked, path),
        options=options,
        inputs=inputs,
        dims=dims,
        budgets=budgets,
        seed=report.seed if call.seed is None else call.seed,
        report=report,
        notes=tuple(notes),
        same_question=not other,
    )


def _no_candidate(reference: object) -> UsageError:
    named = reference if isinstance(reference, (str, Path)) else "REFERENCE"
    return error_of(UsageError, "USAGE.candidate", reference=named)


def _request_of_bindings(report: Report) -> CheckRequest:
    """What a report of an earlier version tells of its request: the bindings that were stated."""
    from isomorph.core.report import BoundBy

    inputs, outputs = (
        {each.reference: each.candidate for each in bindings if each.how is BoundBy.USER}
        for bindings in (report.input_bindings, report.output_bindings)
    )
    return CheckRequest(bind_inputs=inputs, bind_outputs=outputs)


def _repeated_options(options: PairOptions, asked: CheckRequest, report: Path) -> PairOptions:
    from isomorph.store.requested_files import located

    stated, state = options.runtime, asked.file(FileRole.STATE)
    name = asked.runtime.get("") or dict(asked.runtime) or None
    runtime = RuntimeOptions(
        name=stated.name or name,
        settings=stated.settings or asked.settings,
        state=stated.state or (located(state.location, asked, report) if state else None),
        ops=stated.ops or asked.ops,
        limits=Limits(
            memory=stated.limits.memory or asked.memory,
            timeout=stated.limits.timeout or asked.timeout,
        ),
    )
    return PairOptions(
        bind_inputs=options.bind_inputs or asked.bind_inputs,
        bind_outputs=options.bind_outputs or asked.bind_outputs,
        layouts=options.layouts or asked.layouts,
        runtime=runtime,
    )


def _given_again(report: Report, asked: CheckRequest, path: Path) -> tuple[Any, list[str]]:
    """The file of inputs that the report names, and what a user should know about it."""
    from isomorph.core.coverage import InputKind
    from isomorph.store.requested_files import located

    if asked.decode is not None:
        return None, [message("REPAIR.decoding")]
    file = asked.file(FileRole.INPUTS)
    if file is not None:
        place = located(file.location, asked, path)
        return place, _change(file, place)
    if asked.file(FileRole.DATA) is not None:
        return None, [message("REPAIR.test_set")]
    if any(each.kind is InputKind.GIVEN for each in report.inputs):
        return None, [message("REPAIR.no_inputs")]
    return None, []


def _change(file: RequestedFile, place: str) -> list[str]:
    """A note, if the file has another content now."""
    from isomorph.store.requested_files import file_digest

    same = not file.digest or not Path(place).is_file() or file_digest(Path(place)) == file.digest
    return [] if same else [message("REPAIR.changed", file=file.location)]


def _differences(asked: CheckRequest, now: CheckRequest) -> list[str]:
    """The options that decide what is compared, and that are others now."""
    names = (
        "runtime",
        "settings",
        "ops",
        "dims",
        "budgets",
        "bind_inputs",
        "bind_outputs",
        "decode",
    )
    return [name for name in (*names, "layouts") if getattr(asked, name) != getattr(now, name)]


def changed_models(report: Report | None, *handles: ModelHandle) -> tuple[str, ...]:
    """The models, and the versions of their runtimes, that are others than in the report."""
    if report is None:
        return ()
    models = {each.role: each for each in report.models}
    notes = []
    for handle in handles:
        model = models[handle.role]
        if model.digest != handle.model.digest:
            notes.append(message("REPAIR.changed", file=model.location))
        with suppress(IsomorphError):  # the repair reports a runtime that cannot be opened
            handle.run()
        key = f"{handle.role} run"
        then, now = report.environments.get(key), handle.environments.get(key)
        if then is not None and now is not None and _runtime(then) != _runtime(now):
            notes.append(
                message(
                    "REPAIR.other_runtime", role=handle.role, now=_runtime(now), then=_runtime(then)
                )
            )
    return tuple(notes)


def _runtime(environment: Environment) -> str:
    return f"{environment.runtime} {environment.version}"
