"""One model with the sessions it may need, each opened when first asked for."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from isomorph import registry
from isomorph.core.error_of import error_of
from isomorph.core.errors import IsomorphError, UsageError
from isomorph.core.execution import NeedsPlatform
from isomorph.core.protocols import EnvironmentReader, SetsPrecision
from isomorph.core.report import ModelForm, ModelSummary, summarize
from isomorph.core.trace import Environment
from isomorph.sessions.dequantized_session import (
    DequantizedSession,
    RealPrecision,
    grids,
    quantized_feeds,
    real_feeds,
)
from isomorph.sessions.translated_session import TranslatedSession

if TYPE_CHECKING:
    from isomorph.core.model import Model, Quantization, TensorSpec
    from isomorph.core.protocols import Runtime, Session
    from isomorph.core.trace import Array, Arrays
    from isomorph.sessions.host import Host

_MANY = 16 << 20
"""Weights that a runtime does not hold for nothing; to open a smaller model again costs more."""
_SECONDS_TO_OPEN = 128 << 20
"""Weights that take a runtime a second or more to open, each time that it runs again."""


@dataclass(slots=True, kw_only=True)
class ModelHandle:
    """A loaded model, the runtime chosen for it, and its settings."""

    role: str
    model: Model
    host: Host
    runtime: str
    settings: Mapping[str, str]
    interpreter: str = ""
    """The executable of another Python environment that the runtime runs in."""
    oracle_settings: Mapping[str, str] = field(default_factory=dict)
    known_as: str | None = None
    form: ModelForm = ModelForm.FILE
    """What reports call it, where that is not its location: an object of the caller's."""
    reals: Mapping[str, Quantization] = field(default_factory=dict)
    """Quantized inputs and outputs that are given and returned as real numbers."""
    translated: bool = False
    """Whether its oracle takes the place of a run that this machine cannot make."""
    _sessions: dict[str, Session] = field(default_factory=dict)
    _failed: dict[str, IsomorphError] = field(default_factory=dict)

    def run(self) -> Session:
        """As deployed: the chosen runtime with the chosen settings."""
        return self._session("run", self.environment_with(self.settings))

    def environment_with(self, settings: Mapping[str, str]) -> Environment:
        """What to ask for, so that its runtime opens the model under these settings."""
        return Environment(
            runtime=self.runtime,
            isolation=self.host.isolation,
            settings=completed(self.runtime, settings),
            interpreter=self.interpreter,
        )

    def prepare(self) -> None:
        """Open the chosen runtime ahead of time; an error is raised when it is to run.

        Where memory is not ample, that of a large model is opened when it runs, so that the two
        sides hold one at a time. An oracle that was given settings may have a device to start.
        """
        if self.oracle_settings:
            self._prepare("oracle", self.oracle)
        if not self.unavailable and self.runs_beside_another:
            self._prepare("run", self.run)

    def _prepare(self, purpose: str, opened: Callable[[], Session]) -> None:
        try:
            opened()
        except IsomorphError as error:
            self._failed[purpose] = error

    @property
    def unavailable(self) -> str:
        """Why this machine cannot run it; empty where it can, and for what was recorded."""
        runtime = registry.runtime(self.runtime)
        if self.form is ModelForm.TRACE or not isinstance(runtime, NeedsPlatform):
            return ""
        return runtime.unavailable()

    def in_translation(self) -> ModelHandle:
        """The same model; where this machine cannot run it, its graph alone is evaluated."""
        return replace(self, translated=True) if self.unavailable else self

    def release(self) -> None:
        """Let the runtime of a large model go while the oracle works; it is opened anew to run.

        Where memory is ample, one that takes long to open stays.
        """
        slow = self.model.graph.weight_count >= _SECONDS_TO_OPEN
        if self._large and not (slow and self.runs_beside_another) and "run" in self._sessions:
            with suppress(IsomorphError):
                self._sessions["run"].close()

    def release_oracle(self) -> None:
        """Let go of what the oracle of a large model keeps between draws, once all are made."""
        if self._large and "oracle" in self._sessions:
            with suppress(IsomorphError):
                self._sessions["oracle"].close()

    @property
    def runs_beside_another(self) -> bool:
        """Whether memory suffices for its runtime while that of the other model is open."""
        return not self._large or self.host.shares_worker(self.model.graph.weight_count)

    @property
    def _large(self) -> bool:
        """Whether its runtime takes so much memory that it is closed between runs."""
        return self.host.isolation == "process" and self.model.graph.weight_count >= _MANY

    def plain(self) -> Session:
        """The same runtime with every optimizer off."""
        off = registry.runtime(self.runtime).plain
        return self._session("plain", self.environment_with({**self.settings, **off}))

    @property
    def runs_as_written(self) -> bool:
        """Whether the runtime has optimizers to turn off, and all of them are off."""
        off = registry.runtime(self.runtime).plain
        settings = completed(self.runtime, self.settings)
        return bool(off) and all(settings[key] == value for key, value in off.items())

    @property
    def requested_dtype(self) -> str:
        """The narrower float type that its settings ask the runtime to compute in, if any."""
        runtime = registry.runtime(self.runtime)
        if not isinstance(runtime, SetsPrecision):
            return ""
        return runtime.requested_dtype(completed(self.runtime, self.settings))

    def oracle(self) -> Session:
        """The model in float64."""
        oracle = registry.framework(self.model.framework).oracle
        asked = Environment(
            runtime=oracle,
            isolation=self.host.isolation,
            settings=completed(oracle, self.oracle_settings),
        )
        return self._session("oracle", asked)

    @property
    def environments(self) -> Mapping[str, Environment]:
        """What was really opened, for the report."""
        return {
            f"{self.role} {purpose}": session.environment
            for purpose, session in self._sessions.items()
        }

    @property
    def summary(self) -> ModelSummary:
        """What the report keeps of the model."""
        return summarize(self.model, role=self.role, location=self.known_as, form=self.form)

    def _session(self, purpose: str, asked: Environment) -> Session:
        if purpose in self._failed:
            raise self._failed.pop(purpose)
        if purpose not in self._sessions and self.translated and purpose != "oracle":
            self._sessions[purpose] = TranslatedSession(
                self.oracle(), self.model.graph, asked.runtime, self.unavailable
            )
        if purpose not in self._sessions:
            self._sessions[purpose] = self.host.open(self.model, asked)
        session = self._sessions[purpose]
        if not self.reals:
            return session
        return DequantizedSession(session, self.reals, RealPrecision.FLOAT32)

    def in_reals(self, names: Collection[str]) -> ModelHandle:
        """The same model with the same sessions; these inputs and outputs in real numbers."""
        if not names:
            return self
        graph = self.model.graph
        known = {name: entry for name, entry in grids(graph).items() if name in names}
        seen = replace(
            graph,
            inputs=real_specs(graph.inputs, known),
            outputs=real_specs(graph.outputs, known),
        )
        return replace(self, model=replace(self.model, graph=seen), reals=known)

    def as_stored(self) -> ModelHandle:
        """The same model with the same sessions; integers at its inputs and outputs again."""
        graph, known = self.model.graph, self.reals
        seen = replace(
            graph,
            inputs=_stored_specs(graph.inputs, known),
            outputs=_stored_specs(graph.outputs, known),
        )
        return replace(self, model=replace(self.model, graph=seen), reals={})

    def whole(self, feeds: Arrays) -> Arrays:
        """Real numbers for an input that is quantized, on its grid."""
        return quantized_feeds(feeds, self.reals)

    def real(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """Integers given for an input that is seen in real numbers, as those they stand for."""
        return real_feeds(feeds, self.reals)


def real_specs(
    specs: Sequence[TensorSpec], known: Mapping[str, Quantization]
) -> tuple[TensorSpec, ...]:
    """A signature with quantized integers as the float32 they stand for."""
    return tuple(replace(spec, dtype="float32") if spec.name in known else spec for spec in specs)


def _stored_specs(
    specs: Sequence[TensorSpec], known: Mapping[str, Quantization]
) -> tuple[TensorSpec, ...]:
    return tuple(
        replace(spec, dtype=known[spec.name].dtype) if spec.name in known else spec
        for spec in specs
    )


def completed(runtime: str, settings: Mapping[str, str]) -> Mapping[str, str]:
    """The settings with the runtime's defaults; an unknown key is an error."""
    known = registry.runtime(runtime).settings
    for key in settings:
        if key not in known:
            raise _unknown_setting(runtime, key, known)
    return {**known, **settings}


def _unknown_setting(runtime: str, key: str, known: Mapping[str, str]) -> UsageError:
    """The error with the setting that was meant, of this runtime or else of the other side's."""
    owners: dict[str, list[str]] = {}
    for other in registry.names("runtimes"):
        for setting in registry.runtime(other).settings:
            owners.setdefault(setting, []).append(other)
    near = difflib.get_close_matches(key, known, n=1)
    variant = "UNKNOWN_SETTING.near" if near else "UNKNOWN_SETTING.unknown"
    if not near and (near := difflib.get_close_matches(key, owners, n=1)):
        own = near == [key]
        variant = "UNKNOWN_SETTING.of_other" if own else "UNKNOWN_SETTING.near_other"
    return error_of(
        UsageError,
        variant,
        runtime=runtime,
        name=key,
        known=", ".join(sorted(known)) or "none",
        near=near[0] if near else "",
        owners=" and ".join(owners[near[0]]) if near else "",
    )


def variables(runtime: Runtime, settings: Mapping[str, str]) -> Mapping[str, str]:
    """What these settings need in the environment of the process that the runtime lives in."""
    return dict(runtime.variables(settings)) if isinstance(runtime, EnvironmentReader) else {}


def chosen_runtime(model: Model, wanted: str | None) -> str:
    """The runtime the user named, provided that it runs this framework, or the default one."""
    name = wanted or registry.framework(model.framework).runtime
    if not registry.runtime(name).accepts(model):
        raise UsageError(
            "WRONG_RUNTIME",
            f"runtime {name!r} does not run {model.framework} models",
            fix=f"for this model: --runtime {registry.framework(model.framework).runtime}",
        )
    return name


def with_notes(model: Model, notes: tuple[str, ...]) -> Model:
    """The model with further notes for the report."""
    return replace(model, notes=model.notes + notes) if notes else model
