"""The check that fits what was given: one model, two, recorded outputs, or traces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.checking.check import check_pair
from isomorph.checking.loader import is_trace_of_model, recorded
from isomorph.core.cost import phase
from isomorph.core.errors import UsageError
from isomorph.measure.parallel import run_parallel
from isomorph.store.format_detection import source_kind

if TYPE_CHECKING:
    from isomorph.checking.config import CheckConfig
    from isomorph.checking.loader import Loader
    from isomorph.core.report import Report
    from isomorph.sessions.model_handle import ModelHandle


def run_check(
    loader: Loader,
    reference: Any,  # noqa: ANN401
    candidate: Any,  # noqa: ANN401
    options: CheckConfig,
) -> Report:
    """Load both models and check them; without a candidate, the model against its own oracle."""
    samples = options.data
    if candidate is None:
        from isomorph.checking.check_single import check_alone

        alone = loader.open("candidate", reference)
        given = None if samples else loader.sample(alone.model.graph.inputs)
        return check_alone(alone, given, options)
    loader.warm(reference, candidate)
    if options.prove and any(map(_is_recorded, (reference, candidate))):
        raise UsageError(
            "BAD_OPTION",
            "--prove needs both graphs, and one side is a recording",
            fix="give the model itself",
        )
    if is_trace_of_model(reference) or is_trace_of_model(candidate):
        from isomorph.checking.check_trace import check_replayed

        one, other = loader.side("reference", reference), loader.side("candidate", candidate)
        given = loader.sample(one.model.graph.inputs)
        return check_replayed(one, other, given, options)
    record = recorded(reference)
    if record is not None and samples is not None:
        raise UsageError(
            "BAD_OPTION",
            "recorded outputs are those of one sample, and --data gives many",
            fix="give the model that made them as the reference, or the sample with --inputs",
        )
    if record is not None:
        from isomorph.checking.check_single import check_recorded
        from isomorph.measure.recorded_reference import Recording

        right = loader.open("candidate", candidate)
        location, digest, arrays = record
        recording = Recording(location=location, digest=digest, arrays=arrays)
        given = loader.sample(right.model.graph.inputs)
        if given is None and right.model.graph.inputs:
            # With generated inputs every model would differ.
            raise UsageError(
                "INPUTS_NEEDED",
                "recorded outputs belong to the inputs that they were computed from, and "
                "there are none",
                fix="give them with --inputs; isomorph trace records both at once",
            )
        return check_recorded(recording, right, given, options)
    left, right = open_pair(loader, reference, candidate)
    given = None if samples else loader.sample(left.model.graph.inputs)
    return check_pair(left, right, given, options)


def _is_recorded(source: object) -> bool:
    return isinstance(source, (str, Path)) and source_kind(str(source)) == "recorded"


def open_pair(
    loader: Loader,
    reference: Any,  # noqa: ANN401
    candidate: Any,  # noqa: ANN401
    *,
    runs: bool = True,
) -> tuple[ModelHandle, ModelHandle]:
    """Both models, loaded at the same time where each has a worker of its own.

    Starting a framework takes longest; meanwhile the candidate's runtime opens its model, unless
    only the oracles are used (``runs``).
    """
    found: dict[str, ModelHandle] = {}

    def load(role: str, source: Any) -> None:  # noqa: ANN401
        found[role] = loader.open(role, source)
        if runs and apart and role == "candidate":
            with phase("load"):
                found[role].prepare()

    files = all(isinstance(each, (str, Path)) for each in (reference, candidate))
    if files and str(reference) == str(candidate):
        # One file under two settings is read once.
        left = loader.open("reference", reference)
        return left, loader.open("candidate", candidate, left.model)
    apart = files and loader.host.isolation == "process"
    run_parallel(
        lambda: load("candidate", candidate), lambda: load("reference", reference), apart=apart
    )
    return found["reference"], found["candidate"]
