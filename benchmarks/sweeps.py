"""Sweeps on one machine and on a cluster: time, overhead per cell, and a store of many cells.

24 small models × 6 environments run in local processes, and on a Ray cluster of three nodes on this
machine, one of which is killed in the middle. Where the system allows it, one of the others cannot
see the folder of the models, as another machine without a shared disk, and gets them through the
object store. Every cell has to be there once, with a whole report. Then tasks that do nothing show
what an engine takes for each, and a store of 100,000 cells what a row takes.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from measuring.matrix import write_matrix
from measuring.tables import table, write_json

NOTHING = 500
"""Tasks that do nothing, for the overhead of an engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """One whole sweep."""

    engine: str
    slots: int
    cells: int
    done: int
    rows: int
    whole_reports: int
    repeated: int
    seconds: float
    cell_seconds: float
    cpu_seconds: float
    sent_bytes: int = 0


def swept(file: Path, store: Path, engine: str, slots: int, **words) -> Ran:
    """A sweep into a new store, and what the store holds afterwards."""
    import isomorph

    sent = []
    with _counted_bytes(sent):
        found = isomorph.sweep(file, store=store, engine=engine, **words)
    index = sqlite3.connect(store / "index.sqlite")
    rows = index.execute("SELECT key, report FROM cells").fetchall()
    index.close()
    return Ran(
        engine=engine, slots=slots, cells=len(found.cells),
        done=sum(each.status == "done" and bool(each.report) for each in found.cells),
        rows=len({key for key, _ in rows}),
        whole_reports=sum("verdict" in json.loads((store / report).read_text("utf-8"))
                          for _, report in rows),
        repeated=sum(each.attempts > 1 for each in found.cells), seconds=found.seconds,
        cell_seconds=sum(each.seconds for each in found.cells),
        cpu_seconds=sum(each.cpu_seconds for each in found.cells), sent_bytes=sum(sent),
    )  # fmt: skip


class _counted_bytes:
    """Notes the size of everything that is put into the object store."""

    def __init__(self, sent: list[int]) -> None:
        self._sent = sent

    def __enter__(self) -> None:
        from isomorph.sweeping.ray_cluster import RayCluster

        self._put = RayCluster.put
        put, sent = self._put, self._sent

        def counted(cluster, data):
            sent.append(len(data))
            return put(cluster, data)

        RayCluster.put = counted

    def __exit__(self, *_: object) -> None:
        from isomorph.sweeping.ray_cluster import RayCluster

        RayCluster.put = self._put


def on_cluster(file: Path, store: Path) -> Ran:
    """The sweep on three nodes, of which one is killed when half of the cells are done."""
    from ray.cluster_utils import Cluster

    folder = Path(tempfile.mkdtemp(prefix="ray-"))  # sockets need a short path
    head = {"num_cpus": 1, "include_dashboard": False}
    os.environ["RAY_TMPDIR"] = str(folder)
    cluster = apart = None
    try:
        cluster = Cluster(initialize_head=True, head_node_args=head)
        killed = cluster.add_node(num_cpus=1)
        apart = _node_apart(cluster.address, file.parent / "models")
        if apart is None:
            print("this system allows no mount namespaces: all nodes see the models")
            cluster.add_node(num_cpus=1)
        nodes = [killed]

        def kill_one(progress) -> None:
            if nodes and progress.done >= progress.total // 2:
                cluster.remove_node(nodes.pop(), allow_graceful=False)

        return swept(file, store, "ray", 3, address=cluster.address, on_cell=kill_one)
    finally:
        if apart is not None:
            with suppress(ProcessLookupError):
                os.killpg(apart.pid, signal.SIGKILL)
            apart.wait()
        if cluster is not None:
            cluster.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


