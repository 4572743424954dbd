"""``isomorph.fix``: repair a candidate, and prove the repair by measuring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from isomorph.api.environment import open_models
from isomorph.api.option_keywords import with_keywords
from isomorph.api.options import PairOptions
from isomorph.api.repeat import RepairCall, changed_models, repeated_call
from isomorph.core.budgets import stated_budgets

if TYPE_CHECKING:
    from isomorph.api.option_keywords import PairKeywords
    from isomorph.api.options import Progress
    from isomorph.core.repair import Repair


def fix(
    reference: Any,  # noqa: ANN401
    candidate: Any = None,  # noqa: ANN401
    *,
    output: str | Path | None = None,
    inputs: Any = None,  # noqa: ANN401
    dims: Mapping[str, int] | None = None,
    budget: Mapping[str, float] | float | None = None,
    seed: int | None = None,
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

    Without a candidate, ``reference`` is a report of ``check`` in JSON: its models are repaired
    with its inputs, runtimes and other options, unless the call states others. Faults that it
    located are not searched for again, unless a model, the inputs or an option have changed.
    ``notes`` of the result states what has changed. ``trust`` is never taken from a report.
    """
    from isomorph.repair.deliver import write_float_repair, write_repair

    call = RepairCall(
        reference=reference,
        candidate=candidate,
        options=with_keywords(options or PairOptions(), keywords),
        inputs=inputs,
        dims=dims or {},
        budgets=stated_budgets(budget),
        seed=seed,
    )
    if candidate is None:
        call = repeated_call(call)
    with open_models(
        call.reference,
        call.candidate,
        call.options,
        seed=call.seed or 0,
        budgets=call.budgets,
        inputs=call.inputs,
        dims=call.dims,
        trust=trust,
        in_process=in_process,
        progress=progress,
    ) as pair:
        left, right, given, config = pair.reference, pair.candidate, pair.given, pair.config
        path = Path(output) if output is not None else None
        changed = changed_models(call.report, left, right)
        if keep_float is not None:
            count = None if keep_float == "auto" else int(keep_float)
            done = write_float_repair(left, right, given, config, output=path, count=count)
        else:
            report = call.report if call.same_question and not changed else None
            done = write_repair(left, right, given, config, path, report=report)
        return replace(done, notes=(*call.notes, *changed))
