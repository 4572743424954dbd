"""What every verb starts with: a host, a loader, opened models, and the configuration."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from isomorph.api.options import PairOptions, RuntimeOptions
from isomorph.core.cost import START, phase
from isomorph.core.digest import IN_ORDER, WEIGHTS
from isomorph.core.error_of import error_of
from isomorph.core.errors import RefusedError, UsageError

if TYPE_CHECKING:
    from isomorph.api.options import Progress
    from isomorph.checking.config import CheckConfig
    from isomorph.checking.loader import Loader
    from isomorph.inputs.data_sets import DataSet
    from isomorph.inputs.feeds import Sample
    from isomorph.sessions.host import Host
    from isomorph.sessions.model_handle import ModelHandle


def check_config(
    options: PairOptions,
    kind: type[PairOptions] = PairOptions,
    **stated: Any,  # noqa: ANN401
) -> CheckConfig:
    """The configuration of a check: the options with the names of its fields, and what is stated.

    Only the fields of ``kind`` are read: those of a check mean nothing to the other verbs.
    """
    from isomorph.checking.config import CheckConfig

    names = {each.name for each in fields(CheckConfig)} & {each.name for each in fields(kind)}
    taken = {name: getattr(options, name) for name in names}
    return CheckConfig(**{**taken, "layouts": options.axis_orders, **stated})


def sample_set(
    data: str | Path | None,
    inputs: object,
    *,
    memory: int | None,
    spare: bool = False,
) -> DataSet | None:
    """The samples of a folder or file; ``spare`` allows arrays that no input takes."""
    if data is None:
        return None
    if inputs is not None:
        raise error_of(UsageError, "BAD_OPTION.inputs_and_data")
    from isomorph.inputs.data_sets import data_set

    return data_set(Path(data), memory=memory, spare=spare)


def trusted_names(*sources: object, trust: bool) -> tuple[str, ...]:
    """The models that may run code, as the report names them."""
    return tuple(str(each) for each in sources if trust and each is not None)


@contextmanager
def open_loader(
    *sources: object,
    trust: bool = False,
    in_process: bool = False,
    runtime: RuntimeOptions | None = None,
    inputs: object = None,
    on_progress: Progress | None = None,
    handles: list[ModelHandle] | None = None,
) -> Iterator[Loader]:
    """A loader whose models live in worker processes, or in this one; all end with the context.

    ``sources`` are the models that it will load. ``handles`` collects them as they are loaded.
    """
    with phase(START):
        from isomorph.checking.loader import Loader
        from isomorph.sessions.host import Limits as HostLimits
        from isomorph.sessions.in_process import InProcessHost
        from isomorph.workers.worker_host import WorkerHost

    runtime = runtime or RuntimeOptions()
    options = load_options(*sources, trust=trust, state=runtime.state, ops=runtime.ops)
    phases = ("load_seconds", "open_seconds", "run_seconds")
    timeout = runtime.limits.timeout
    limits = HostLimits(
        memory_bytes=runtime.limits.memory,
        **dict.fromkeys(phases if timeout else (), timeout or 0.0),
    )
    host: Host = InProcessHost() if in_process else WorkerHost(limits)
    try:
        loader = Loader(
            host=host,
            runtime=runtime.name,
            settings=runtime.settings,
            options=options,
            inputs=inputs,
            on_progress=on_progress,
            handles=handles,
        )
        try:
            yield loader
        finally:
            loader.close()
    finally:
        host.close()


class LoaderKeywords(TypedDict, total=False):
    """The keywords of ``open_loader``."""

    trust: bool
    in_process: bool
    runtime: RuntimeOptions | None
    inputs: object
    on_progress: Progress | None


@contextmanager
def open_model(
    model: object, **stated: Unpack[LoaderKeywords]
) -> Iterator[tuple[ModelHandle, Sample | None]]:
    """One model and the given inputs; ``stated`` are keywords of ``open_loader``."""
    with open_loader(model, **stated) as loader:
        handle = loader.open("candidate", model)
        yield handle, loader.sample(handle.model.graph.inputs)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedPair:
    """Two models, the given inputs, and the configuration of a check of them."""

    reference: ModelHandle
    candidate: ModelHandle
    given: Sample | None
    config: CheckConfig


class PairArguments(TypedDict):
    """What the verbs of two models take beside the models."""

    inputs: object
    dims: Mapping[str, int] | None
    trust: bool
    in_process: bool
    progress: Progress | None


@contextmanager
def open_models(
    reference: object,
    candidate: object,
    options: PairOptions,
    *,
    seed: int = 0,
    budgets: Mapping[str, float] | None = None,
    runs: bool = True,
    **stated: Unpack[PairArguments],
) -> Iterator[OpenedPair]:
    """Both models, opened with these options; they end with the context.

    ``runs``: their runtimes are used, and not their oracles alone; then weights are also looked
    for in another order.
    """
    trust, progress = stated["trust"], stated["progress"]
    config = check_config(
        options,
        dims=stated["dims"] or {},
        budgets=budgets or {},
        seed=seed,
        trusted=trusted_names(reference, candidate, trust=trust),
        on_progress=progress,
    )
    with open_loader(
        reference,
        candidate,
        trust=trust,
        in_process=stated["in_process"],
        runtime=options.runtime,
        inputs=stated["inputs"],
        on_progress=progress,
    ) as loader:
        if not runs:
            loader.options[WEIGHTS] = IN_ORDER
        loader.warm(reference, candidate, runs=runs)
        # Workers start while this module is imported.
        from isomorph.checking.dispatch import open_pair

        left, right = open_pair(loader, reference, candidate, runs=runs)
        given = loader.sample(left.model.graph.inputs)
        yield OpenedPair(reference=left, candidate=right, given=given, config=config)


def load_options(
    *sources: object, trust: bool, state: str | Path | None, ops: Sequence[str] = ()
) -> dict[str, str]:
    """The loading options, under the names that frameworks read.

    ``sources`` are the models: a state is for those that a factory builds.
    ``ops`` are modules that define custom operators. Those that this process has registered are
    added: their code has run already.
    """
    options = {"trust": "yes"} if trust else {}
    if state is not None:
        _refuse_idle_state(sources)
        options["state"] = str(state)
    if ops and not trust:
        raise error_of(RefusedError, "OPS_NEED_TRUST.module", module=ops[0])
    custom = sys.modules.get("isomorph.kernels.custom")
    words = [*ops, *(custom.origins() if custom is not None else ())]
    if words:
        options["ops"] = os.pathsep.join(dict.fromkeys(words))
    return options


def _refuse_idle_state(sources: Sequence[object]) -> None:
    """Raise if ``--state`` is given and no model would load it."""
    from isomorph.store.format_detection import source_kind

    words = [each for each in sources if isinstance(each, (str, Path))]
    if not any(source_kind(str(word)) == "factory" for word in words):
        raise error_of(UsageError, "BAD_OPTION.state")
