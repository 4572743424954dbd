"""The child process: carries out the commands of its channel until the channel ends.

It answers every command with a result or with an error as data. It imports a framework only
when a command needs it, and it dies with its parent.
"""

from __future__ import annotations

import argparse
import ctypes
import faulthandler
import gc
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph import registry
from isomorph.core.collector import collect_seldom
from isomorph.core.errors import IsomorphError, RuntimeFailedError
from isomorph.core.execution import LosesDevice
from isomorph.core.memory import building, give_back, keep_large_apart
from isomorph.core.model import Model
from isomorph.core.protocols import Differentiates, RunsMany
from isomorph.core.system_memory import resident_memory
from isomorph.core.threads import use_threads
from isomorph.core.trace import Environment, Noise, RunRequest
from isomorph.oracle.noise_stats import disturbed
from isomorph.sessions.error_codec import to_data, translate
from isomorph.sessions.in_process import InProcessHost
from isomorph.store.codec import decode, encode
from isomorph.store.shared_arrays import Outbox, unpack
from isomorph.workers import last_node_page
from isomorph.workers.ipc import Channel, ChannelClosedError, Message
from isomorph.workers.worker_death import begun_last

if TYPE_CHECKING:
    from isomorph.core.execution import OpensElsewhere
    from isomorph.core.protocols import Session

_PR_SET_PDEATHSIG = 1
# What libraries map and hardly touch, beyond what is resident: stacks and buffers for every
# thread (1.1 GiB with PyTorch, CUDA and OpenBLAS on 16 cores), and their own writable data.
_PER_CORE = 96 << 20
_LIBRARIES = 512 << 20
# So much of what was freed is worth the time that it takes to hand it back to the system.
_MUCH = 16 << 20
# Libraries keep what a run has freed; a run that left so much behind is followed by a release.
_GROWTH = 64 << 20


class Worker:
    """Models and sessions by number, and a command for everything that can be done to them."""

    def __init__(self, channel: Channel, folder: Path) -> None:
        self._channel, self._folder = channel, folder
        self._outbox = Outbox(folder / "to_parent")
        self._host = InProcessHost(isolation="process", elsewhere=_elsewhere)
        self._models: dict[int, Model] = {}
        self._sessions: dict[int, Session] = {}
        self._devices: dict[str, LosesDevice] = {}
        self._held = 0
        self._commands: dict[str, Callable[[Message], Message]] = {
            "ping": self._ping,
            "load": self._load,
            "open": self._open,
            "run": self._run,
            "run_many": self._run_many,
            "disturb": self._disturb,
            "gradients": self._gradients,
            "close_session": self._close_session,
            "apply": self._apply,
            "rehearse": self._rehearse,
            "convert": _convert,
            "abilities": _abilities,
            "passes": _passes,
            "cut": self._cut,
        }

    def serve(self) -> None:
        """Answer until the parent hangs up, or until the device of a session is lost."""
        while True:
            try:
                answer = self._answer(self._channel.receive())
                self._channel.send(answer)
            except ChannelClosedError:
                return
            if "ends" in answer:
                return

    def _answer(self, message: Message) -> Message:
        try:
            return {"result": self._commands[message["command"]](message)}
        except (Exception, SystemExit) as error:  # noqa: BLE001 - sent to the parent as data
            doing = f"the command {message['command']!r}"
            failure = self._placed(translate(error, doing, file=_file(message)))
            return {"error": to_data(failure)} | ({"ends": True} if self._lost(error) else {})

    def _lost(self, error: BaseException) -> bool:
        """Whether this error, or one behind it, costs a runtime its device."""
        # Libraries link errors in circles: one is the cause of another that was raised while it
        # was handled.
        seen: set[int] = set()
        behind: BaseException | None = error
        while behind is not None and id(behind) not in seen:
            if any(each.device_lost(behind) for each in self._devices.values()):
                return True
            seen.add(id(behind))
            behind = behind.__cause__ or behind.__context__
        return False

    def _placed(self, error: IsomorphError) -> IsomorphError:
        """The failure with the node that was begun last, unless it names its own."""
        node = last_node_page.read(self._folder)
        if isinstance(error, RuntimeFailedError) and error.where is None and node is not None:
            error.where, error.node = begun_last(node), node
        return error

    def _ping(self, message: Message) -> Message:
        return {"pid": os.getpid()}

    def _load(self, message: Message) -> Message:
        os.chdir(message["folder"])
        with building():
            model = self._host.load(message["source"], message["framework"], message["options"])
            described = encode(replace(model, native=None)) if message["describe"] else None
            # It stays until the worker ends, as the packages do that were imported for it: the
            # collector, once it is in use again, would look at all of these objects.
            gc.freeze()
        self._models[message["model"]] = model
        give_back()
        return {"digest": model.digest, "model": described}

    def _open(self, message: Message) -> Message:
        environment = decode(Environment, message["environment"])
        runtime = registry.runtime(environment.runtime)
        if isinstance(runtime, LosesDevice):
            self._devices[runtime.name] = runtime
        session = self._host.open(self._models[message["model"]], environment)
        self._sessions[message["session"]] = session
        give_back()
        return {
            "capabilities": encode(session.capabilities),
            "environment": encode(session.environment),
        }

    def _run(self, message: Message) -> Message:
        feeds = unpack(self._folder / "to_worker", message["feeds"])
        noise = decode(Noise | None, message["noise"])
        session = self._sessions[message["session"]]
        return self._trimmed(self._outbox.pack(session.run(feeds, message["fetch"], noise=noise)))

    def _run_many(self, message: Message) -> Message:
        feeds = unpack(self._folder / "to_worker", message["feeds"])
        noises = [decode(Noise | None, each) for each in message["noises"]]
        session = self._sessions[message["session"]]
        assert isinstance(session, RunsMany)
        wanted = [
            RunRequest(feeds=feeds[place], fetch=fetch, noise=noise)
            for place, fetch, noise in zip(
                message["places"], message["fetches"], noises, strict=True
            )
        ]
        with self._outbox.message() as answer:
            for number, found in enumerate(session.run_many(wanted)):
                answer.put(str(number), found)
        return self._trimmed(answer.header())

    def _gradients(self, message: Message) -> Message:
        packed = unpack(self._folder / "to_worker", message["feeds"])
        session = self._sessions[message["session"]]
        assert isinstance(session, Differentiates)
        found = session.gradients(packed["feeds"], packed["weights"])
        return self._trimmed(self._outbox.pack(found))

    def _disturb(self, message: Message) -> Message:
        feeds = unpack(self._folder / "to_worker", message["feeds"])
        noises = [decode(Noise, each) for each in message["noises"]]
        session = self._sessions[message["session"]]
        with self._outbox.message() as answer:
            keep, draws_of = answer.put_mapped, message["draws_of"]
            found = disturbed(session, feeds, message["fetch"], noises, keep, draws_of=draws_of)
            # No tensor has an empty name.
            answer.put("", found.draws)
        return self._trimmed(answer.header()) | {"moved": encode(found.moved)}

    def _apply(self, message: Message) -> Message:
        from isomorph.core.patch import Patch

        model, patch = self._models[message["model"]], decode(Patch, message["patch"])
        self._host.apply(model, patch, Path(message["path"]))
        return {}

    def _rehearse(self, message: Message) -> Message:
        from isomorph.core.patch import Patch

        model, patch = self._models[message["model"]], decode(Patch, message["patch"])
        feeds = unpack(self._folder / "to_worker", message["feeds"])
        return self._outbox.pack(self._host.rehearse(model, patch, feeds, message["fetch"]))

    def _cut(self, message: Message) -> Message:
        from isomorph.core.subgraph import Piece

        model, piece = self._models[message["model"]], decode(Piece, message["piece"])
        feeds = unpack(self._folder / "to_worker", message["feeds"])
        self._host.cut(model, piece, feeds, Path(message["path"]))
        return self._outbox.pack({})

    def _close_session(self, message: Message) -> Message:
        self._sessions.pop(message["session"]).close()
        give_back()
        return {}

    def _trimmed(self, packed: Message) -> Message:
        """Release the memory of what was just sent or computed, if it was much."""
        held = resident_memory(os.getpid()) or 0
        if packed["size"] >= _MUCH or held - self._held >= _GROWTH:
            give_back()
            self._held = resident_memory(os.getpid()) or 0
        return packed


