"""The check that a bisection makes at every point, and what becomes of its answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.api.environment import open_loader
from isomorph.core.bisection import Trial, TrialStatus
from isomorph.core.errors import RuntimeFailedError, UnreadableModelError
from isomorph.core.messages import message
from isomorph.core.runtime_word import split_word

if TYPE_CHECKING:
    from isomorph.api.options import PairOptions, Progress, RuntimeOptions
    from isomorph.bisecting.search import Search
    from isomorph.checking.loader import Loader
    from isomorph.core.model import Model
    from isomorph.core.report import Report
    from isomorph.core.trace import Array

Judge = Callable[[str, Callable[[], Trial]], Trial]
"""Makes the trial of a point, notes its time, and reports it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
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

    def described(self) -> tuple[dict[str, Model], dict[str, dict[str, Mapping[str, Array]]]]:
        """The models by side, and the inputs of each: those given, or those generated."""
        with open_loader(
            *self.sources, trust=self.trust, inputs=self.inputs,
            runtime=replace(self.options.runtime, name=None), on_progress=self.progress,
        ) as loader:  # fmt: skip
            models = {role: loader.load(source) for role, source in self.roles.items()}
            samples = {role: self.samples(loader, model) for role, model in models.items()}
        return models, samples

    def samples(self, loader: Loader, model: Model) -> dict[str, Mapping[str, Array]]:
        """The inputs of one model by a word: the given ones, or those that are generated."""
        from isomorph.inputs.generate import SAMPLES, generate

        if self.inputs is not None:
            given = loader.sample(model.graph.inputs)
            return {} if given is None else {"given": given.feeds}
        return {
            word: generate(model.graph, self.dims, sample=word, seed=self.seed) for word in SAMPLES
        }

    def settings_of(self, side: str) -> dict[str, str]:
        """The settings of the runtime of one side."""
        found = {}
        for key, value in self.options.runtime.settings.items():
            owner, _, own = key.rpartition(".")
            if owner in ("", side):
                found[own] = value
        return found

    def words(self, *, without: str = "") -> list[str]:
        """The options of the command line that repeat the check, but the runtime of one side."""
        words = [f"--seed={self.seed}"] if self.seed else []
        words += [f"--dim={axis}={size}" for axis, size in self.dims.items()]
        words += [f"--set={key}={value}" for key, value in self.options.runtime.settings.items()]
        if self.inputs is not None:
            words.append("--inputs=inputs-given.npz")
        runtimes = {role: split_word(word)[0] for role, word in self.runtimes().items()}
        words += [f"--runtime={role}={name}" for role, name in runtimes.items() if role != without]
        return words


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


def judging(on_trial: Callable[[Trial], None] | None) -> Judge:
    """A judge that passes each trial on."""

    def judge(point: str, make: Callable[[], Trial]) -> Trial:
        began = time.monotonic()
        trial = replace(make(), point=point, seconds=time.monotonic() - began)
        if on_trial is not None:
            on_trial(trial)
        return trial

    return judge


def trial_of(check: Callable[[], Report]) -> Trial:
    """The verdict of a check; an error about the model or its runtime is ``unknown``."""
    try:
        report = check()
    except (RuntimeFailedError, UnreadableModelError) as error:
        return unknown(error.code, error.sentence, error.why)
    return Trial(
        point="",
        status=TrialStatus.JUDGED,
        verdict=str(report.verdict),
        headline=report.headline,
        reason=report.reason,
    )


def unknown(code: str, sentence: str, why: str | None) -> Trial:
    """The trial of a point at which nothing could be judged."""
    from isomorph.core.divergence import Verdict

    return Trial(
        point="",
        status=TrialStatus.JUDGED,
        verdict=str(Verdict.UNKNOWN),
        headline=message("BISECT.unknown", code=code),
        reason=" ".join(filter(None, (sentence, why))),
    )


def fields_of(search: Search) -> dict[str, Any]:
    """The fields of a bisection that a search fills."""
    return {
        "trials": search.trials,
        "outcome": search.outcome,
        "before": search.before,
        "after": search.after,
        "without_verdict": search.without_verdict,
    }


def new_name(stem: str) -> Path:
    """A folder of this name in the current one that does not exist yet."""
    place, number = Path(stem), 2
    while place.exists():
        place, number = Path(f"{stem}-{number}"), number + 1
    return place