def _node_apart(address: str, models: Path) -> subprocess.Popen | None:
    """A node that sees an empty folder in the place of the models, once it has joined."""
    import ray

    hide = 'mount -t tmpfs none "$0"'
    able = subprocess.run(["unshare", "-m", "sh", "-c", hide, str(models)], check=False,
                          capture_output=True) if shutil.which("unshare") else None  # fmt: skip
    if able is None or able.returncode:
        return None
    start = f'{hide} && exec "$1" -m ray.scripts.scripts start --address="$2" --num-cpus=1 --block'
    node = subprocess.Popen(
        ["unshare", "-m", "sh", "-c", start, str(models), sys.executable, address],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    try:
        deadline = time.monotonic() + 120
        while sum(each["Alive"] for each in ray.nodes()) < 3:
            if time.monotonic() > deadline or node.poll() is not None:
                raise RuntimeError("the third node did not join")
            time.sleep(0.2)
    finally:
        ray.shutdown()
    return node


def overhead(count: int) -> dict[str, float]:
    """Seconds for a task that does nothing: what each engine takes for one."""
    import ray

    from isomorph.core.sweep import Cell
    from isomorph.sweeping.cell_keys import versions
    from isomorph.sweeping.cell_process import Ended
    from isomorph.sweeping.local_engine import LocalEngine
    from isomorph.sweeping.ray_cluster import RayCluster
    from isomorph.sweeping.ray_engine import RayEngine
    from isomorph.sweeping.remote_cell import RemoteAnswer
    from isomorph.sweeping.task import Task

    ended = Ended(exit_code=0, stderr="", seconds=0, cpu_seconds=0, peak_bytes=0)
    report = b"x" * 12_000

    class Nothing:
        def run(self):
            return ended

        def stop(self):
            pass

    def nothing(_order):
        return RemoteAnswer(ended=ended, report=report)

    with tempfile.TemporaryDirectory() as folder:
        cell = Cell(model="m", environment="e", shard="", seed=0, reference="r", candidate="c")
        tasks = [
            Task(key=str(at), words=(), folder=Path(folder), need_bytes=1, cell=cell,
                 report=Path(folder) / "r") for at in range(count)
        ]  # fmt: skip
        local = LocalEngine(jobs=2, memory_bytes=1 << 40, start=lambda _: Nothing())
        found = {"local": _per_task(local, tasks)}
        cluster = RayCluster()
        try:
            cluster._remote = ray.remote(max_retries=0)(nothing)
            engine = RayEngine(cluster=cluster, versions=versions())
            _per_task(engine, tasks[:20])  # the processes of the cluster have started
            found["ray"] = _per_task(engine, tasks)
        finally:
            cluster.close()
    return found


def _per_task(engine, tasks: Sequence) -> float:
    began = time.perf_counter()
    assert len(list(engine.run(tasks))) == len(tasks)
    return (time.perf_counter() - began) / len(tasks)


def index_times(rows: int, kept: int) -> dict[str, float]:
    """Seconds to keep and to find a cell in a store of so many, and bytes of the index for each."""
    from isomorph.core.sweep import CellResult, CellStatus
    from isomorph.store.sweep_store import _COLUMNS, SweepStore

    def result(at: int) -> CellResult:
        key = f"{at:064x}"
        return CellResult(
            name="m@e", model="m", environment="e", shard="", seed=0, key=key, exit_code=0,
            status=CellStatus.DONE, verdict="equivalent", ratio=0.5, headline="EQUIVALENT on 3",
            reason="the largest difference of an output is within rounding",
            report=f"reports/{key}.json", seconds=2.0, cpu_seconds=3.0, peak_bytes=1 << 28,
        )  # fmt: skip

    with tempfile.TemporaryDirectory() as folder, SweepStore(Path(folder)) as store:
        places = ", ".join("?" * len(_COLUMNS))
        facts = [asdict(result(at)) for at in range(rows)]
        with store._index as index:
            index.execute("BEGIN")
            index.executemany(
                f"INSERT INTO cells ({', '.join(_COLUMNS)}) VALUES ({places})",
                [[str(each[name]) if name == "status" else each[name] for name in _COLUMNS]
                 for each in facts],
            )  # fmt: skip
            index.execute("COMMIT")
        store._index.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = (Path(folder) / "index.sqlite").stat().st_size
        began, report = time.perf_counter(), b"x" * 12_000
        for at in range(rows, rows + kept):
            written = store.running / "r.json"
            written.write_bytes(report)
            store.keep(result(at), written)
        keeping = (time.perf_counter() - began) / kept
        began = time.perf_counter()
        for at in range(rows, rows + kept):
            assert store.result(f"{at:064x}") is not None
        finding = (time.perf_counter() - began) / kept
    return {
        "rows": rows, "keep_seconds": keeping, "find_seconds": finding, "bytes_per_row": size / rows
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--brief", action="store_true", help="6 cells, a store of 2,000")
    parser.add_argument("--jobs", type=int, default=2, help="cells at a time of the local engine")
    given = parser.parse_args()
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    models, environments = (3, 2) if given.brief else (24, 6)
    with tempfile.TemporaryDirectory() as folder:
        file = write_matrix(Path(folder) / "matrix", models, environments)
        ran = [
            swept(file, Path(folder) / "local", "local", given.jobs, jobs=given.jobs),
            on_cluster(file, Path(folder) / "ray"),
        ]
    titles = ("engine", "cells at a time", "done", "rows", "reports", "run again", "time",
              "time per cell", "CPU per cell", "models sent")  # fmt: skip
    print(table(titles, [_shown(each) for each in ran]))
    each_task = overhead(50 if given.brief else NOTHING)
    for engine, seconds in each_task.items():
        print(f"a task that does nothing, {engine}: {1000 * seconds:.1f} ms")
    index = index_times(2_000 if given.brief else 100_000, 100 if given.brief else 1_000)
    print(
        f"a store of {index['rows']:,} cells: {1000 * index['keep_seconds']:.1f} ms to keep one, "
        f"{1e6 * index['find_seconds']:.0f} µs to find one, {index['bytes_per_row']:.0f} bytes each"
    )
    write_json("sweeps_brief" if given.brief else "sweeps", {
        "sweeps": [asdict(each) for each in ran], "overhead": each_task, "index": index,
    })  # fmt: skip
    missing = [each for each in ran if not each.cells == each.done == each.rows]
    if missing or any(each.whole_reports != each.rows for each in ran):
        raise SystemExit("cells are missing, or reports are not whole")


def _shown(ran: Ran) -> tuple[str, ...]:
    return (
        ran.engine, str(ran.slots), f"{ran.done} of {ran.cells}", str(ran.rows),
        str(ran.whole_reports), str(ran.repeated), f"{ran.seconds:.0f} s",
        f"{ran.seconds / ran.cells:.2f} s", f"{ran.cpu_seconds / ran.cells:.2f} s",
        f"{ran.sent_bytes:,} bytes",
    )  # fmt: skip


if __name__ == "__main__":
    main()
