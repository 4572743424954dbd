"""``isomorph.lint``: what stands in the way of a conversion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.api.environment import open_loader, sample_set
from isomorph.api.options import RuntimeOptions
from isomorph.api.ranges import stated_ranges
from isomorph.core.conversion import WIDTHS
from isomorph.core.ranges import TARGETS

if TYPE_CHECKING:
    from isomorph.api.options import Progress
    from isomorph.core.lint import Lint


def lint(
    model: Any,  # noqa: ANN401
    *,
    to: str | None = None,
    quantize: str | None = None,
    ignore: Sequence[str] = (),
    ranges: Mapping[str, Sequence[float]] | None = None,
    data: str | Path | None = None,
    inputs: Any = None,  # noqa: ANN401
    trust: bool = False,
    state: str | Path | None = None,
    progress: Progress | None = None,
) -> Lint:
    """What stands in the way of converting a model, seen without running it.

    ``to`` and ``quantize`` are the target; without them only the model itself is examined. A width
    may be given as ``to``. ``ignore`` are codes or names of rules to leave out. With ``ranges`` of
    inputs, or samples as ``data``, the tensors of a model that is to become float16 are bounded,
    for which the float64 oracle runs it.
    """
    from isomorph.conversion.converter_worker import ConverterWorker
    from isomorph.linting.lint import lint as lint_model

    if quantize is None and to in WIDTHS:
        to, quantize = None, to
    stated = stated_ranges(ranges)
    samples = sample_set(data, inputs, memory=None)
    worker = ConverterWorker()
    try:
        with open_loader(
            model,
            trust=trust,
            runtime=RuntimeOptions(state=state),
            inputs=inputs,
            on_progress=progress,
        ) as loader:
            place = loader.written(model, worker.folder("live"))
            found = None
            if quantize in TARGETS and (stated or samples is not None):
                from isomorph.bounds.model_ranges import model_ranges

                handle = loader.open("candidate", place)
                specs = handle.model.graph.inputs
                drawn = [] if samples is None else [e.sample for e in samples.samples(specs, {})]
                found = model_ranges(handle, drawn, stated, {}, to=quantize, seed=0)
            return lint_model(
                place, loader, worker, to=to, width=quantize or "", ignore=ignore, ranges=found
            )
    finally:
        worker.close()