def _convert(message: Message) -> Message:
    from isomorph.workers.convert_job import convert

    return convert(message)


def _abilities(message: Message) -> Message:
    from isomorph.workers.convert_job import abilities

    return abilities(message)


def _passes(message: Message) -> Message:
    from isomorph.workers.convert_job import passes

    return passes(message)


def _elsewhere(interpreter: str) -> OpensElsewhere:
    from isomorph.workers.elsewhere import of_interpreter

    return of_interpreter(interpreter)


def _file(message: Message) -> str | None:
    return message.get("about")


def _limit(memory_bytes: int) -> None:
    """Let an allocation fail where it would pass the limit, and leave no core file.

    Of private writable memory only (RLIMIT_DATA): frameworks reserve far more addresses than
    they use (18 GiB with CUDA), so a limit on those (RLIMIT_AS) stops honest models. The parent
    watches what is really resident; this stops the single allocation that is absurd.
    """
    ceiling = memory_bytes + _LIBRARIES + _PER_CORE * (os.cpu_count() or 1)
    for what, wanted in ((resource.RLIMIT_DATA, ceiling), (resource.RLIMIT_CORE, 0)):
        _, hard = resource.getrlimit(what)
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(what, (soft, hard))
    keep_large_apart(memory_bytes)


def _die_with(parent: int, lifeline: int) -> None:
    """End with the parent, even while native code holds the interpreter's lock."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # it died before it could be asked for
    threading.Thread(target=_watch, args=(lifeline,), name="lifeline", daemon=True).start()


def _watch(lifeline: int) -> None:
    # Nothing is ever written: the read returns when the parent's end is closed. Whatever
    # the frameworks started is in the same process group and goes too.
    os.read(lifeline, 1)
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def main(words: list[str] | None = None) -> None:
    """What ``python -m isomorph.workers.worker`` does."""
    parser = argparse.ArgumentParser(prog="isomorph-worker", allow_abbrev=False)
    for number in ("read", "write", "lifeline", "parent", "memory", "threads"):
        parser.add_argument(f"--{number}", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    given: Any = parser.parse_args(words)
    for fd in (given.read, given.write, given.lifeline):
        os.set_inheritable(fd, False)
    _die_with(given.parent, given.lifeline)
    _limit(given.memory)
    collect_seldom()
    use_threads(given.threads)
    faulthandler.enable(all_threads=False)
    last_node_page.keep(given.folder)
    Worker(Channel(given.read, given.write), given.folder).serve()
    # Not the ordinary way out: a framework's clean-up may hang, and the folder is the parent's.
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
