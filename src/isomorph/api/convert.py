"""``isomorph.convert``: take a model to another format, every step proven."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from isomorph.api.environment import load_options, open_loader, sample_set, trusted_names
from isomorph.api.option_keywords import with_keywords
from isomorph.api.options import ConvertOptions, RuntimeOptions
from isomorph.api.ranges import stated_ranges
from isomorph.core.budgets import stated_budgets

if TYPE_CHECKING:
    from isomorph.api.option_keywords import ConvertKeywords
    from isomorph.api.options import Progress
    from isomorph.core.conversion import Conversion, Route


def convert(
    source: Any,  # noqa: ANN401
    target: str | Path,
    *,
    to: str | None = None,
    quantize: str | None = None,
    precision: str | None = None,
    budget: Mapping[str, float] | float | None = None,
    data: str | Path | None = None,
    via: Sequence[str] = (),
    repair: bool = False,
    keep: bool = False,
    inputs: Any = None,  # noqa: ANN401
    dims: Mapping[str, int] | None = None,
    seed: int = 0,
    trust: bool = False,
    options: ConvertOptions | None = None,
    progress: Progress | None = None,
    **keywords: Unpack[ConvertKeywords],
) -> Conversion:
    """Take a model to another format or width, and prove every hop against the first model.

    The format is ``to``, or that of the suffix of ``target``. Routes are tried until one is
    proven; ``via`` names formats or converters on the way. ``data`` calibrates int8 and is what
    the proof is made on. ``precision`` keeps the fewest nodes in float32 with which the result is
    within the loss that its type explains, or within ``budget``. The model is written to
    ``target`` only if it is proven (or with ``keep``), and the report beside it either way.
    """
    from isomorph.checking.config import CheckConfig
    from isomorph.conversion.convert import convert as convert_by_routes
    from isomorph.conversion.converter_worker import ConverterWorker
    from isomorph.conversion.deliver import conversion_request, refuse_target, write_report
    from isomorph.reporters.json import as_json

    options = with_keywords(options or ConvertOptions(), keywords)
    limits, sizes, state = options.limits, options.sizes, options.state
    samples = sample_set(data, inputs, memory=limits.memory)
    recorded = {"data": data, "inputs": inputs, "dims": dims, "sizes": sizes, "seed": seed}
    recorded |= {"state": state, "memory": limits.memory, "timeout": limits.timeout}
    budgets = stated_budgets(budget)
    recorded |= {"budget": budgets, "translation_only": options.translation_only}
    request = conversion_request(
        target,
        to=to,
        width=quantize,
        precision=precision,
        via=via,
        opset=options.opset,
        ranges=stated_ranges(options.ranges),
        repair=repair,
        keep=keep,
        options=load_options(source, trust=trust, state=state),
        check_options=recorded,
    )
    refuse_target(request.output, source)
    config = CheckConfig(
        dims=dims or {},
        sizes=sizes,
        budgets=budgets,
        seed=seed,
        translation_only=options.translation_only,
        data=samples,
        trusted=trusted_names(source, trust=trust),
        on_progress=progress,
    )
    worker = ConverterWorker(memory=limits.memory, timeout=limits.timeout)
    try:
        with open_loader(
            source,
            trust=trust,
            runtime=RuntimeOptions(state=state, limits=limits),
            inputs=inputs,
            on_progress=progress,
        ) as loader:
            place = loader.written(source, worker.folder("live"))
            done = convert_by_routes(place, request, loader, worker, config)
            if not isinstance(source, (str, Path)):
                # The temporary file of a live model is gone by now: no command repeats this.
                done = replace(done, repeat="")
            return write_report(done, request.output, as_json)
    finally:
        worker.close()


def routes(
    source: str | Path,
    target: str | Path,
    *,
    to: str | None = None,
    quantize: str | None = None,
    precision: str | None = None,
    via: Sequence[str] = (),
    trust: bool = False,
) -> list[Route]:
    """The ways from a model to a target, the best first; nothing is converted."""
    from isomorph.conversion.deliver import conversion_request
    from isomorph.conversion.plan import keeping_nodes
    from isomorph.conversion.plan import routes as planned
    from isomorph.store.format_detection import identify, model_path, source_kind

    request = conversion_request(target, to=to, width=quantize, precision=precision, via=via)
    factory = source_kind(str(source)) == "factory"
    framework = "pytorch" if factory else identify(model_path(Path(source)))
    found = planned(framework, request.target, request.width, request.via)
    return keeping_nodes(found, request.width) if request.fewest_float32 else found
