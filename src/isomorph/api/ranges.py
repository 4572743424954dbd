"""``isomorph.ranges``: which numbers the tensors of a model can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from isomorph.api.environment import open_loader, sample_set
from isomorph.api.option_keywords import with_keywords
from isomorph.api.options import RuntimeOptions
from isomorph.core.error_of import error_of
from isomorph.core.errors import IsomorphError, UsageError
from isomorph.core.ranges import TARGETS

if TYPE_CHECKING:
    from isomorph.api.option_keywords import RuntimeKeywords
    from isomorph.api.options import Progress
    from isomorph.checking.loader import Loader
    from isomorph.core.ranges import OverflowInput, Ranges
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
    from isomorph.bounds.model_ranges import model_ranges

    if to is not None and to not in TARGETS:
        raise error_of(UsageError, "BAD_OPTION.range_type", dtype=to, known=", ".join(TARGETS))
    options = with_keywords(options or RuntimeOptions(), keywords)
    stated = stated_ranges(ranges)
    samples = sample_set(data, inputs, memory=options.limits.memory)
    with open_loader(
        model,
        trust=trust,
        in_process=in_process,
        runtime=options,
        inputs=inputs,
        on_progress=progress,
    ) as loader:
        handle = loader.open("candidate", model)
        given = loader.sample(handle.model.graph.inputs)
        drawn = [] if samples is None else [
            each.sample for each in samples.samples(handle.model.graph.inputs, dims or {})
        ]  # fmt: skip
        found = model_ranges(
            handle,
            [*([given] if given is not None else []), *drawn],
            stated,
            dims or {},
            to=to,
            seed=seed,
            progress=progress,
        )
        shown = tuple(_run_narrowly(loader, handle, each, to) for each in found.overflows)
        return replace(found, overflows=shown)


def _run_narrowly(
    loader: Loader, handle: ModelHandle, shown: OverflowInput, to: str | None
) -> OverflowInput:
    """The overflow with the tensor of a run in float16, where a converter makes such a model."""
    from isomorph.bounds.model_ranges import extreme_number
    from isomorph.conversion.converter_worker import ConverterWorker
    from isomorph.core.conversion import Order, Step

    source = handle.model.location
    if to != "float16" or handle.model.framework != "onnx" or not Path(source).is_file():
        return shown
    step = Step(converter="onnx_to_float16", source="onnx", target="onnx", width="float16")
    worker = ConverterWorker()
    try:
        made = worker.make(step, source, Order(source=source, target="", example=""), "narrow.onnx")
        if made.trouble is not None:
            return shown
        narrow = loader.open("candidate", str(made.path))
        fetch = shown.tensor if shown.node is not None else narrow.model.graph.outputs[0].name
        value = extreme_number(narrow.run().run(shown.inputs, [fetch])[fetch])
    except IsomorphError:
        return shown
    finally:
        worker.close()
    return replace(shown, narrow_value=value)


def stated_ranges(ranges: Mapping[str, Sequence[float]] | None) -> dict[str, tuple[float, float]]:
    """The ranges of inputs as pairs of finite numbers."""
    found = {}
    for name, pair in (ranges or {}).items():
        low, high = (float(pair[0]), float(pair[1])) if len(pair) == 2 else (math.nan, math.nan)
        if not (math.isfinite(low) and math.isfinite(high) and low <= high):
            key = "BAD_OPTION.range" if name else "BAD_OPTION.range_all"
            raise error_of(UsageError, key, name=name)
        found[name] = low, high
    return found
