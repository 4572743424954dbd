"""Bisections over what converts a model: releases of a package, operator sets, and passes.

The model is converted anew at every point, and the result is checked against it here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph import registry
from isomorph.api.bisect_question import Question, fields_of, new_name, trial_of, unknown
from isomorph.api.environment import load_options, open_loader
from isomorph.core.bisection import Bisection, PointKind, SearchOutcome, Trial, TrialStatus, alone
from isomorph.core.conversion import AS_IS
from isomorph.core.converter_abilities import OPSET, HasPasses, RunsInReleases, TakesOpset
from isomorph.core.error_of import error_of
from isomorph.core.errors import UsageError
from isomorph.core.escaping import printable
from isomorph.core.protocols import ProvenByRuntime

if TYPE_CHECKING:
    from isomorph.api.bisect_question import Judge
    from isomorph.api.bisect_runs import Releases
    from isomorph.conversion.converter_worker import Attempt, ConverterWorker
    from isomorph.conversion.plain_route import PlainRoute
    from isomorph.core.model import Model
    from isomorph.core.protocols import Converter
    from isomorph.core.trace import Array

SIDE = "candidate"
"""What is converted stands in the place of the candidate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What to convert to, and how; a format, or a file name whose suffix names it."""

    word: str
    width: str = AS_IS
    via: tuple[str, ...] = ()
    opset: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Conversions:
    """The reference, and the route on which one step is repeated."""

    question: Question
    route: PlainRoute
    worker: ConverterWorker
    model: Model
    samples: Mapping[str, Mapping[str, Array]]
    options: Mapping[str, str]

    @property
    def converter(self) -> Converter:
        """That of the step."""
        return registry.converter(self.route.route.steps[self.route.at].converter)

    def trial(self, interpreter: str = "", options: Mapping[str, str] | None = None) -> Trial:
        """The verdict of what comes out; a conversion that fails is ``unknown``."""
        return self.judged(self.route.made(interpreter=interpreter, options=options))

    def judged(self, attempt: Attempt) -> Trial:
        """The verdict of an attempt."""
        if attempt.trouble is not None:
            trouble = attempt.trouble
            return unknown(trouble.code, trouble.sentence, trouble.why)
        asked = replace(self.question, sources=(self.question.sources[0], str(attempt.path)))
        runtimes, settings = self.question.runtimes(), dict[str, str]()
        last = registry.converter(self.route.route.steps[-1].converter)
        if isinstance(last, ProvenByRuntime):
            name, stated = last.proven_as
            runtimes = {SIDE: name, **runtimes}
            settings = {f"{SIDE}.{key}": value for key, value in stated.items()}
        return trial_of(lambda: asked.check(runtimes, settings))


def releases_of_conversions(
    question: Question, asked: Releases, target: Target, judge: Judge
) -> Bisection:
    """The first release of a converter's package whose result has another verdict."""
    from isomorph.bisecting.environments import ReleaseUnusableError, run_program
    from isomorph.bisecting.releases import chosen
    from isomorph.bisecting.search import first_change
    from isomorph.workers.interpreters import python_version

    with _conversions(question, target, _releases_known(asked.package)) as conversions:
        converter = conversions.converter
        assert isinstance(converter, RunsInReleases)
        needs = converter.releases[asked.package]
        environments = asked.environments(needs.statement, needs.beside)
        points = chosen(environments.releases(), asked.versions)
        made: dict[str, Attempt] = {}

        def tried(version: str) -> Trial:
            try:
                place = environments.make(version)
            except ReleaseUnusableError as error:
                return Trial(point=version, status=TrialStatus.NOT_INSTALLED, reason=str(error))
            made[version] = conversions.route.made(interpreter=place.interpreter)
            trial = conversions.judged(made[version])
            return replace(trial, packages=place.packages, interpreter=place.interpreter)

        search = first_change(points, lambda each: judge(each, lambda: tried(each)))
        found = Bisection(
            over=PointKind.RELEASES, package=asked.package, side=SIDE, reference="", candidate="",
            points=points, cache=str(asked.folder), converter=converter.name, **fields_of(search),
        )  # fmt: skip
        if found.outcome is not SearchOutcome.FOUND:
            return found
        from isomorph.bisecting.conversion_reproducer import (
            ConversionChange,
            Converted,
            write_conversions,
        )

        before, after = (Converted(trial=each, attempt=made[each.point]) for each in found.ends)
        change = ConversionChange(
            package=asked.package, python=python_version(asked.interpreter),
            route=conversions.route.route, at=conversions.route.at, options=conversions.options,
            words=question.words(without=SIDE), before=before, after=after,
        )  # fmt: skip
        folder = asked.reproducer or new_name(f"{asked.package}-{found.after}")
        write_conversions(folder, change, conversions.model, conversions.samples, run_program)
        return replace(found, reproducer=str(folder))


def over_opsets(question: Question, versions: str, target: Target, judge: Judge) -> Bisection:
    """The first operator set in which the result has another verdict."""
    from isomorph.bisecting.opsets import chosen_opsets
    from isomorph.bisecting.search import first_change

    points = chosen_opsets(versions)
    with _conversions(question, target, _takes_opset, "takes an operator set") as made:
        search = first_change(
            points, lambda each: judge(each, lambda: made.trial(options={OPSET: each}))
        )
        return _searched(PointKind.OPSETS, made, points, fields_of(search))


