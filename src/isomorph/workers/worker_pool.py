"""The place of one worker: started when needed, and again after it has died."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from isomorph.core.errors import UnreadableModelError
from isomorph.core.system_memory import default_worker_memory
from isomorph.store.codec import encode
from isomorph.store.shared_arrays import Outbox, unpack
from isomorph.workers.supervisor import WorkerProcess

if TYPE_CHECKING:
    from pathlib import Path

    from isomorph.core.patch import Patch
    from isomorph.core.subgraph import Piece
    from isomorph.core.trace import Arrays, Environment
    from isomorph.sessions.host import Limits
    from isomorph.store.file_stamp import Stamp
    from isomorph.store.tempdirs import TempDirs
    from isomorph.workers.ipc import Message
    from isomorph.workers.load_specs import LoadSpec


class WorkerSlot:
    """The place of one worker: at most one living process, and what is loaded in it."""

    def __init__(
        self,
        name: str,
        scratch: TempDirs,
        limits: Limits,
        variables: Mapping[str, str] | None = None,
        interpreter: str = "",
    ) -> None:
        """``interpreter`` is the executable of another Python environment."""
        self.process: WorkerProcess | None = None
        self.generation = 0
        self._variables, self.interpreter = dict(variables or {}), interpreter
        self._name, self._scratch, self._limits = name, scratch, limits
        self._loaded: dict[int, Stamp | None] = {}
        self._numbers = 0
        self._outbox: Outbox | None = None
        self._lock = threading.RLock()

    def start(self) -> WorkerProcess:
        """The living process, started if there is none."""
        with self._lock:
            if self.process is None or not self.process.alive:
                if self.process is not None:
                    self.process.stop(grace=0.0)
                folder = self._scratch.folder(self._name)
                memory = self._limits.memory_bytes or default_worker_memory()
                self.process = WorkerProcess(
                    folder=folder,
                    memory_bytes=memory,
                    variables=self._variables,
                    interpreter=self.interpreter,
                )
                self._outbox = Outbox(folder / "to_worker")
                self.generation += 1
                self._loaded.clear()
            return self.process

    def load(self, recipe: LoadSpec, *, describe: bool) -> Message:
        """Load the model if this process does not have it, or has to describe it.

        A file that was written to since is loaded again, and refused if it is another model.
        """
        with self._lock:
            process, stamp = self.start(), recipe.stamp()
            known = recipe.number in self._loaded and self._loaded[recipe.number] == stamp
            if known and not describe:
                return {"digest": recipe.digest}
            answer = process.exchange(
                {
                    "command": "load",
                    "about": recipe.source,
                    "model": recipe.number,
                    "source": recipe.source,
                    "folder": recipe.folder,
                    "framework": recipe.framework,
                    "options": dict(recipe.options),
                    "describe": describe,
                },
                doing=f"loading as {recipe.framework}",
                seconds=self._limits.load_seconds,
            )
            if not describe and answer["digest"] != recipe.digest:
                raise _changed(recipe)
            self._loaded[recipe.number] = stamp
            return answer

    def open(self, recipe: LoadSpec, environment: Environment) -> tuple[int, Message]:
        """A session of the model here, by number."""
        with self._lock:
            self.load(recipe, describe=False)
            self._numbers += 1
            message = {
                "command": "open",
                "about": recipe.source,
                "model": recipe.number,
                "session": self._numbers,
                "environment": encode(environment),
            }
            doing = f"opening in runtime {environment.runtime!r}"
            process = self.start()
            opened = process.exchange(message, doing=doing, seconds=self._limits.open_seconds)
            return self._numbers, opened

    def run(self, message: Message, feeds: Arrays, doing: str) -> dict[str, Any]:
        """Feed and fetch; the session must be one of this generation."""
        return self._fed(message | {"command": "run"}, feeds, doing)

    def run_many(self, message: Message, feeds: Sequence[Arrays], doing: str) -> list[Arrays]:
        """Feed and fetch once for each of these feeds."""
        # Feeds that several runs share travel once.
        first = {id(each): place for place, each in reversed(list(enumerate(feeds)))}
        packed = {str(place): feeds[place] for place in sorted(first.values())}
        places = [str(first[id(each)]) for each in feeds]
        message = message | {"command": "run_many", "places": places}
        found, _ = self._answered(message, packed, doing, runs=len(feeds))
        return [found[str(place)] for place in range(len(feeds))]

    def gradients(
        self, message: Message, feeds: Arrays, weights: Arrays, doing: str
    ) -> dict[str, Any]:
        """Feed, and differentiate a weighted sum."""
        packed = {"feeds": feeds, "weights": weights}
        return self._fed(message | {"command": "gradients"}, packed, doing)

    def disturb(self, message: Message, feeds: Arrays, doing: str) -> tuple[dict[str, Any], Any]:
        """Feed and fetch, once as it is and once for every noise, of which sizes come back."""
        runs = 1 + len(message["noises"])
        return self._answered(message | {"command": "disturb"}, feeds, doing, runs=runs)

    def _fed(self, message: Message, feeds: Arrays, doing: str) -> dict[str, Any]:
        return self._answered(message, feeds, doing)[0]

    def _answered(
        self, message: Message, feeds: Arrays, doing: str, *, runs: int = 1
    ) -> tuple[dict[str, Any], Any]:
        """The tensors that come back, and the rest of the answer."""
        with self._lock:
            process = self.start()
            assert self._outbox is not None
            packed = message | {"feeds": self._outbox.pack(feeds)}
            seconds = runs * self._limits.run_seconds
            answer = process.exchange(packed, doing=doing, seconds=seconds)
            return unpack(process.folder / "to_parent", answer), answer.get("moved")

    def apply(self, recipe: LoadSpec, patch: Patch, path: Path) -> None:
        """Write a patched copy of the model."""
        with self._lock:
            message = self._about(recipe, "apply", patch=encode(patch), path=str(path.resolve()))
            self.start().exchange(
                message, doing="applying a patch", seconds=self._limits.load_seconds
            )

    def rehearse(
        self, recipe: LoadSpec, patch: Patch, feeds: Arrays, fetch: Sequence[str]
    ) -> dict[str, Any]:
        """Tensors of the patched model."""
        with self._lock:
            message = self._about(recipe, "rehearse", patch=encode(patch), fetch=list(fetch))
            return self._fed(message, feeds, "trying a patch")

    def cut(self, recipe: LoadSpec, piece: Piece, feeds: Arrays, path: Path) -> None:
        """Write a part of the model."""
        with self._lock:
            message = self._about(recipe, "cut", piece=encode(piece), path=str(path.resolve()))
            self._fed(message, feeds, "cutting out a part")

    def _about(self, recipe: LoadSpec, command: str, **more: Any) -> Message:  # noqa: ANN401
        """A command about a model, which is loaded first if it is not."""
        self.load(recipe, describe=False)
        return {"command": command, "about": recipe.source, "model": recipe.number, **more}

    def close_session(self, number: int, generation: int) -> None:
        """Forget a session, unless its process has died and taken it along."""
        with self._lock:
            if self.process is None or not self.process.alive or generation != self.generation:
                return
            self.process.exchange(
                {"command": "close_session", "session": number},
                doing="closing a session",
                seconds=self._limits.open_seconds,
            )

    def __enter__(self) -> WorkerSlot:
        self._lock.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def _changed(recipe: LoadSpec) -> UnreadableModelError:
    return UnreadableModelError(
        "MODEL_CHANGED",
        "the model is no longer what it was when it was first read",
        file=recipe.source,
        why="something wrote to it during the check",
        fix="run again when nothing writes to it",
    )
