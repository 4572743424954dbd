"""The host whose runtimes live in worker processes, so that none of them can take us along.

There is one worker per ``Runtime.worker`` word, started when it is first needed and again
after it has died. What it had loaded and opened is then loaded and opened anew. Settings that a
runtime takes from its process's environment have workers of their own (``Runtime.variables``).
A model for which a worker's memory is ample is run by the worker of its oracle: a second process
would read the file again, which costs more than the run.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph import registry
from isomorph.core.errors import UsageError
from isomorph.core.execution import StartsInterpreter
from isomorph.core.memory import building
from isomorph.core.model import Model
from isomorph.core.system_memory import default_worker_memory
from isomorph.core.trace import Capabilities, Environment
from isomorph.oracle.noise_stats import Disturbed, Moved
from isomorph.sessions.host import Limits
from isomorph.sessions.in_process import Progress
from isomorph.sessions.model_handle import variables
from isomorph.store.codec import decode, encode
from isomorph.store.tempdirs import TempDirs
from isomorph.workers.interpreters import examined, named_environment
from isomorph.workers.load_specs import LoadSpec, LoadSpecs
from isomorph.workers.supervisor import GRACE_SECONDS
from isomorph.workers.worker_pool import WorkerSlot

if TYPE_CHECKING:
    from isomorph.core.patch import Patch
    from isomorph.core.subgraph import Piece
    from isomorph.core.trace import Array, Arrays, Noise, RunRequest
    from isomorph.workers.ipc import Message

BYTES_PER_WEIGHT = 64
"""Memory of a worker for each weight of a model whose oracle and runtime share it."""

_Place = tuple[str, frozenset[tuple[str, str]], str]
"""A worker's word, and the variables and the interpreter that its process was started with."""


class WorkerHost:
    """Opens models and sessions in worker processes. May be used by several threads.

    ``close`` it, or use it in a ``with``; at the latest it is closed when the program ends.
    """

    isolation = "process"

    def __init__(self, limits: Limits | None = None, *, progress: Progress | None = None) -> None:
        limits = limits or Limits()
        self.memory_bytes: int | None = limits.memory_bytes or default_worker_memory()
        self.limits = replace(limits, memory_bytes=self.memory_bytes)
        self._progress = progress
        self._recipes = LoadSpecs()
        self._scratch = TempDirs()
        self._slots: dict[_Place, WorkerSlot] = {}
        self._lock = threading.Lock()
        self._finalizer = weakref.finalize(self, _end, os.getpid(), self._slots, self._scratch)

    def warm(self, names: Sequence[str]) -> None:
        """Start the workers of these runtimes now; returns without waiting for them."""
        for name in names:
            self._slot(registry.runtime(name).worker).start()

    def shares_worker(self, weights: int) -> bool:
        """Whether the oracle and the usual runtime of a model of this size share a worker."""
        memory = self.memory_bytes or default_worker_memory()
        return weights <= memory // BYTES_PER_WEIGHT

    def load(self, source: Any, framework: str, options: Mapping[str, str]) -> Model:  # noqa: ANN401
        """Read, validate and describe a model, where its oracle will run it."""
        if not isinstance(source, (str, Path)):
            raise UsageError(
                "LIVE_OBJECT",
                f"a live {type(source).__name__} cannot be handed to a worker process",
                fix="save it to a file first, or use --in-process (in_process=True)",
            )
        self._tell("load", str(source))
        oracle = registry.runtime(registry.framework(framework).oracle)
        recipe = self._recipes.draft(str(source), framework, options)
        with building():
            answer = self._slot(oracle.worker).load(recipe, describe=True)
            model: Model = decode(Model, answer["model"])
        self._recipes.remember(recipe, model)
        return model

    def open(self, model: Model, environment: Environment) -> RemoteSession:
        """A session of this model in ``environment.runtime``, in that runtime's worker."""
        self._tell("open", environment.runtime)
        runtime = registry.runtime(environment.runtime)
        wanted = variables(runtime, environment.settings)
        elsewhere = environment.interpreter
        alone = bool(wanted or elsewhere)
        word = runtime.worker if alone else self._shared_word(model, environment)
        within = "" if isinstance(runtime, StartsInterpreter) else elsewhere
        slot = self._slot(word, wanted, within)
        return RemoteSession(slot, self._recipes.of(model), environment, self._progress)

    def apply(self, model: Model, patch: Patch, path: Path) -> None:
        """Write a patched copy of the model, where its oracle runs it."""
        self._tell("patch", str(path))
        slot, recipe = self._home(model)
        slot.apply(recipe, patch, path)

    def rehearse(self, model: Model, patch: Patch, feeds: Arrays, fetch: Sequence[str]) -> Arrays:
        """Tensors of the patched model in float64, without writing it."""
        slot, recipe = self._home(model)
        return slot.rehearse(recipe, patch, feeds, fetch)

    def cut(self, model: Model, piece: Piece, feeds: Arrays, path: Path) -> None:
        """Write a part of the model, where its oracle runs it."""
        self._tell("cut", str(path))
        slot, recipe = self._home(model)
        slot.cut(recipe, piece, feeds, path)

    def _home(self, model: Model) -> tuple[WorkerSlot, LoadSpec]:
        oracle = registry.framework(model.framework).oracle
        return self._slot(registry.runtime(oracle).worker), self._recipes.of(model)

    def _shared_word(self, model: Model, environment: Environment) -> str:
        """The worker of the oracle for the usual run of most models, else the runtime's own."""
        framework, runtime = (
            registry.framework(model.framework),
            registry.runtime(environment.runtime),
        )
        usual = [{**runtime.settings}, {**runtime.settings, **runtime.plain}]
        if (
            environment.runtime == framework.runtime
            and dict(environment.settings) in usual
            and self.shares_worker(model.graph.weight_count)
        ):
            return registry.runtime(framework.oracle).worker
        return runtime.worker

    def close(self) -> None:
        """End every worker and remove every temporary file; harmless when repeated."""
        self._finalizer()

    def __enter__(self) -> WorkerHost:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _slot(
        self, word: str, wanted: Mapping[str, str] | None = None, interpreter: str = ""
    ) -> WorkerSlot:
        place = word, frozenset((wanted or {}).items()), interpreter
        with self._lock:
            if not self._finalizer.alive:
                raise RuntimeError("the host is closed")
            if place not in self._slots:
                name = f"{word}-{len(self._slots)}"
                self._slots[place] = WorkerSlot(
                    name, self._scratch, self.limits, wanted, interpreter
                )
            return self._slots[place]

    def _tell(self, phase: str, detail: str) -> None:
        if self._progress is not None:
            self._progress(phase, detail)


