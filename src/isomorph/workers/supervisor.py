"""One worker process as its parent sees it: start, exchange with a deadline, end for certain."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypedDict

from isomorph import registry
from isomorph.core.cpu_time import unwatch, watch
from isomorph.core.errors import RuntimeFailedError
from isomorph.core.system_memory import resident_memory
from isomorph.core.threads import threads_of_worker
from isomorph.sessions.error_codec import from_data
from isomorph.workers import last_node_page
from isomorph.workers.deadline import Deadline, LinuxCpuUse
from isomorph.workers.interpreters import variables_elsewhere
from isomorph.workers.ipc import Channel, ChannelClosedError, DeadlineError, Message, Watch
from isomorph.workers.log_tail import LogTail
from isomorph.workers.worker_death import WorkerDeath, crashed, out_of_time, too_large

GRACE_SECONDS = 0.5
"""How long a worker may take to obey SIGTERM before it is killed."""

_EXIT_SECONDS = 1.0
_KILL_SECONDS = 10.0
_TICK = 0.01
_TEMPORARY = "temporary"
_WAIT_POLICY = "PASSIVE"
"""Threads of OpenMP that wait for work sleep, unless the user decided it.

By default they compute nothing for a while, which takes three times the processor time where the
cores are busy. Those of OpenBLAS would wait for one another: products are cut into blocks instead
(``kernels/blocked_products.py``).
"""


class _Launcher:
    """Starts processes from one thread that stays.

    Linux ends a worker with the *thread* that started it, and callers' threads come and go.
    """

    def __init__(self) -> None:
        self._renew()
        # A forked copy of us has the executor but not its thread.
        os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="isomorph launcher")

    def start(self, words: list[str], **options: Any) -> subprocess.Popen[bytes]:  # noqa: ANN401
        """As ``subprocess.Popen``."""

        def popen() -> subprocess.Popen[bytes]:
            return subprocess.Popen(words, **options)

        return self._thread.submit(popen).result()


_launcher = _Launcher()


class _Wait(TypedDict):
    """How long to wait for the other end, and what to look at meanwhile."""

    deadline: float
    watch: Watch


class _TooLargeError(Exception):
    def __init__(self, resident: int) -> None:
        self.resident = resident


class WorkerProcess:
    """A started worker. Safe to stop from any thread; exchanges are one at a time."""

    def __init__(
        self,
        *,
        folder: Path,
        memory_bytes: int,
        variables: Mapping[str, str] | None = None,
        interpreter: str = "",
    ) -> None:
        """``interpreter`` is the executable of another Python environment to start it with."""
        self.folder, self._memory, self._interpreter = folder, memory_bytes, interpreter
        self._variables = dict(variables or {})
        for name in ("to_worker", "to_parent", _TEMPORARY):
            (folder / name).mkdir(mode=0o700)
        last_node_page.prepare(folder)
        self._stopping, self._talking = threading.Lock(), threading.Lock()
        self._stopped = False
        self._start()

    def _start(self) -> None:
        commands, answers, lifeline, log = (os.pipe() for _ in range(4))
        child_ends = (commands[0], answers[1], lifeline[0])
        try:
            self._process = _launcher.start(
                [
                    *_program(self._interpreter, self.folder),
                    *("--read", str(child_ends[0]), "--write", str(child_ends[1])),
                    *("--lifeline", str(child_ends[2]), "--parent", str(os.getpid())),
                    *("--memory", str(self._memory), "--folder", str(self.folder)),
                    *("--threads", str(threads_of_worker({**os.environ, **self._variables}))),
                ],
                # What frameworks leave in the temporary folder goes with the worker.
                env={
                    "OMP_WAIT_POLICY": _WAIT_POLICY,
                    **(variables_elsewhere(os.environ) if self._interpreter else os.environ),
                    **self._variables,
                    "OPENBLAS_NUM_THREADS": "1",
                    "TMPDIR": str(self.folder / _TEMPORARY),
                },
                stdin=subprocess.DEVNULL,
                stdout=log[1],
                stderr=log[1],
                pass_fds=child_ends,
                start_new_session=True,
            )
        except BaseException as error:
            for fd in (commands[1], answers[0], lifeline[1], log[0]):
                os.close(fd)
            if isinstance(error, OSError):
                raise _not_started(error) from error
            raise
        finally:
            for fd in (*child_ends, log[1]):
                os.close(fd)
        watch(self._process.pid)
        self._channel = Channel(answers[0], commands[1])
        self._lifeline = lifeline[1]
        self._log = LogTail(log[0])

    @property
    def pid(self) -> int:
        """Its process, and the group of everything it starts."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it can still be spoken to."""
        return not self._stopped and not self._has_ended()

    def exchange(self, message: Message, *, doing: str, seconds: float) -> Message:
        """Send a command and wait for its result; raises what the worker raised.

        A worker that dies, hangs or grows too large is ended, and that is what is raised.
        """
        limit = Deadline(seconds, LinuxCpuUse(self.pid))
        wait = _Wait(deadline=limit.wall_limit, watch=partial(self._watch, limit))
        death = WorkerDeath(doing=doing, file=message.get("about"))
        last_node_page.forget(self.folder)
        try:
            with self._talking:
                self._channel.send(message, **wait)
                answer = self._channel.receive(**wait)
        except DeadlineError:
            limit.sample()
            raise out_of_time(self._bury(death), limit, message["command"]) from None
        except _TooLargeError as error:
            raise too_large(self._bury(death), error.resident, self._memory) from None
        except ChannelClosedError:
            self._await_exit(_EXIT_SECONDS)
            raise crashed(self._bury(death)) from None
        except BaseException:
            # The answer would be taken for the next command's. Nobody waits for this worker.
            self.stop(grace=0.0)
            raise
        if "ends" in answer:
            # Its device computes nothing more. The next command goes to a new process.
            self.stop(grace=0.0)
        if "error" in answer:
            raise from_data(answer["error"])
        result: Message = answer["result"]
        return result

    def _watch(self, limit: Deadline) -> None:
        """Called while waiting: is it still there, in time, and of a tolerable size?"""
        if self._has_ended():
            raise ChannelClosedError
        limit.check()
        resident = resident_memory(self.pid)
        if resident is not None and resident > self._memory:
            raise _TooLargeError(resident)

    def _bury(self, death: WorkerDeath) -> WorkerDeath:
        """End it, if it has not ended, and gather what it left behind."""
        ended = self._has_ended()
        self.stop()
        return death.seen(
            status=self._process.returncode if ended else None,
            node=last_node_page.read(self.folder),
            log=self._log.text(),
        )

    def terminate(self) -> None:
        """Ask it, and everything it started, to end."""
        if not self._stopped:
            self._signal(signal.SIGTERM)

    def stop(self, *, grace: float = GRACE_SECONDS) -> None:
        """End it and its whole group, whatever they think of that; harmless when repeated."""
        with self._stopping:
            if self._stopped:
                return
            if grace:
                self.terminate()
                self._await_exit(grace)
            # Before it is reaped, because afterwards its number may belong to somebody else.
            self._signal(signal.SIGKILL)
            # Only a process stuck in the kernel outlives SIGKILL, and nobody can wait for that.
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_KILL_SECONDS)
            unwatch(self._process.pid)
            self._stopped = True
            # Another thread may be waiting for an answer; it will see that there is none. Closed
            # before that, the descriptors could already be somebody else's.
            with self._talking:
                self._channel.close()
            os.close(self._lifeline)
            self._log.stop()

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.killpg(self._process.pid, number)
        except (ProcessLookupError, PermissionError):
            return  # macOS raises the latter for a group of zombies

    def _await_exit(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not self._has_ended() and time.monotonic() < deadline:
            time.sleep(_TICK)

    def _has_ended(self) -> bool:
        if self._process.returncode is not None:
            return True
        if not hasattr(os, "waitid"):
            return self._process.poll() is not None
        state = os.WEXITED | os.WNOHANG | os.WNOWAIT
        try:
            return os.waitid(os.P_PID, self._process.pid, state) is not None
        except ChildProcessError:
            return True


def _not_started(error: OSError) -> RuntimeFailedError:
    return RuntimeFailedError(
        "WORKER_NOT_STARTED",
        "no worker process could be started",
        why=str(error),
        fix="free memory or processes, or use --in-process",
    )


def _program(interpreter: str, folder: Path) -> tuple[str, ...]:
    """The words that start a worker, with this interpreter or with another one.

    For another one, a link leads to isomorph's source, because the folder that it lies in may
    hold packages that belong to this environment.
    """
    if not interpreter:
        # -P: nothing is imported from the current folder unless the user trusts it.
        return sys.executable, "-P", "-m", "isomorph.workers.worker"
    source, extensions = folder / "source", folder / "extensions.json"
    source.mkdir(mode=0o700)
    package = Path(__file__).parents[1]
    (source / package.name).symlink_to(package, target_is_directory=True)
    extensions.write_text(json.dumps(registry.installed()), encoding="utf-8")
    script = source / package.name / "workers" / "start_elsewhere.py"
    return interpreter, str(script), str(source), str(extensions)
