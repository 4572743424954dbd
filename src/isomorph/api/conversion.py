"""The verbs that come before a check: convert with proof, and lint before converting."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isomorph.core.conversion import Conversion, Route
    from isomorph.core.lint import Lint
    from isomorph.inputs.data_sets import DataSet

Progress = Callable[[str, str], None]


def convert(
    source: Any,  # noqa: ANN401
    target: str | Path,
    *,
    to: str | None = None,
    quantize: str | None = None,
    data: str | Path | None = None,
    via: Sequence[str] = (),
    opset: int | None = None,
    repair: bool = False,
    keep: bool = False,
    inputs: Any = None,  # noqa: ANN401
    dims: Mapping[str, int] | None = None,
    sizes: Mapping[str, Sequence[int]] | None = None,
    seed: int = 0,
    trust: bool = False,
    memory: int | None = None,
    timeout: float | None = None,
    state: str | Path | None = None,
    progress: Progress | None = None,
) -> Conversion:
    """Take a model to another format or width, and prove every hop against the first model.

    The format is ``to``, or what the suffix of ``target`` says. Routes are tried until one is
    proven; ``via`` names formats or converters on the way. ``data`` calibrates int8 and is what
    the proof is made on. The model is written to ``target`` only if it is proven (or with
    ``keep``), and the report beside it either way.
    """
    from isomorph.api.environment import loader, options
    from isomorph.checking.options import CheckOptions
    from isomorph.conversion.convert import convert as stage_convert
    from isomorph.conversion.converter_worker import ConverterWorker
    from isomorph.conversion.deliver import conversion_request, refuse_target, write_report
    from isomorph.reporters.json import as_json

    samples = _samples(data, inputs, memory)
    stated = options(source, trust=trust, state=state)
    said = {"data": data, "inputs": inputs, "dims": dims, "sizes": sizes, "seed": seed}
    said |= {"state": state, "memory": memory, "timeout": timeout}
    request = conversion_request(
        target,
        to=to,
        width=quantize,
        via=via,
        opset=opset,
        repair=repair,
        keep=keep,
        options=stated,
        check_options=said,
    )
    refuse_target(request.output, source)
    check_options = CheckOptions(
        dims=dims or {},
        sizes=sizes,
        seed=seed,
        data=samples,
        trusted=(str(source),) if trust else (),
        on_progress=progress,
    )
    workshop = ConverterWorker(memory=memory, timeout=timeout)
    try:
        with loader(
            in_process=False,
            memory=memory,
            timeout=timeout,
            options=stated,
            inputs=inputs,
            on_progress=progress,
        ) as opener:
            place = opener.written(source, workshop.folder("live"))
            done = stage_convert(place, request, opener, workshop, check_options)
            if not isinstance(source, (str, Path)):
                # The file that stands for a live model is gone by now; nobody can repeat it.
                done = replace(done, repeat="")
            return write_report(done, request.output, as_json)
    finally:
        workshop.close()


def routes(
    source: str | Path,
    target: str | Path,
    *,
    to: str | None = None,
    quantize: str | None = None,
    via: Sequence[str] = (),
    trust: bool = False,
) -> list[Route]:
    """The ways from a model to a target, the best first; nothing is converted."""
    from isomorph.conversion.deliver import conversion_request
    from isomorph.conversion.plan import routes as planned
    from isomorph.store.format_detection import identify, source_kind

    request = conversion_request(target, to=to, width=quantize, via=via)
    factory = source_kind(str(source)) == "factory"
    framework = "pytorch" if factory else identify(Path(source))
    return planned(framework, request.target, request.width, request.via)


def lint(
    model: Any,  # noqa: ANN401
    *,
    to: str | None = None,
    quantize: str | None = None,
    ignore: Sequence[str] = (),
    inputs: Any = None,  # noqa: ANN401
    trust: bool = False,
    state: str | Path | None = None,
    progress: Progress | None = None,
) -> Lint:
    """What stands in the way of converting a model, seen without running it.

    ``to`` and ``quantize`` say what is to become of it; without them the model is looked at as
    what it is. ``ignore`` are codes or names of checks.
    """
    from isomorph.api.environment import loader, options
    from isomorph.conversion.converter_worker import ConverterWorker
    from isomorph.linting.lint import lint as stage

    workshop = ConverterWorker()
    try:
        with loader(
            in_process=False,
            options=options(model, trust=trust, state=state),
            inputs=inputs,
            on_progress=progress,
        ) as opener:
            place = opener.written(model, workshop.folder("live"))
            return stage(place, opener, workshop, to=to, width=quantize or "", ignore=ignore)
    finally:
        workshop.close()


def _samples(
    data: str | Path | None,
    inputs: Any,  # noqa: ANN401
    memory: int | None,
) -> DataSet | None:
    from isomorph.core.errors import UsageError
    from isomorph.inputs.data_sets import data_set

    if data is None:
        return None
    if inputs is not None:
        raise UsageError(
            "BAD_OPTION", "--inputs and --data are both given", fix="give one sample, or many"
        )
    return data_set(Path(data), memory=memory)
