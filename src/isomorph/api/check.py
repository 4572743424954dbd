"""``isomorph.check``: are two models the same function?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from isomorph.api.environment import check_config, open_loader, sample_set, trusted_names
from isomorph.api.option_keywords import with_keywords
from isomorph.api.options import CheckOptions
from isomorph.api.repeat import check_request
from isomorph.core.budgets import stated_budgets
from isomorph.core.error_of import error_of
from isomorph.core.errors import UsageError

if TYPE_CHECKING:
    from isomorph.api.option_keywords import CheckKeywords
    from isomorph.api.options import Progress
    from isomorph.core.baseline import Accepted
    from isomorph.core.report import Report
    from isomorph.inputs.data_sets import DataSet
    from isomorph.measure.user_metric import UserMetric


def check(
    reference: Any,  # noqa: ANN401
    candidate: Any = None,  # noqa: ANN401
    *,
    inputs: Any = None,  # noqa: ANN401
    data: str | Path | None = None,
    dims: Mapping[str, int] | None = None,
    budget: Mapping[str, float] | float | None = None,
    seed: int = 0,
    trust: bool = False,
    in_process: bool = False,
    options: CheckOptions | None = None,
    progress: Progress | None = None,
    **keywords: Unpack[CheckKeywords],
) -> Report:
    """Are these two models the same function?

    >>> report = isomorph.check("network.onnx", "altered.onnx")
    >>> report.verdict
    <Verdict.DIVERGENT: 'divergent'>
    >>> finding = report.findings[0]
    >>> finding.node, finding.cause
    ('block3.first', 'weight')

    The arguments that are stated most often:

    - ``reference``: the model to trust; a path, ``module:factory``, or a live model. A file of
      recorded outputs can take its place.
    - ``candidate``: the model to check. Without it, the model is compared with its own float64
      oracle.
    - ``inputs``: a file, or arrays by input name. Without them, inputs are generated.
    - ``data``: a test set instead of inputs: a folder of files of arrays, or one file with a
      leading axis of samples. Each of them is judged, and those not clearly the same are examined.
    - ``dims``: sizes of dynamic axes by name.
    - ``budget``: an absolute budget instead of the derived one, for all outputs or by output.
    - ``seed``: of every random choice.
    - ``trust``: allow files and factories that run code when they are opened.
    - ``in_process``: no worker processes, for debugging only.
    - ``progress``: called with a phase and a detail.

    Everything else is a field of ``options``, a ``CheckOptions``, for several checks alike. For one
    call, any of its fields, and those of its runtime and limits, can be a keyword, which takes
    precedence:

    >>> options = isomorph.CheckOptions(quick=True)
    >>> isomorph.check("network.onnx", "faithful.onnx", options=options).verdict.value
    'equivalent'
    >>> isomorph.check("network.onnx", "faithful.onnx", quick=True, timeout=60).exit_code
    0
    """
    from isomorph.checking.interrupt import report_interrupted_load
    from isomorph.core.cost import START, metered, phase

    options = with_keywords(options or CheckOptions(), keywords)
    if options.quick:
        options = replace(options, locate=False, align=False, quantization=False, profile=False)
    # Read first, so that a broken file fails before the check.
    accepted = None if options.baseline is None else _read_baseline(Path(options.baseline))
    _refuse_without_decoder(options, candidate, data)
    if options.prove:
        _refuse_without_pair(options, candidate)
    samples, metric = _given_samples(data, inputs, options, trust=trust)
    example = inputs
    if samples is not None and not all(map(_is_file, (reference, candidate))):
        example = samples.files[0]  # live models are traced with the first sample
    budgets = stated_budgets(budget)
    config = check_config(
        options,
        CheckOptions,
        dims=dims or {},
        budgets=budgets,
        seed=seed,
        look_into_loss=options.locate,
        data=samples,
        metric=metric,
        trusted=trusted_names(reference, candidate, trust=trust),
        on_progress=progress,
    )
    loaded: list[Any] = []
    with (
        metered() as meter,
        report_interrupted_load(config, loaded),
        open_loader(
            reference,
            candidate,
            trust=trust,
            in_process=in_process,
            runtime=options.runtime,
            inputs=example,
            on_progress=progress,
            handles=loaded,
        ) as loader,
    ):
        if options.decode is not None:
            loader.take_caches_in()
        with phase(START):
            if candidate is not None:
                loader.warm(reference, candidate)
            # Workers start while these modules are imported.
            from isomorph.checking.baseline import apply_baseline
            from isomorph.checking.dispatch import run_check

        request = check_request(options, dims=dims or {}, budgets=budgets, inputs=inputs, data=data)
        if options.decode is None:
            report = run_check(loader, reference, candidate, config)
        else:
            from isomorph.decoding.check import check_decoding

            report = check_decoding(
                loader, reference, candidate, config, steps=options.decode, caches=options.caches
            )
    report = replace(report, request=request, cost=meter.cost())
    return apply_baseline(report, options.baseline, accepted, options.pair)


def _read_baseline(path: Path) -> tuple[Accepted, ...]:
    from isomorph.store.baselines import read_baseline

    return read_baseline(path)


def _given_samples(
    data: str | Path | None,
    inputs: Any,  # noqa: ANN401
    options: CheckOptions,
    *,
    trust: bool,
) -> tuple[DataSet | None, UserMetric | None]:
    """The test set and the metric over it, where these are given."""
    if options.only_given and inputs is None and data is None:
        raise error_of(UsageError, "NOTHING_GIVEN.only_given")
    if data is None and options.metric is not None:
        raise error_of(UsageError, "BAD_OPTION.metric")
    # Arrays that no input takes are an error, unless a metric may use them, as labels.
    memory, spare = options.runtime.limits.memory, options.metric is not None
    samples = sample_set(data, inputs, memory=memory, spare=spare)
    if options.metric is None:
        return samples, None
    from isomorph.measure.user_metric import user_metric

    return samples, user_metric(options.metric, trust=trust)


def _refuse_without_decoder(
    options: CheckOptions,
    candidate: Any,  # noqa: ANN401
    data: str | Path | None,
) -> None:
    """Raise a ``UsageError`` for options of decoding that nothing is decoded for."""
    if options.decode is None:
        if options.caches:
            raise error_of(UsageError, "BAD_OPTION.cache")
        return
    if options.decode < 1:
        raise error_of(UsageError, "BAD_OPTION.no_tokens", count=options.decode)
    if candidate is None:
        raise error_of(UsageError, "BAD_OPTION.decode_one")
    if data is not None:
        raise error_of(UsageError, "BAD_OPTION.decode_data")


def _refuse_without_pair(options: CheckOptions, candidate: object) -> None:
    """Raise a ``UsageError`` where there are no two graphs of one step to prove equal."""
    if candidate is None:
        raise error_of(UsageError, "BAD_OPTION.prove_one")
    if options.decode is not None:
        raise error_of(UsageError, "BAD_OPTION.prove_decode")


def _is_file(source: Any) -> bool:  # noqa: ANN401
    from isomorph.store.format_detection import source_kind

    return source is None or (
        isinstance(source, (str, Path)) and source_kind(str(source)) != "factory"
    )