def _end(owner: int, slots: dict[_Place, WorkerSlot], scratch: TempDirs) -> None:
    if os.getpid() != owner:
        return  # a forked copy of us must not end the workers of the original
    scratch.end()
    processes = [slot.process for slot in list(slots.values()) if slot.process is not None]
    for process in processes:
        process.terminate()
    deadline = time.monotonic() + GRACE_SECONDS
    for process in processes:
        process.stop(grace=max(0.01, deadline - time.monotonic()))
    scratch.remove()


def _placed(environment: Environment, asked: Environment) -> Environment:
    """With the interpreter that it ran in, and its version."""
    if not asked.interpreter:
        return environment
    facts = {**environment.facts, "python": examined(asked.interpreter).version}
    return replace(environment, interpreter=asked.interpreter, facts=facts)


class RemoteSession:
    """A session in a worker. When the worker has died, the next run opens it anew."""

    capabilities: Capabilities
    environment: Environment

    def __init__(
        self,
        slot: WorkerSlot,
        recipe: LoadSpec,
        environment: Environment,
        progress: Progress | None,
    ) -> None:
        self._slot, self._recipe, self._asked = slot, recipe, environment
        self._progress = progress
        self._number: int | None = None
        self._open()

    def _open(self) -> None:
        with named_environment(self._asked.interpreter):
            self._number, reply = self._slot.open(self._recipe, self._asked)
        self._generation = self._slot.generation
        self.capabilities = decode(Capabilities, reply["capabilities"])
        self.environment = _placed(decode(Environment, reply["environment"]), self._asked)

    def run(self, feeds: Arrays, fetch: Sequence[str], *, noise: Noise | None = None) -> Arrays:
        """Compute ``fetch`` from ``feeds``."""
        with self._slot as slot:
            message = self._asking(slot, fetch) | {"noise": encode(noise)}
            return slot.run(message, feeds, self._doing)

    def run_many(self, requests: Sequence[RunRequest]) -> list[Arrays]:
        """Compute each request, all with one message."""
        with self._slot as slot:
            message = self._asking(slot, ()) | {
                "fetches": [list(each.fetch) for each in requests],
                "noises": [encode(each.noise) for each in requests],
            }
            return slot.run_many(message, [each.feeds for each in requests], self._doing)

    def gradients(
        self, feeds: Mapping[str, Array], weights: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        """The gradient of a weighted sum of tensors by the inputs; see ``capabilities``."""
        with self._slot as slot:
            return slot.gradients(self._asking(slot, ()), feeds, weights, self._doing)

    def disturbed(
        self,
        feeds: Arrays,
        fetch: Sequence[str],
        noises: Sequence[Noise],
        draws_of: Sequence[str] = (),
    ) -> Disturbed:
        """The tensors as they are, and how far these disturbances move each."""
        with self._slot as slot:
            message = self._asking(slot, fetch) | {
                "noises": [encode(each) for each in noises],
                "draws_of": list(draws_of),
            }
            values, moved = slot.disturb(message, feeds, self._doing)
            draws = values.pop("")
            return Disturbed(values=values, moved=decode(dict[str, Moved], moved), draws=draws)

    def _asking(self, slot: WorkerSlot, fetch: Sequence[str]) -> Message:
        """A message to the session, which is opened anew if its process has died."""
        if self._progress is not None:
            self._progress("run", self.environment.runtime)
        slot.start()
        if self._number is None or self._generation != slot.generation:
            self._open()
        return {"about": self._recipe.source, "session": self._number, "fetch": list(fetch)}

    @property
    def _doing(self) -> str:
        return f"running in runtime {self._asked.runtime!r}"

    def close(self) -> None:
        """Let go of what the session holds; harmless when repeated."""
        if self._number is not None:
            self._slot.close_session(self._number, self._generation)
            self._number = None
