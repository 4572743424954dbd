"""``isomorph.ranges``: which numbers the tensors of a model can hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from isomorph.api.environment import open_model, sample_set
from isomorph.api.option_keywords import with_keywords
from isomorph.api.options import RuntimeOptions
from isomorph.core.errors import IsomorphError, UsageError
from isomorph.core.ranges import TARGETS

if TYPE_CHECKING:
    from isomorph.api.option_keywords import RuntimeKeywords
    from isomorph.api.options import Progress
    from isomorph.core.ranges import OverflowInput, Ranges
    from isomorph.core.trace import Array
    from isomorph.inputs.feeds import Sample
    from isomorph.inputs.input_space import Bounds
    from isomorph.sessions.model_handle import ModelHandle


def ranges(
    model: Any,  # noqa: ANN401
    *,
    ranges: Mapping[str, Sequence[float]] | None = None,
    data: str | Path | None = None,
    to: str | None = None,
    inputs: Any = None,  # noqa: ANN401
    dims: Mapping[str, int] | None = None,
    seed: int = 0,
    trust: bool = False,
    in_process: bool = False,
    options: RuntimeOptions | None = None,
    progress: Progress | None = None,
    **keywords: Unpack[RuntimeKeywords],
) -> Ranges:
    """The range of every tensor, for all inputs within ``ranges`` or those of the samples.

    ``ranges`` maps the name of an input to its least and largest number; the empty name stands for
    every other input of real numbers. ``to`` is the type that the tensors are to be stored in.
    """
    if to is not None and to not in TARGETS:
        raise UsageError(
            "BAD_OPTION", f"ranges knows no type {to!r}", why=f"it knows: {', '.join(TARGETS)}"
        )
    options = with_keywords(options or RuntimeOptions(), keywords)
    stated = {name: _pair(name, pair) for name, pair in (ranges or {}).items()}
    samples = sample_set(data, inputs, memory=options.limits.memory)
    with open_model(
        model,
        trust=trust,
        in_process=in_process,
        runtime=options,
        inputs=inputs,
        on_progress=progress,
    ) as (handle, given):
        drawn = [] if samples is None else [
            each.sample for each in samples.samples(handle.model.graph.inputs, dims or {})
        ]  # fmt: skip
        return model_ranges(
            handle,
            [*([given] if given is not None else []), *drawn],
            stated,
            dims or {},
            to=to,
            seed=seed,
            progress=progress,
        )


def model_ranges(
    handle: ModelHandle,
    samples: Sequence[Sample],
    stated: Mapping[str, Bounds],
    dims: Mapping[str, int],
    *,
    to: str | None,
    seed: int,
    progress: Progress | None = None,
) -> Ranges:
    """The ranges of an opened model; an overflow is confirmed by its usual run."""
    from isomorph.bounds.ranges import RangeAnalysis
    from isomorph.inputs.input_space import first_sample, input_space, measured_bounds

    graph = handle.model.graph
    feeds = [dict(each.feeds) for each in samples]
    measured = measured_bounds(feeds)
    first = feeds[0] if feeds else first_sample(graph, dims, seed)
    shapes = {name: value.shape for name, value in first.items()}
    # Samples of other sizes widen the ranges; the bounds are those of the first one's sizes.
    alike = [
        (each.feeds, each.origin)
        for each in samples
        if all(value.shape == shapes[name] for name, value in each.feeds.items())
    ]
    analysis = RangeAnalysis(
        handle=handle,
        space=input_space(graph, first, stated, measured),
        samples=alike or [(first, f"generated, seed {seed}")],
        target=to,
        seed=seed,
        on_progress=progress,
    )
    found = analysis.ranges()
    return replace(found, overflows=tuple(_confirmed(handle, each) for each in found.overflows))


def _confirmed(handle: ModelHandle, shown: OverflowInput) -> OverflowInput:
    """The overflow, with the largest number of the tensor in the usual run."""
    import numpy as np

    try:
        session = handle.run()
        if session.capabilities.fetch != "all":
            return shown
        value: Array = np.asarray(session.run(shown.inputs, [shown.tensor])[shown.tensor])
    except IsomorphError:
        return shown
    with np.errstate(invalid="ignore"):
        wide = value.astype(np.float64)
    extreme = wide.reshape(-1)[int(np.abs(wide).argmax())] if wide.size else np.nan
    return replace(shown, run_value=float(extreme))


def _pair(name: str, pair: Sequence[float]) -> Bounds:
    low, high = (float(pair[0]), float(pair[1])) if len(pair) == 2 else (1.0, 0.0)
    if not low <= high or low in {float("inf"), float("-inf")} or high == float("inf"):
        raise UsageError(
            "BAD_OPTION",
            f"the range of {name or 'all inputs'} is not LOW:HIGH",
            fix="--range x=-1:1",
        )
    return low, high
