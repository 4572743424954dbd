"""``isomorph.check``: are two models the same function?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.api.environment import load_options, open_loader
from isomorph.core.budgets import stated_budgets

if TYPE_CHECKING:
    from isomorph.api.environment import Progress
    from isomorph.core.report import Report
    from isomorph.inputs.data_sets import DataSet
    from isomorph.measure.user_metric import UserMetric


def check(
    reference: Any,  # noqa: ANN401
    candidate: Any = None,  # noqa: ANN401
    *,
    inputs: Any = None,  # noqa: ANN401
    data: str | Path | None = None,
    metric: str | Callable[..., float] | None = None,
    runtime: str | Mapping[str, str] | None = None,
    settings: Mapping[str, str] | None = None,
    dims: Mapping[str, int] | None = None,
    sizes: Mapping[str, Sequence[int]] | None = None,
    budget: Mapping[str, float] | float | None = None,
    seed: int = 0,
    strict: bool = False,
    only_given: bool = False,
    trust: bool = False,
    in_process: bool = False,
    memory: int | None = None,
    timeout: float | None = None,
    bind_inputs: Mapping[str, str] | None = None,
    bind_outputs: Mapping[str, str] | None = None,
    layouts: Mapping[str, Sequence[int]] | None = None,
    locate: bool = True,
    align: bool | None = None,
    quantization: bool | None = None,
    profile: bool | None = False,
    state: str | Path | None = None,
    ops: Sequence[str] = (),
    baseline: str | Path | None = None,
    pair: str | None = None,
    progress: Progress | None = None,
) -> Report:
    """Are these two models the same function?

    ``reference`` and ``candidate`` are paths, ``module:factory`` words or live models; the
    reference may be a file of recorded outputs. Without a candidate, the model is compared with
    its own float64 oracle. ``inputs`` is a file, or arrays by input name. ``dims`` binds dynamic
    axes; ``sizes`` are further sizes of them to try, by default a few for generated inputs.
    ``quantization`` True measures every quantized tensor, however many there are; False none.
    ``profile`` True keeps the error of every node, for the HTML page; None only where guilty nodes
    are searched anyway.

    ``only_given`` restricts the question to the given inputs: a weight that differs without
    effect on them is a finding, and does not change the verdict.

    ``data`` is a test set instead: a folder of files of arrays, or one file with a leading axis
    of samples. Each of them is judged, and those not clearly the same are examined. ``metric`` is
    a function of (outputs, sample), both arrays by name, or ``package.module:function``; it is
    averaged on both sides.

    ``baseline`` is a file of divergences that were examined and accepted (``isomorph accept``);
    ``pair`` is the name under which it knows these two, otherwise their locations.
    """
    from isomorph.checking.config import CheckConfig
    from isomorph.checking.interrupt import report_interrupted_load
    from isomorph.core.errors import UsageError
    from isomorph.store.baselines import read_baseline

    # Read first, so that a broken file fails before the check.
    accepted = None if baseline is None else read_baseline(Path(baseline))
    if only_given and inputs is None and data is None:
        raise UsageError(
            "NOTHING_GIVEN",
            "the question is restricted to the given inputs, and none are given",
            fix="give them with --inputs or --data, or leave out --only-given",
        )
    samples, measured = _test_set(data, metric, inputs, memory=memory, trust=trust)
    if samples is not None and not all(map(_is_file, (reference, candidate))):
        inputs = samples.files[0]  # live models are traced with the first sample
    check_options = CheckConfig(
        dims=dims or {},
        sizes=sizes,
        budgets=stated_budgets(budget),
        seed=seed,
        strict=strict,
        only_given=only_given,
        bind_inputs=bind_inputs or {},
        bind_outputs=bind_outputs or {},
        layouts={name: tuple(axes) for name, axes in (layouts or {}).items()},
        locate=locate,
        look_into_loss=locate,
        align=align,
        quantization=quantization,
        profile=profile,
        data=samples,
        metric=measured,
        trusted=tuple(str(each) for each in (reference, candidate) if trust and each is not None),
        on_progress=progress,
    )
    stated = load_options(reference, candidate, trust=trust, state=state, ops=ops)
    loaded: list[Any] = []
    with (
        report_interrupted_load(check_options, loaded),
        open_loader(
            in_process=in_process,
            memory=memory,
            timeout=timeout,
            runtime=runtime,
            settings=settings,
            options=stated,
            inputs=inputs,
            on_progress=progress,
            handles=loaded,
        ) as loader,
    ):
        if candidate is not None:
            loader.warm(reference, candidate)
        # Workers start while these modules are imported.
        from isomorph.checking.baseline import apply_baseline
        from isomorph.checking.dispatch import run_check

        report = run_check(loader, reference, candidate, check_options)
    return apply_baseline(report, baseline, accepted, pair)


def _test_set(
    data: str | Path | None,
    metric: str | Callable[..., float] | None,
    inputs: Any,  # noqa: ANN401
    *,
    memory: int | None,
    trust: bool,
) -> tuple[DataSet | None, UserMetric | None]:
    from isomorph.core.errors import UsageError
    from isomorph.inputs.data_sets import data_set
    from isomorph.measure.user_metric import user_metric

    if data is None:
        if metric is None:
            return None, None
        raise UsageError("BAD_OPTION", "a metric needs samples", fix="give them with --data")
    if inputs is not None:
        raise UsageError(
            "BAD_OPTION", "--inputs and --data are both given", fix="give one sample, or many"
        )
    measured = None if metric is None else user_metric(metric, trust=trust)
    # Arrays that no input takes are an error, unless a metric may use them, as labels.
    return data_set(Path(data), memory=memory, spare=measured is not None), measured


def _is_file(source: Any) -> bool:  # noqa: ANN401
    from isomorph.store.format_detection import source_kind

    return source is None or (
        isinstance(source, (str, Path)) and source_kind(str(source)) != "factory"
    )
