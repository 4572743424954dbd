"""Models and sessions in this process: what a worker does inside, and what debugging wants."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isomorph import registry
from isomorph.core.digest import IN_ORDER, WEIGHTS, only_in_order
from isomorph.core.errors import UsageError
from isomorph.core.execution import StartsInterpreter
from isomorph.core.protocols import Differentiates, RunsMany, SupportsExtract, SupportsPatch
from isomorph.core.trace import Environment
from isomorph.oracle.noise_stats import hand_over
from isomorph.sessions.error_codec import guard
from isomorph.store.file_stamp import settled_stamp, stamp_of
from isomorph.store.format_detection import is_factory

if TYPE_CHECKING:
    from pathlib import Path

    from isomorph.core.execution import OpensElsewhere
    from isomorph.core.model import Model
    from isomorph.core.patch import Patch
    from isomorph.core.protocols import Session, SupportsExtract, SupportsPatch
    from isomorph.core.subgraph import Piece
    from isomorph.core.trace import Array, Arrays, Noise, RunRequest, Use

Progress = Callable[[str, str], None]
"""Called with the phase and what it is about: ``progress("load", "model.onnx")``."""


class InProcessHost:
    """No isolation: a crash of a runtime is a crash of ours, and nothing stops a hang."""

    memory_bytes: int | None = None

    def __init__(
        self,
        *,
        progress: Progress | None = None,
        isolation: str = "none",
        elsewhere: Callable[[str], OpensElsewhere] | None = None,
    ) -> None:
        """``elsewhere`` starts an interpreter of another environment; only workers have it."""
        self.isolation, self._elsewhere = isolation, elsewhere
        self._progress = progress

    def load(self, source: Any, framework: str, options: Mapping[str, str]) -> Model:  # noqa: ANN401
        """Read, validate and describe a model; a live object may come as itself."""
        self._tell("load", source)
        if is_factory(source) and options.get("trust") == "yes":
            _make_importable()
        _import_ops(options)
        file = os.fspath(source) if isinstance(source, (str, os.PathLike)) else None
        stamp = None if file is None else settled_stamp(file)
        arranged = nullcontext() if options.get(WEIGHTS) != IN_ORDER else only_in_order()
        with guard(f"loading as {framework}", file=file), arranged:
            model = registry.framework(framework).load(source, options)
        same = file is not None and stamp_of(file) == stamp
        return replace(model, file_stamp=stamp) if same else model

    def open(self, model: Model, environment: Environment) -> Session:
        """A session of this model in ``environment.runtime``."""
        self._tell("open", environment.runtime)
        runtime = registry.runtime(environment.runtime)
        if not runtime.accepts(model):
            raise UsageError(
                "WRONG_RUNTIME",
                f"runtime {runtime.name!r} does not run {model.framework} models",
                file=model.location,
                fix=f"leave --runtime out, to use {_usual(model)!r}",
            )
        interpreter = environment.interpreter
        if interpreter and self.isolation == "none":
            raise UsageError(
                "INTERPRETER_NEEDS_WORKER",
                "a runtime of another environment needs a worker process",
                file=interpreter,
                fix="leave --in-process (in_process=True) out",
            )
        asked = replace(environment, isolation=self.isolation)
        with guard(f"opening in runtime {runtime.name!r}", file=model.location):
            if interpreter and self._elsewhere and isinstance(runtime, StartsInterpreter):
                session = runtime.open_elsewhere(model, asked, self._elsewhere(interpreter))
            else:
                session = runtime.open(model, asked)
        return GuardedSession(session, model.location, self._progress)

    def apply(self, model: Model, patch: Patch, path: Path) -> None:
        """Write a patched copy of the model; its framework does it."""
        self._tell("patch", str(path))
        with guard("applying a patch", file=model.location):
            patcher(model).apply(model, patch, path)

    def rehearse(self, model: Model, patch: Patch, feeds: Arrays, fetch: Sequence[str]) -> Arrays:
        """Tensors of the patched model in float64, without writing it."""
        oracle = registry.runtime(registry.framework(model.framework).oracle)
        with guard("trying a patch", file=model.location):
            patched = patcher(model).apply_in_memory(model, patch)
            session = oracle.open(patched, Environment(runtime=oracle.name))
            try:
                return session.run(feeds, fetch)
            finally:
                session.close()

    def cut(self, model: Model, piece: Piece, feeds: Arrays, path: Path) -> None:
        """Write a part of the model as a model of its own; its framework does it."""
        self._tell("cut", str(path))
        with guard("cutting out a part", file=model.location):
            extractor(model.framework).cut(model, piece, feeds, path)

    def warm(self, names: Sequence[str]) -> None:
        """Nothing to start here."""

    def shares_worker(self, weights: int) -> bool:
        """Return True: there is one process."""
        del weights
        return True

    def close(self) -> None:
        """Nothing to end here."""

    def __enter__(self) -> InProcessHost:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _tell(self, phase: str, about: object) -> None:
        if self._progress is not None:
            named = about if isinstance(about, (str, os.PathLike)) else type(about).__name__
            self._progress(phase, str(named))


class GuardedSession:
    """A session whose failures are all ours."""

    def __init__(self, session: Session, file: str, progress: Progress | None = None) -> None:
        self._session, self._file, self._progress = session, file, progress
        self.capabilities, self.environment = session.capabilities, session.environment

    def run(self, feeds: Arrays, fetch: Sequence[str], *, noise: Noise | None = None) -> Arrays:
        """Compute ``fetch`` from ``feeds``."""
        if self._progress is not None:
            self._progress("run", self.environment.runtime)
        with guard(f"running in runtime {self.environment.runtime!r}", file=self._file):
            # Only oracles take noise, and a session that cannot must not be asked to.
            if noise is None:
                return self._session.run(feeds, fetch)
            return self._session.run(feeds, fetch, noise=noise)

    def run_many(self, requests: Sequence[RunRequest]) -> list[Arrays]:
        """Compute each request; an oracle makes several draws at a time."""
        if not isinstance(self._session, RunsMany):
            return [self.run(each.feeds, each.fetch, noise=each.noise) for each in requests]
        if self._progress is not None:
            self._progress("run", self.environment.runtime)
        with guard(f"running in runtime {self.environment.runtime!r}", file=self._file):
            return self._session.run_many(requests)

    def hand_over(
        self, feeds: Arrays, fetch: Sequence[str], use: Use, *, noise: Noise | None = None
    ) -> None:
        """Use each tensor of ``fetch`` as soon as it is computed."""
        with guard(f"running in runtime {self.environment.runtime!r}", file=self._file):
            hand_over(self._session, feeds, fetch, use, noise=noise)

    def gradients(
        self, feeds: Mapping[str, Array], weights: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        """The gradient of a weighted sum of tensors by the inputs; see ``capabilities``."""
        assert isinstance(self._session, Differentiates)
        with guard(f"differentiating in {self.environment.runtime!r}", file=self._file):
            return self._session.gradients(feeds, weights)

    def close(self) -> None:
        """Let go of what the session holds."""
        self._session.close()


def _import_ops(options: Mapping[str, str]) -> None:
    """What the user's operators mean, before a model that has them is read."""
    words = [word for word in options.get("ops", "").split(os.pathsep) if word]
    if words:
        from isomorph.kernels.custom import import_ops

        _make_importable()
        import_ops(words)