def over_passes(question: Question, asked: Releases, target: Target, judge: Judge) -> Bisection:
    """The first pass of a converter without which the result has another verdict.

    The passes are those of the release that ``asked`` names, or of the one installed here.
    """
    from isomorph.bisecting.optimizers import ALL_ON
    from isomorph.bisecting.passes import leaving_out, options_of_point
    from isomorph.bisecting.search import first_change

    able = _releases_known(asked.package) if asked.package else _anything
    with _conversions(
        question, target, lambda each: isinstance(each, HasPasses) and able(each),
        "has passes that can be left out",
    ) as made:  # fmt: skip
        interpreter = _one_release(made.converter, asked) if asked.package else ""
        names = made.worker.passes(made.converter.name, interpreter=interpreter)
        points = (ALL_ON, *names)

        def tried(options: Mapping[str, str]) -> Trial:
            return made.trial(interpreter, options)

        search = first_change(
            points, lambda each: judge(each, lambda: tried(options_of_point(each, names)))
        )
        found = _searched(PointKind.PASSES, made, points, fields_of(search))
        if found.outcome is not SearchOutcome.FOUND:
            return found
        only = judge(alone(found.after), lambda: tried(leaving_out([found.after])))
        return replace(found, trials=(*found.trials, only))


def _searched(
    over: PointKind, made: _Conversions, points: tuple[str, ...], fields: dict[str, Any]
) -> Bisection:
    name = made.converter.name
    return Bisection(
        over=over, package=name, side=SIDE, reference="", candidate="", points=points,
        converter=name, **fields,
    )  # fmt: skip


def _one_release(converter: Converter, asked: Releases) -> str:
    """The interpreter of the one release that is named."""
    from isomorph.bisecting.environments import ReleaseUnusableError
    from isomorph.bisecting.releases import order

    if order(asked.versions) is None:
        raise error_of(
            UsageError, "BAD_OPTION.one_release", versions=asked.versions, package=asked.package
        )
    assert isinstance(converter, RunsInReleases)
    needs = converter.releases[asked.package]
    try:
        made = asked.environments(needs.statement, needs.beside).make(asked.versions)
    except ReleaseUnusableError as error:
        raise error_of(
            UsageError, "BAD_OPTION.release",
            package=asked.package, release=asked.versions, reason=error,
        ) from error  # fmt: skip
    return made.interpreter


def _releases_known(package: str) -> Callable[[Converter], bool]:
    """Whether a converter runs with releases of this package; an error where none does."""
    known = [registry.converter(name) for name in registry.names("converters")]
    packages = {
        name for each in known if isinstance(each, RunsInReleases) for name in each.releases
    }
    if package not in packages:
        raise error_of(
            UsageError,
            "BAD_OPTION.converter_package" if package else "BAD_OPTION.no_converter_package",
            package=package,
            known=", ".join(sorted(packages)),
        )
    return lambda each: isinstance(each, RunsInReleases) and package in each.releases


def _takes_opset(converter: Converter) -> bool:
    return isinstance(converter, TakesOpset)


def _anything(_: Converter) -> bool:
    return True


@contextmanager
def _conversions(
    question: Question, target: Target, able: Callable[[Converter], bool], ability: str = ""
) -> Iterator[_Conversions]:
    """The reference, loaded, and the route through a converter that is able to do this."""
    from isomorph.conversion.converter_samples import SampleSource
    from isomorph.conversion.converter_worker import ConverterWorker
    from isomorph.conversion.orders import CALIBRATED
    from isomorph.conversion.plain_route import PlainRoute, route_through

    if target.width in CALIBRATED:
        raise error_of(UsageError, "SAMPLES_NEEDED.bisect", width=target.width)
    source, stated = question.sources[0], question.options.runtime
    loading = load_options(source, trust=question.trust, state=stated.state, ops=stated.ops)
    options = {**loading, "home": str(Path.cwd())}
    if target.opset is not None:
        options[OPSET] = str(target.opset)
    worker = ConverterWorker(memory=stated.limits.memory, timeout=stated.limits.timeout)
    try:
        with open_loader(
            source, trust=question.trust, inputs=question.inputs,
            runtime=replace(stated, name=None, settings={}), on_progress=question.progress,
        ) as loader:  # fmt: skip
            place = loader.written(source, worker.folder("live"))
            model = loader.load(place)
            word = _format_of(target.word)
            found = route_through(model.framework, word, target.width, target.via, able)
            if found is None:
                raise error_of(
                    UsageError, "NO_ROUTE.bisect",
                    framework=model.framework, format=word, source=source, target=target.word,
                    ability=ability or "runs with releases of that package",
                )  # fmt: skip
            route, at = found
            samples = SampleSource(
                first=model, given=loader.sample(model.graph.inputs), data=None,
                dims=question.dims, seed=question.seed,
            )  # fmt: skip
            plain = PlainRoute(
                source=place, first=model, route=route, at=at, samples=samples,
                worker=worker, load=loader.load, options=options,
            )  # fmt: skip
            yield _Conversions(
                question=question, route=plain, worker=worker, model=model,
                samples=question.samples(loader, model), options=options,
            )  # fmt: skip
    finally:
        worker.close()


def _format_of(word: str) -> str:
    from isomorph.conversion.deliver import format_of
    from isomorph.conversion.plan import formats

    if word in formats():
        return word
    if Path(word).suffix:
        return format_of(Path(word))
    raise error_of(
        UsageError, "UNKNOWN_NAME.target", name=printable(word), known=", ".join(formats())
    )
