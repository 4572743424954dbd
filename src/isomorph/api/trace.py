"""``isomorph.trace``: record a run with all its tensors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from isomorph.api.environment import open_model
from isomorph.api.option_keywords import with_keywords
from isomorph.api.options import RuntimeOptions

if TYPE_CHECKING:
    from isomorph.api.option_keywords import RuntimeKeywords
    from isomorph.api.options import Progress
    from isomorph.core.recording import Record


def trace(
    model: Any,  # noqa: ANN401
    *,
    output: str | Path | None = None,
    inputs: Any = None,  # noqa: ANN401
    dims: Mapping[str, int] | None = None,
    oracle: bool = True,
    seed: int = 0,
    trust: bool = False,
    in_process: bool = False,
    options: RuntimeOptions | None = None,
    progress: Progress | None = None,
    **keywords: Unpack[RuntimeKeywords],
) -> Record:
    """Every tensor of one run with its inputs, and, with ``oracle``, its float64 oracle.

    Written to the folder ``output``, it may stand in the place of a model in ``check``, on this
    machine or on another.
    """
    from isomorph.inputs.generated_samples import generated_samples
    from isomorph.measure.trace_recorder import record
    from isomorph.store.trace_files import save_record

    options = with_keywords(options or RuntimeOptions(), keywords)
    with open_model(
        model,
        trust=trust,
        in_process=in_process,
        runtime=options,
        inputs=inputs,
        on_progress=progress,
    ) as (handle, given):
        graph = handle.model.graph
        sample = given or generated_samples(handle, graph, (), dims or {}, seed)[0]
        made = record(handle, sample.feeds, seed=seed, oracle=oracle, on_progress=progress)
        if output is not None:
            save_record(made, Path(output))
        return made
