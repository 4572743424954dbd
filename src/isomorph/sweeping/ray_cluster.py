"""A Ray cluster: connected to or started, and the few of its calls that a sweep needs."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isomorph.core.errors import UsageError, message_lines
from isomorph.core.lazy import require
from isomorph.sweeping.remote_cell import RemoteAnswer, refused, run_remote_cell

if TYPE_CHECKING:
    from isomorph.store.tempdirs import TempDirs
    from isomorph.sweeping.remote_cell import Order

STORE_BYTES = 512 << 20
"""The object store of a cluster that is started here: it holds reports on their way."""

ANSWER_SECONDS = 10.0
"""How long the address of a cluster may take to answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSize:
    """What one node of a cluster has for tasks."""

    cpus: float
    memory: float
    gpus: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a task reserves on the node that it runs on."""

    cpus: float
    memory: int
    gpus: int


class Lost(Exception):  # noqa: N818 - no error: the task is run again
    """The process or the node of a task ended."""


class RayCluster:
    """Connects to the cluster at ``address``; starts one on this machine where there is none.

    ``address`` is ``auto`` or HOST:PORT. None is that of the variable RAY_ADDRESS, or no address.
    """

    def __init__(self, address: str | None = None, memory_bytes: int | None = None) -> None:
        # Clusters that are started here tell nobody about it.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        self._ray = ray = require("ray", extra="ray", needed_for="the engine ray")
        self._folder: TempDirs | None = None
        self._shared = ray.is_initialized()  # a program that uses Ray calls us: its cluster
        self._printing: Any = None
        if not self._shared:
            self._connect(address or os.environ.get("RAY_ADDRESS") or None, memory_bytes)
            self._silence(ray._private.worker)
        # A task is run again by the sweep, which counts attempts; Ray runs each at most once.
        self._remote = ray.remote(max_retries=0, scheduling_strategy="SPREAD")(_run)

    def _connect(self, address: str | None, memory_bytes: int | None) -> None:
        quiet = {"log_to_driver": False, "logging_level": "ERROR"}
        try:
            with _own_signals():
                if address is not None:
                    _require_answer(address)
                    self._ray.init(address=address, **quiet)
                    return
                from isomorph.store.tempdirs import TempDirs

                self._folder = TempDirs()
                self._ray.init(
                    address="local", include_dashboard=False, object_store_memory=STORE_BYTES,
                    _memory=memory_bytes, _temp_dir=str(self._folder.path), **quiet,
                )  # fmt: skip
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            self.close()
            where = "no cluster answers at" if address else "no cluster can be started"
            raise UsageError(
                "CLUSTER_UNREACHABLE", f"{where} {address or ''}".rstrip(),
                why=next(iter(message_lines(error)), type(error).__name__),
                fix="run this on a node of a cluster (ray status), or leave --address out",
            ) from error  # fmt: skip

    def _silence(self, worker: Any) -> None:  # noqa: ANN401 - a module of Ray
        """Print nothing of a node that is lost; no option of Ray keeps its log off stdout.

        Stdout is for the answer, and the sweep itself counts what it ran again.
        """
        self._printing = worker.print_to_stdstream
        worker.print_to_stdstream = lambda *_words, **_named: None

    def close(self) -> None:
        """Leave the cluster; one that was started here ends, and its folder is removed."""
        if not self._shared:
            self._ray.shutdown()
        if self._printing is not None:
            self._ray._private.worker.print_to_stdstream = self._printing
            self._printing = None
        if self._folder is not None:
            self._folder.remove()

    def nodes(self) -> list[NodeSize]:
        """What the nodes that are alive have for tasks."""
        found = (each["Resources"] for each in self._ray.nodes() if each["Alive"])
        return [
            NodeSize(
                cpus=each.get("CPU", 0.0), memory=each.get("memory", 0.0),
                gpus=each.get("GPU", 0.0),
            )
            for each in found if each.get("CPU", 0.0) > 0
        ]  # fmt: skip

    def put(self, data: bytes) -> Any:  # noqa: ANN401 - a reference of Ray
        """Keep bytes in the object store for as long as what is returned is held."""
        return self._ray.put(data)

    def submit(self, order: Order, needs: Needs) -> Any:  # noqa: ANN401 - a reference of Ray
        """Begin a task somewhere as soon as a node has what it needs."""
        return self._remote.options(
            name=order.cell.name, num_cpus=needs.cpus, memory=needs.memory, num_gpus=needs.gpus
        ).remote(order)

    def ended(self, running: Sequence[Any], seconds: float) -> Sequence[Any]:
        """Those that have ended, after at most so many seconds if there is none."""
        some, _ = self._ray.wait(list(running), num_returns=1, timeout=seconds)
        if not some:
            return []
        found, _ = self._ray.wait(list(running), num_returns=len(running), timeout=0)
        return list(found)

    def answer(self, ended: Any) -> RemoteAnswer:  # noqa: ANN401 - a reference of Ray
        """The answer of a task that has ended; ``Lost`` where its process or node ended."""
        errors = self._ray.exceptions
        try:
            found: RemoteAnswer = self._ray.get(ended)
        except errors.RayTaskError as error:
            if isinstance(error.cause, errors.RayError):
                raise Lost(str(error.cause)) from error
            return _unusable(error.cause or error)
        except (errors.TaskUnschedulableError, errors.RuntimeEnvSetupError) as error:
            return _unusable(error)
        except errors.RayError as error:
            raise Lost(next(iter(message_lines(error)), type(error).__name__)) from error
        return found

    def cancel(self, running: Sequence[Any], seconds: float) -> None:
        """Interrupt tasks, and wait for their end a while."""
        for each in running:
            self._ray.cancel(each)
        if running:
            self._ray.wait(
                list(running), num_returns=len(running), timeout=seconds, fetch_local=False
            )


def _run(order: Order) -> RemoteAnswer:
    """The task, in a process of the cluster."""
    import ray

    return run_remote_cell(order, ray.get)


def _unusable(error: BaseException) -> RemoteAnswer:
    what = next(iter(message_lines(error)), "")
    return RemoteAnswer(ended=refused(UsageError(
        "MACHINE_UNUSABLE", "a machine of the cluster cannot run cells",
        why=f"{type(error).__name__}: {what}",
        fix="install the same isomorph on every machine, and leave room in its temporary folder",
    )))  # fmt: skip


def _require_answer(address: str) -> None:
    """Raise unless somebody listens at HOST:PORT: Ray itself goes on asking for many minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWER_SECONDS).close()


@contextmanager
def _own_signals() -> Iterator[None]:
    """Ray takes the handler of SIGTERM; ours ends a sweep and keeps what is done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