def _make_importable() -> None:
    # As `python -m` would have it, but only for code that the user has asked to trust.
    here = os.getcwd()  # noqa: PTH109 - sys.path holds strings
    if here not in sys.path:
        sys.path.insert(0, here)


def can_patch(model: Model) -> bool:
    """Whether the framework of a model applies patches."""
    return isinstance(registry.framework(model.framework), SupportsPatch)


def can_free_axes(model: Model) -> bool:
    """Whether an axis that the file fixes can be declared free in it."""
    framework = registry.framework(model.framework)
    return isinstance(framework, SupportsPatch) and framework.frees_axes


def patcher(model: Model) -> SupportsPatch:
    """The framework of a model as what applies patches to it; an error where it cannot."""
    framework = registry.framework(model.framework)
    if not isinstance(framework, SupportsPatch):
        raise UsageError(
            "FIX_UNSUPPORTED",
            f"framework {model.framework!r} cannot apply patches",
            file=model.location,
            fix="see the finding of isomorph check about this node, and convert again",
        )
    return framework


def extractor(framework: str) -> SupportsExtract:
    """The framework as what cuts models into parts; an error where it cannot."""
    found = registry.framework(framework)
    if not isinstance(found, SupportsExtract):
        raise UsageError(
            "CUT_UNSUPPORTED",
            f"framework {framework!r} cannot write parts of its models",
            fix="attach the whole model to the report",
        )
    return found


def _usual(model: Model) -> str:
    return registry.framework(model.framework).runtime
