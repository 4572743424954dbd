"""One function per verb. Paths and live objects go in, a report or a trace comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.api.environment import loader as _loader
from isomorph.api.environment import options as _options
from isomorph.core.budgets import stated_budgets

if TYPE_CHECKING:
    from isomorph.core.baseline import Accepted
    from isomorph.core.explanation import Explanation
    from isomorph.core.model import Model
    from isomorph.core.model_diff import ModelDiff
    from isomorph.core.patch import Repair
    from isomorph.core.report import Report
    from isomorph.core.trace import Trace
    from isomorph.inputs.data_sets import DataSet
    from isomorph.measure.user_metric import UserMetric

Progress = Callable[[str, str], None]


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
    from isomorph.checking.interrupt import report_interrupted_load
    from isomorph.checking.options import CheckOptions
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
    check_options = CheckOptions(
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
    stated = _options(reference, candidate, trust=trust, state=state, ops=ops)
    loaded: list[Any] = []
    with (
        report_interrupted_load(check_options, loaded),
        _loader(
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


def accept(
    report: str | Path,
    *,
    why: str,
    who: str | None = None,
    until: str | None = None,
    pair: str | None = None,
    baseline: str | Path,
) -> tuple[Accepted, ...]:
    """Record an examined divergence in a baseline file; returns the entries written."""
    from isomorph.checking.accept import accept_report

    return accept_report(Path(report), Path(baseline), why=why, who=who, until=until, pair=pair)


def fix(
    reference: Any,  # noqa: ANN401
    candidate: Any,  # noqa: ANN401
    *,
    output: str | Path | None = None,
    inputs: Any = None,  # noqa: ANN401
    runtime: str | Mapping[str, str] | None = None,
    settings: Mapping[str, str] | None = None,
    dims: Mapping[str, int] | None = None,
    budget: Mapping[str, float] | float | None = None,
    seed: int = 0,
    trust: bool = False,
    in_process: bool = False,
    memory: int | None = None,
    timeout: float | None = None,
    bind_inputs: Mapping[str, str] | None = None,
    bind_outputs: Mapping[str, str] | None = None,
    layouts: Mapping[str, Sequence[int]] | None = None,
    state: str | Path | None = None,
    ops: Sequence[str] = (),
    keep_float: int | str | None = None,
    progress: Progress | None = None,
) -> Repair:
    """Repair a candidate that is not the reference's function, and prove it by measuring.

    Patches touch the guilty nodes alone. A copy is written to ``output``, and only if it is
    verified on the given inputs and on fresh ones; the candidate itself is never written to.
    ``keep_float`` keeps the worst nodes of a quantized candidate in float instead: so many, or
    "auto" for as few as make it good.
    """
    from isomorph.checking.dispatch import open_pair
    from isomorph.checking.options import CheckOptions
    from isomorph.repair.deliver import write_float_repair, write_repair

    check_options = CheckOptions(
        dims=dims or {},
        budgets=stated_budgets(budget),
        seed=seed,
        bind_inputs=bind_inputs or {},
        bind_outputs=bind_outputs or {},
        layouts={name: tuple(axes) for name, axes in (layouts or {}).items()},
        trusted=tuple(str(each) for each in (reference, candidate) if trust),
        on_progress=progress,
    )
    with _loader(
        in_process=in_process,
        memory=memory,
        timeout=timeout,
        runtime=runtime,
        settings=settings,
        options=_options(reference, candidate, trust=trust, state=state, ops=ops),
        inputs=inputs,
        on_progress=progress,
    ) as loader:
        loader.warm(reference, candidate)
        left, right = open_pair(loader, reference, candidate)
        given = loader.sample(left.model.graph.inputs)
        path = Path(output) if output is not None else None
        if keep_float is None:
            return write_repair(left, right, given, check_options, path)
        count = None if keep_float == "auto" else int(keep_float)
        return write_float_repair(left, right, given, check_options, output=path, count=count)


def run(
    model: Any,  # noqa: ANN401
    *,
    inputs: Any = None,  # noqa: ANN401
    runtime: str | None = None,
    settings: Mapping[str, str] | None = None,
    dims: Mapping[str, int] | None = None,
    seed: int = 0,
    fetch: Sequence[str] = (),
    everything: bool = False,
    trust: bool = False,
    in_process: bool = False,
    memory: int | None = None,
    timeout: float | None = None,
    state: str | Path | None = None,
    ops: Sequence[str] = (),
    progress: Progress | None = None,
) -> Trace:
    """The outputs of a model, the tensors named in ``fetch``, or every tensor of its graph."""
    from isomorph.checking.loader import trace

    with _loader(
        in_process=in_process,
        memory=memory,
        timeout=timeout,
        runtime=runtime,
        settings=settings,
        options=_options(model, trust=trust, state=state, ops=ops),
        inputs=inputs,
        on_progress=progress,
    ) as loader:
        handle = loader.open("candidate", model)
        given = loader.sample(handle.model.graph.inputs)
        return trace(
            handle,
            given,
            dims or {},
            seed=seed,
            fetch=fetch,
            everything=everything,
            on_progress=progress,
        )


def inspect(
    model: Any,  # noqa: ANN401
    *,
    trust: bool = False,
    in_process: bool = False,
    state: str | Path | None = None,
) -> Model:
    """What a model is: its graph, constants, quantization and where its nodes came from."""
    stated = _options(model, trust=trust, state=state)
    with _loader(in_process=in_process, options=stated) as loader:
        return loader.load(model)


def contrast(
    reference: Any,  # noqa: ANN401
    candidate: Any,  # noqa: ANN401
    *,
    trust: bool = False,
    in_process: bool = False,
    state: str | Path | None = None,
) -> ModelDiff:
    """What two models declare, next to each other: signatures, opsets, quantization."""
    from isomorph.match.signature_diff import diff_signatures as stage

    stated = _options(reference, candidate, trust=trust, state=state)
    with _loader(in_process=in_process, options=stated) as loader:
        return stage(loader.open("reference", reference), loader.open("candidate", candidate))


def explain(word: str | None = None) -> tuple[Explanation, ...]:
    """What a cause or a code of a report means; every one of them without a word."""
    from isomorph.diagnose import explain as stage

    return stage.words() if word is None else (stage.explain(word),)


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
