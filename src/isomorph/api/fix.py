"""``isomorph.fix``: repair a candidate, and prove the repair by measuring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from isomorph.api.environment import check_config, open_models, trusted_names
from isomorph.api.option_keywords import with_keywords
from isomorph.api.options import PairOptions
from isomorph.core.budgets import stated_budgets

if TYPE_CHECKING:
    from isomorph.api.option_keywords import PairKeywords
    from isomorph.api.options import Progress
    from isomorph.core.patch import Repair
    from isomorph.core.report import Binding, Report


def fix(
    reference: Any,  # noqa: ANN401
    candidate: Any = None,  # noqa: ANN401
    *,
    output: str | Path | None = None,
    inputs: Any = None,  # noqa: ANN401
    dims: Mapping[str, int] | None = None,
    budget: Mapping[str, float] | float | None = None,
    seed: int = 0,
    trust: bool = False,
    in_process: bool = False,
    keep_float: int | str | None = None,
    options: PairOptions | None = None,
    progress: Progress | None = None,
    **keywords: Unpack[PairKeywords],
) -> Repair:
    """Repair a candidate that is not the reference's function, and prove it by measuring.

    Patches touch the faulty nodes alone. A copy is written to ``output``, and only if it is
    verified on the given inputs and on fresh ones; the candidate itself is never written to.
    ``keep_float`` keeps the worst nodes of a quantized candidate in float instead: so many, or
    "auto" for as few as make it good.

    Without a candidate, ``reference`` is a report of ``check`` in JSON: its models are repaired.
    Faults that it located are not searched for again, unless a model or the inputs have changed.
    """
    from isomorph.repair.deliver import write_float_repair, write_repair

    options = with_keywords(options or PairOptions(), keywords)
    report: Report | None = None
    if candidate is None:
        from isomorph.store.reports import reported_models

        report, reference, candidate = reported_models(Path(reference))
        options = _as_reported(options, report)
    config = check_config(
        options,
        dims=dims or {},
        budgets=stated_budgets(budget),
        seed=seed,
        trusted=trusted_names(reference, candidate, trust=trust),
        on_progress=progress,
    )
    with open_models(
        reference,
        candidate,
        trust=trust,
        in_process=in_process,
        runtime=options.runtime,
        inputs=inputs,
        on_progress=progress,
    ) as (left, right, given):
        path = Path(output) if output is not None else None
        if keep_float is None:
            return write_repair(left, right, given, config, path, report=report)
        count = None if keep_float == "auto" else int(keep_float)
        return write_float_repair(left, right, given, config, output=path, count=count)


def _as_reported(options: PairOptions, report: Report) -> PairOptions:
    """The options with the bindings stated for the report, unless the call states others."""
    from isomorph.core.report import BoundBy

    def stated(bindings: Sequence[Binding]) -> dict[str, str]:
        return {each.reference: each.candidate for each in bindings if each.how is BoundBy.USER}

    return replace(
        options,
        bind_inputs=options.bind_inputs or stated(report.input_bindings),
        bind_outputs=options.bind_outputs or stated(report.output_bindings),
    )
