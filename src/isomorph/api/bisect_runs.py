"""Bisections over what runs a model: releases of a runtime's package, and its optimizers."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from isomorph.api.bisect_question import fields_of, new_name, trial_of
from isomorph.core.bisection import Bisection, PointKind, SearchOutcome, Trial, TrialStatus, alone
from isomorph.core.error_of import error_of
from isomorph.core.errors import UsageError
from isomorph.core.execution import InstalledFrom
from isomorph.core.protocols import ListsOptimizers
from isomorph.core.runtime_word import SEPARATOR, split_word

if TYPE_CHECKING:
    from isomorph.api.bisect_question import Judge, Question
    from isomorph.bisecting.environments import ReleaseEnvironments
    from isomorph.core.model import Model

OPTIMIZER_SETTING = "name_optimizers"
"""The setting under which a runtime lists the optimizers that ran."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Releases:
    """The releases to search, and where their environments and the reproducer go."""

    package: str
    versions: str
    python: str | None
    extra: Sequence[str]
    cache: Path | None
    reproducer: Path | None

    def environments(self, statement: str, beside: Sequence[str] = ()) -> ReleaseEnvironments:
        """Environments in which ``statement`` works, with these requirements besides."""
        from isomorph.bisecting.environments import ReleaseEnvironments

        return ReleaseEnvironments(
            self.package,
            exchange=statement,
            cache=self.folder,
            python=self.interpreter,
            extra=(*beside, *self.extra),
        )

    @property
    def folder(self) -> Path:
        """Where environments are kept."""
        from isomorph.bisecting.environments import default_cache

        return (self.cache or default_cache()).absolute()

    @property
    def interpreter(self) -> str:
        """The executable that environments are made with."""
        from isomorph.workers.interpreters import find_executable

        return sys.executable if self.python is None else find_executable(self.python)


def over_releases(question: Question, asked: Releases, side: str | None, judge: Judge) -> Bisection:
    """The first release of a runtime's package with another verdict."""
    from isomorph.bisecting.environments import ReleaseUnusableError, run_program
    from isomorph.bisecting.releases import chosen
    from isomorph.bisecting.search import first_change
    from isomorph.workers.interpreters import python_version

    runtime, statement = _runtime_of(asked.package)
    environments = asked.environments(statement)
    points = chosen(environments.releases(), asked.versions)
    models, samples = question.described()
    where = _side(models, runtime, side)

    def tried(version: str) -> Trial:
        try:
            made = environments.make(version)
        except ReleaseUnusableError as error:
            return Trial(point=version, status=TrialStatus.NOT_INSTALLED, reason=str(error))
        runtimes = {**question.runtimes(), where: f"{runtime}{SEPARATOR}{made.interpreter}"}
        trial = trial_of(lambda: question.check(runtimes, {}))
        return replace(trial, packages=made.packages, interpreter=made.interpreter)

    search = first_change(points, lambda each: judge(each, lambda: tried(each)))
    found = Bisection(
        over=PointKind.RELEASES, package=asked.package, side=where, reference="", candidate="",
        points=points, cache=str(asked.folder), **fields_of(search),
    )  # fmt: skip
    if found.outcome is not SearchOutcome.FOUND:
        return found
    from isomorph.bisecting.reproducer import Change, write_reproducer

    before, after = found.ends
    folder = asked.reproducer or new_name(f"{asked.package}-{found.after}")
    change = Change(
        package=asked.package, runtime=runtime, before=before, after=after, side=where,
        settings=question.settings_of(where), python=python_version(asked.interpreter),
        options=question.words(without=where),
    )  # fmt: skip
    write_reproducer(folder, change, models, samples.get(where, {}), run_program)
    return replace(found, reproducer=str(folder))


def over_optimizers(question: Question, side: str, judge: Judge) -> Bisection:
    """The first optimizer of a runtime without which the verdict is another one."""
    from isomorph.bisecting.optimizers import ALL_ON, settings_of_point, switched_off
    from isomorph.bisecting.search import first_change

    runtimes = question.runtimes()
    if side in runtimes:
        _require_optimizers(split_word(runtimes[side])[0])
    listed = question.check(runtimes, {f"{side}.{OPTIMIZER_SETTING}": "yes"})
    environment = listed.environments.get(f"{side} run")
    if environment is None:
        raise error_of(UsageError, "BAD_OPTION.not_run", side=side, reason=listed.reason)
    runtime = _require_optimizers(environment.runtime)
    switches = {each.name: each for each in runtime.optimizer_switches(environment.facts)}
    points = (ALL_ON, *switches)

    def tried(settings: Mapping[str, str]) -> Trial:
        return trial_of(lambda: question.check(runtimes, settings))

    search = first_change(
        points,
        lambda each: judge(each, lambda: tried(settings_of_point(side, each, switches))),
    )
    found = Bisection(
        over=PointKind.OPTIMIZERS, package=environment.runtime, side=side, reference="",
        candidate="", points=points, **fields_of(search),
    )  # fmt: skip
    if found.outcome is not SearchOutcome.FOUND:
        return found
    settings = switched_off(side, [found.after], switches)
    only = judge(alone(found.after), lambda: tried(settings))
    return replace(found, trials=(*found.trials, only))


def _require_optimizers(name: str) -> ListsOptimizers:
    """The runtime of this name, which lists its optimizers."""
    from isomorph import registry

    runtime = registry.runtime(name)
    if not isinstance(runtime, ListsOptimizers):
        raise error_of(UsageError, "BAD_OPTION.no_optimizers", runtime=name)
    return runtime


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


def _side(models: Mapping[str, Model], runtime: str, stated: str | None) -> str:
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
