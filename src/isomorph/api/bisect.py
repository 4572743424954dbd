"""``isomorph.bisect``: the release of a package, or the optimizer, that changed a verdict."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from isomorph.api.environment import open_loader
from isomorph.api.option_keywords import with_keywords
from isomorph.api.options import PairOptions, RuntimeOptions
from isomorph.core.bisection import Bisection, Over, SearchOutcome, Trial, TrialStatus
from isomorph.core.error_of import error_of
from isomorph.core.errors import RuntimeFailedError, UnreadableModelError, UsageError
from isomorph.core.execution import InstalledFrom
from isomorph.core.protocols import ListsOptimizers
from isomorph.core.runtime_word import SEPARATOR, split_word
from isomorph.version import VERSION

if TYPE_CHECKING:
    from isomorph.api.option_keywords import PairKeywords
    from isomorph.api.options import Progress
    from isomorph.bisecting.search import Search
    from isomorph.core.model import Model
    from isomorph.core.report import Report
    from isomorph.core.trace import Array

OPTIMIZER_SETTING = "name_optimizers"
"""The setting under which a runtime lists the optimizers that ran."""


def bisect(
    reference: str | Path,
    candidate: str | Path | None = None,
    *,
    package: str = "",
    versions: str = "..",
    over: Over | str = Over.RELEASES,
    side: str | None = None,
    python: str | None = None,
    extra: Sequence[str] = (),
    cache: str | Path | None = None,
    reproducer: str | Path | None = None,
    inputs: str | Path | None = None,
    dims: Mapping[str, int] | None = None,
    seed: int = 0,
    trust: bool = False,
    options: PairOptions | None = None,
    progress: Progress | None = None,
    on_trial: Callable[[Trial], None] | None = None,
    **keywords: Unpack[PairKeywords],
) -> Bisection:
    """Find the first release of ``package`` under which a check has another verdict.

    ``versions`` is a range as in ``1.17..1.31``. One model is checked against its own oracle, two
    against each other; ``side`` is the one that runs in the release, the candidate if it can.
    Environments are made in ``cache`` (a folder of the user's cache) with ``python`` and with
    ``extra`` requirements. ``reproducer`` is a folder that will show the change without isomorph.

    With ``over="optimizers"`` the points are the optimizers that run on the model in one release,
    switched off one after the other. The others are options of ``isomorph.check``.
    """
    stated = with_keywords(options or PairOptions(), keywords)
    started = time.monotonic()
    question = _Question(
        sources=(reference, candidate), options=stated, inputs=inputs, dims=dims or {},
        seed=seed, trust=trust, progress=progress,
    )  # fmt: skip
    judge = _judging(on_trial)
    if Over(over) is Over.OPTIMIZERS:
        found = _over_optimizers(question, side or "candidate", judge)
    else:
        releases = _Releases(
            package=package, versions=versions, python=python, extra=extra,
            cache=None if cache is None else Path(cache),
            reproducer=None if reproducer is None else Path(reproducer),
        )  # fmt: skip
        found = _over_releases(question, releases, side, judge)
    return replace(
        found,
        reference=str(reference),
        candidate="" if candidate is None else str(candidate),
        seconds=time.monotonic() - started,
        version=VERSION,
    )


Judge = Callable[[str, Callable[[], Trial]], Trial]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """The check that is made at every point."""

    sources: tuple[str | Path, str | Path | None]
    options: PairOptions
    inputs: str | Path | None
    dims: Mapping[str, int]
    seed: int
    trust: bool
    progress: Progress | None

    @property
    def roles(self) -> dict[str, str | Path]:
        """The models by side; one alone is the candidate of its oracle."""
        reference, candidate = self.sources
        if candidate is None:
            return {"candidate": reference}
        return {"reference": reference, "candidate": candidate}

    def check(self, runtime: Mapping[str, str], settings: Mapping[str, str]) -> Report:
        """The check with these runtimes by side and these settings besides."""
        from isomorph import api

        own = self.options.runtime
        asked = replace(own, name=dict(runtime), settings={**own.settings, **settings})
        return api.check(
            *self.sources,
            inputs=self.inputs,
            dims=self.dims,
            seed=self.seed,
            trust=self.trust,
            progress=self.progress,
            options=_check_options(self.options, asked),
        )

    def runtimes(self) -> dict[str, str]:
        """The runtimes that the user named, by side."""
        name = self.options.runtime.name
        if name is None or isinstance(name, Mapping):
            return dict(name or {})
        return dict.fromkeys(self.roles, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Releases:
    """The releases to search, and where their environments and the reproducer go."""

    package: str
    versions: str
    python: str | None
    extra: Sequence[str]
    cache: Path | None
    reproducer: Path | None


def _check_options(options: PairOptions, runtime: RuntimeOptions) -> Any:  # noqa: ANN401
    """Those of a check that ends with its verdict: faults are not searched for."""
    from isomorph.api.options import CheckOptions

    return CheckOptions(
        bind_inputs=options.bind_inputs,
        bind_outputs=options.bind_outputs,
        layouts=options.layouts,
        translation_only=options.translation_only,
        runtime=runtime,
        locate=False,
        align=False,
        quantization=False,
    )


def _judging(on_trial: Callable[[Trial], None] | None) -> Judge:
    def judge(point: str, make: Callable[[], Trial]) -> Trial:
        began = time.monotonic()
        trial = replace(make(), point=point, seconds=time.monotonic() - began)
        if on_trial is not None:
            on_trial(trial)
        return trial

    return judge


def _over_releases(
    question: _Question, asked: _Releases, side: str | None, judge: Judge
) -> Bisection:
    from isomorph.bisecting.environments import (
        NotInstallable,
        ReleaseEnvironments,
        default_cache,
        run_program,
    )
    from isomorph.bisecting.releases import chosen
    from isomorph.bisecting.search import first_change
    from isomorph.workers.interpreters import find_executable, python_version

    runtime, exchange = _runtime_of(asked.package)
    python = sys.executable if asked.python is None else find_executable(asked.python)
    cache = (asked.cache or default_cache()).absolute()
    environments = ReleaseEnvironments(
        asked.package, exchange=exchange, cache=cache, python=python, extra=asked.extra
    )
    points = chosen(environments.releases(), asked.versions)
    models, samples = _described(question)
    where = _side(question, models, runtime, side)

    def tried(version: str) -> Trial:
        try:
            made = environments.make(version)
        except NotInstallable as error:
            return Trial(point=version, status=TrialStatus.NOT_INSTALLED, reason=str(error))
        runtimes = {**question.runtimes(), where: f"{runtime}{SEPARATOR}{made.interpreter}"}
        trial = _trial(version, lambda: question.check(runtimes, {}))
        return replace(trial, packages=made.packages, interpreter=made.interpreter)

    search = first_change(points, lambda each: judge(each, lambda: tried(each)))
    found = Bisection(
        over=Over.RELEASES, package=asked.package, side=where, reference="", candidate="",
        points=points, cache=str(cache), **_found(search),
    )  # fmt: skip
    if found.outcome is not SearchOutcome.FOUND:
        return found
    from isomorph.bisecting.reproducer import Change, write_reproducer

    before, after = found.trial(found.before), found.trial(found.after)
    assert before is not None
    assert after is not None
    folder = asked.reproducer or _new_name(f"{asked.package}-{found.after}")
    change = Change(
        package=asked.package, runtime=runtime, before=before, after=after, side=where,
        settings=_settings_of(question, where), python=python_version(python),
        options=_words(question, where),
    )  # fmt: skip
    write_reproducer(folder, change, models, samples.get(where, {}), run_program)
    return replace(found, reproducer=str(folder))


def _over_optimizers(question: _Question, side: str, judge: Judge) -> Bisection:
    from isomorph import registry
    from isomorph.bisecting.optimizers import ALL_ON, settings_of_point, switched_off
    from isomorph.bisecting.search import first_change

    runtimes = question.runtimes()
    listed = question.check(runtimes, {f"{side}.{OPTIMIZER_SETTING}": "yes"})
    environment = listed.environments.get(f"{side} run")
    if environment is None:
        raise error_of(UsageError, "BAD_OPTION.not_run", side=side, reason=listed.reason)
    runtime = registry.runtime(environment.runtime)
    if not isinstance(runtime, ListsOptimizers):
        raise error_of(UsageError, "BAD_OPTION.no_optimizers", runtime=environment.runtime)
    switches = {each.name: each for each in runtime.optimizer_switches(environment.facts)}
    points = (ALL_ON, *switches)

    def tried(point: str) -> Trial:
        settings = settings_of_point(side, point, switches)
        return _trial(point, lambda: question.check(runtimes, settings))

    search = first_change(points, lambda each: judge(each, lambda: tried(each)))
    found = Bisection(
        over=Over.OPTIMIZERS, package=environment.runtime, side=side, reference="", candidate="",
        points=points, **_found(search),
    )  # fmt: skip
    if found.outcome is not SearchOutcome.FOUND:
        return found
    settings = switched_off(side, [found.after], switches)
    alone = judge(
        f"{found.after} alone", lambda: _trial("", lambda: question.check(runtimes, settings))
    )
    return replace(found, trials=(*found.trials, alone))


def _found(search: Search) -> dict[str, Any]:
    return {
        "trials": search.trials,
        "outcome": search.outcome,
        "before": search.before,
        "after": search.after,
        "without_verdict": search.without_verdict,
    }


def _trial(point: str, check: Callable[[], Report]) -> Trial:
    """The verdict of a check; an error about the model or its runtime is ``unknown``."""
    from isomorph.core.divergence import Verdict

    try:
        report = check()
    except (RuntimeFailedError, UnreadableModelError) as error:
        return Trial(
            point=point,
            status=TrialStatus.JUDGED,
            verdict=str(Verdict.UNKNOWN),
            headline=f"UNKNOWN: {error.code}",
            reason=" ".join(filter(None, (error.sentence, error.why))),
        )
    return Trial(
        point=point,
        status=TrialStatus.JUDGED,
        verdict=str(report.verdict),
        headline=report.headline,
        reason=report.reason,
    )


def _runtime_of(package: str) -> tuple[str, str]:
    """The runtime whose package it is, and a statement that shows that it works."""
    from isomorph import registry

    known: dict[str, tuple[str, str]] = {}
    for name in registry.names("runtimes"):
        runtime = registry.runtime(name)
        if isinstance(runtime, InstalledFrom):
            known |= {each: (name, statement) for each, statement in runtime.packages.items()}
    if package not in known:
        raise error_of(
            UsageError,
            "BAD_OPTION.package" if package else "BAD_OPTION.no_package",
            package=package,
            known=", ".join(sorted(known)),
        )
    return known[package]


def _described(
    question: _Question,
) -> tuple[dict[str, Model], dict[str, dict[str, Mapping[str, Array]]]]:
    """The models by side, and the inputs of each: the given ones, or those that are generated."""
    from isomorph.inputs.generate import SAMPLES, generate

    with open_loader(
        *question.sources, trust=question.trust, inputs=question.inputs,
        runtime=replace(question.options.runtime, name=None), on_progress=question.progress,
    ) as loader:  # fmt: skip
        models = {role: loader.load(source) for role, source in question.roles.items()}
        samples: dict[str, dict[str, Mapping[str, Array]]] = {}
        for role, model in models.items():
            if question.inputs is not None:
                given = loader.sample(model.graph.inputs)
                samples[role] = {} if given is None else {"given": given.feeds}
            else:
                samples[role] = {
                    word: generate(model.graph, question.dims, sample=word, seed=question.seed)
                    for word in SAMPLES
                }
    return models, samples


def _side(
    question: _Question, models: Mapping[str, Model], runtime: str, stated: str | None
) -> str:
    """The side that runs in the releases: the one that is stated, else the last that can."""
    from isomorph import registry

    able = [side for side, model in models.items() if registry.runtime(runtime).accepts(model)]
    if stated is None and able:
        return able[-1]
    if stated in able:
        return str(stated)
    if able:
        raise error_of(UsageError, "WRONG_RUNTIME.side", runtime=runtime, side=able[0])
    raise error_of(UsageError, "WRONG_RUNTIME.neither", runtime=runtime)


def _settings_of(question: _Question, side: str) -> dict[str, str]:
    found = {}
    for key, value in question.options.runtime.settings.items():
        owner, _, own = key.rpartition(".")
        if owner in ("", side):
            found[own] = value
    return found


def _words(question: _Question, side: str) -> list[str]:
    """The options of the command line that repeat the check, but for the runtime of this side."""
    words = [f"--seed={question.seed}"] if question.seed else []
    words += [f"--dim={axis}={size}" for axis, size in question.dims.items()]
    words += [f"--set={key}={value}" for key, value in question.options.runtime.settings.items()]
    if question.inputs is not None:
        words.append("--inputs=inputs-given.npz")
    runtimes = {role: split_word(word)[0] for role, word in question.runtimes().items()}
    words += [f"--runtime={role}={name}" for role, name in runtimes.items() if role != side]
    return words


def _new_name(stem: str) -> Path:
    """A folder of this name in the current one that does not exist yet."""
    place, number = Path(stem), 2
    while place.exists():
        place, number = Path(f"{stem}-{number}"), number + 1
    return place
