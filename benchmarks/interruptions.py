"""Kill a sweep at random moments, resume it, and look for what was lost or left behind.

Each round has a seed, a store of its own, and one kill -9: of a process of a cell, of the process
of the sweep, or of a node of a Ray cluster. After the resume every cell has to be there once, every
report whole, no process left, and nothing in the store and the temporary folder beyond what
docs/sweeps.md names. Cells are a stand-in for the command (it writes its report in two halves and
has a child), so that a round takes seconds; in a share of the rounds they are real checks.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from measuring.matrix import write_matrix
from measuring.tables import table, write_json

KINDS = ("worker local", "driver local", "worker ray", "driver ray", "node ray")
REAL_EVERY = 20
"""One round in so many runs real checks, unless ``--real-every`` states another number."""
CELLS = 12
SETTLE_SECONDS = 60.0

STAND_IN = """
import ctypes, hashlib, json, os, random, signal, subprocess, sys, time
ctypes.CDLL(None).prctl(1, signal.SIGTERM)
if os.getppid() != int(sys.argv.pop(1)):
    os._exit(1)
here = os.path.dirname(os.path.dirname(sys.argv[2]))
child = (
    "import ctypes, os, sys, time; ctypes.CDLL(None).prctl(1, 9)\\n"
    "if os.getppid() == int(sys.argv[1]): time.sleep(600)"
)
worker = subprocess.Popen([sys.executable, "-S", "-c", child, str(os.getpid()), here])
signal.signal(signal.SIGTERM, lambda *_: (worker.kill(), os._exit(1)))
open(os.path.join(here, "starts", str(os.getpid())), "w").close()
target = next(word for word in sys.argv if word.startswith("--output=")).partition("=")[2]
body = "x" * 20000
text = json.dumps({"body": body, "digest": hashlib.sha256(body.encode()).hexdigest()})
time.sleep(random.uniform(0.0, 0.15))
with open(target, "w") as file:
    file.write(text[:9000]); file.flush()
    time.sleep(random.uniform(0.0, 0.1))
    file.write(text[9000:])
worker.kill(); worker.wait()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One round, and what was wrong afterwards."""

    seed: int
    kind: str
    real: bool
    killed: str
    done_before_resume: int
    wrong: list[str]
    seconds: float


def drive(file: Path, store: Path, engine: str, address: str, *, real: bool) -> int:
    """The process of the sweep: with the stand-in for the command of a cell unless ``real``."""
    from isomorph.core.sweep import Verb
    from isomorph.store.sweep_store import SweepStore
    from isomorph.sweeping import cell_process
    from isomorph.sweeping.cell_keys import versions
    from isomorph.sweeping.cell_selection import planned
    from isomorph.sweeping.local_engine import LocalEngine
    from isomorph.sweeping.sweep import Sweeping

    plan = planned(file)
    assert plan.cells[0].verb is (Verb.CHECK if real else Verb.PROVE)
    if not real:
        cell_process._START = STAND_IN
    cluster = None
    with SweepStore(store) as opened:
        if engine == "local":
            running = LocalEngine(jobs=3, memory_bytes=1 << 40)
        else:
            import ray

            from isomorph.sweeping.ray_cluster import RayCluster
            from isomorph.sweeping.ray_engine import RayEngine

            cluster = RayCluster(address)
            if not real:
                cluster._remote = ray.remote(max_retries=0)(_stand_in_task)
            running = RayEngine(cluster=cluster, versions=versions())
        try:
            found = Sweeping(plan=plan, store=opened, engine=running).sweep(plan.cells, whole=True)
        finally:
            if cluster is not None:
                cluster.close()
    missing = [each for each in found.cells if not each.report]
    print(*missing, sep="\n")  # the last line is shown with the round
    return 1 if missing else 0


def _stand_in_task(order):
    """A task that runs the stand-in on a node."""
    import ray

    from isomorph.sweeping import cell_process, remote_cell

    cell_process._START = STAND_IN
    return remote_cell.run_remote_cell(order, ray.get)


class Nodes:
    """A Ray cluster for many rounds, with a node that may be killed."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        self.folder = Path(tempfile.mkdtemp(prefix="ray-"))
        os.environ |= {"RAY_TMPDIR": str(self.folder), "RAY_USAGE_STATS_ENABLED": "0"}
        head = {"num_cpus": 2, "include_dashboard": False}
        self._cluster = Cluster(initialize_head=True, head_node_args=head)
        self._other = None

    @property
    def address(self) -> str:
        return self._cluster.address

    def ready(self) -> None:
        for attempt in range(4):
            if self._other is not None:
                return
            try:
                self._other = self._cluster.add_node(num_cpus=2)
            except Exception:  # a busy machine: Ray waits 30 seconds for a node to start
                if attempt == 3:
                    raise

    def kill(self) -> None:
        node, self._other = self._other, None
        self._cluster.remove_node(node, allow_graceful=False)

    def close(self) -> None:
        self._cluster.shutdown()
        shutil.rmtree(self.folder, ignore_errors=True)


def one_round(seed: int, kind: str, nodes: Nodes | None, *, real: bool) -> Round:
    """Start a sweep, kill something, resume it, and examine what there is."""
    chance, began = random.Random(seed), time.monotonic()
    what, engine = kind.split()
    if engine == "ray":
        nodes.ready()
    with tempfile.TemporaryDirectory(prefix="round-") as name:
        folder = Path(name)
        models = 2 if real else CELLS // 2
        file = write_matrix(folder / "matrix", models, 2)
        if not real:
            file.write_text('verb = "prove"\n' + file.read_text("utf-8"), encoding="utf-8")
        for each in ("tmp", "matrix/starts"):
            (folder / each).mkdir()
        address = nodes.address if engine == "ray" else ""
        line = [sys.executable, __file__, "--drive", str(file), str(folder / "store"), engine,
                address, "real" if real else "stand-in"]  # fmt: skip
        environment = {**os.environ, "TMPDIR": str(folder / "tmp")}
        with (folder / "messages").open("w+b") as messages:
            driver = subprocess.Popen(line, env=environment, stdout=messages, stderr=messages)
            killed = _kill(what, driver, folder, nodes, chance, real=real)
            code = _ended(driver)
            before = _rows(folder / "store")
            wrong = [] if what == "driver" or code == 0 else [f"the sweep ended with {code}"]
            wrong += _orphans(folder)
            resumed = _ended(subprocess.Popen(
                line, env=environment, stdout=messages, stderr=messages
            ))  # fmt: skip
            if resumed:
                messages.seek(0)
                last = messages.read().decode("utf-8", "replace").splitlines()
                wrong.append(f"the resume ended with {resumed}: {last[-1:]}")
        wrong += _orphans(folder) + _examined(folder, models * 2, before, real=real)
    return Round(seed=seed, kind=kind, real=real, killed=killed, done_before_resume=len(before),
                 wrong=wrong, seconds=time.monotonic() - began)  # fmt: skip


def _kill(what, driver, folder, nodes, chance, *, real) -> str:
    """Kill something once so many cells have begun, and a moment later."""
    count = chance.randint(0 if what == "driver" else 1, 3 if real else CELLS - 1)
    delay, deadline = chance.uniform(0.0, 3.0 if real else 0.2), time.monotonic() + 120
    while driver.poll() is None and time.monotonic() < deadline:
        begun = (len(list((folder / "store" / "reports").glob("*"))) + 1 if real
                 else len(list((folder / "matrix" / "starts").iterdir())))  # fmt: skip
        if begun >= count:
            break
        time.sleep(0.005)
    time.sleep(delay)
    if what == "node":
        nodes.kill()
        return f"node after {count} cells began"
    victims = [driver.pid] if what == "driver" else _processes(folder)
    while not victims and driver.poll() is None:  # between two cells
        victims = _processes(folder)
    if driver.poll() is not None:
        return "nothing: the sweep was done"
    with suppress(ProcessLookupError):
        os.kill(chance.choice(sorted(victims)), signal.SIGKILL)
    return f"{what} after {count} cells began"


def _ended(process: subprocess.Popen) -> int:
    try:
        return process.wait(timeout=300)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return -1000


def _processes(folder: Path) -> list[int]:
    """Processes of cells, and their children: they have a file of the round among their words."""
    import psutil

    found = []
    for each in psutil.process_iter(["cmdline", "status", "pid"]):
        words = " ".join(each.info["cmdline"] or ())
        alive = each.info["status"] != psutil.STATUS_ZOMBIE
        if alive and str(folder) in words and "--drive" not in words:
            found.append(each.info["pid"])
    return found


def _orphans(folder: Path) -> list[str]:
    deadline = time.monotonic() + SETTLE_SECONDS
    while found := _processes(folder):
        if time.monotonic() > deadline:
            for each in found:
                with suppress(ProcessLookupError):
                    os.kill(each, signal.SIGKILL)
            return [f"{len(found)} processes outlived the sweep"]
        time.sleep(0.1)
    return []


def _rows(store: Path) -> list[tuple[str, str]]:
    if not (store / "index.sqlite").is_file():
        return []
    index = sqlite3.connect(store / "index.sqlite")
    try:
        return index.execute("SELECT key, report FROM cells ORDER BY key").fetchall()
    except sqlite3.OperationalError:  # killed before the tables were made
        return []
    finally:
        index.close()


def _examined(folder: Path, cells: int, before, *, real: bool) -> list[str]:
    """What is missing, twice, torn, or too much."""
    store, wrong = folder / "store", []
    rows = _rows(store)
    if len(rows) != cells or len({key for key, _ in rows}) != cells:
        wrong.append(f"{len(rows)} rows for {cells} cells")
    if not set(before) <= set(rows):
        wrong.append("a row that was done is gone")
    reports = sorted(f"reports/{each.name}" for each in (store / "reports").iterdir())
    if reports != sorted(report for _, report in rows):
        wrong.append("reports and rows differ")
    wrong += [f"{each} is not whole" for each in reports if not _is_whole(store / each, real=real)]
    known = {"reports", "running", "lock", "index.sqlite", "index.sqlite-wal", "index.sqlite-shm"}
    more = {each.name for each in store.iterdir()} - known
    if more or list((store / "running").iterdir()):
        wrong.append(f"left in the store: {sorted(more)} and what is in running/")
    return wrong + _leftovers(folder / "tmp")


def _is_whole(report: Path, *, real: bool) -> bool:
    try:
        document = json.loads(report.read_text(encoding="utf-8"))
    except ValueError:
        return False
    if real:
        return "verdict" in document
    return hashlib.sha256(document["body"].encode()).hexdigest() == document["digest"]


def _leftovers(folder: Path) -> list[str]:
    """What stays in the temporary folder after the next command that uses it, a minute later."""
    from isomorph.store.tempdirs import TempDirs

    for each in folder.iterdir():
        os.utime(each, (time.time() - 120,) * 2)
    tempfile.tempdir = str(folder)
    try:
        TempDirs().remove()
    finally:
        tempfile.tempdir = None
    return [f"left in the temporary folder: {each.name}" for each in folder.iterdir()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--brief", action="store_true", help="five rounds of stand-ins")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument(
        "--seed", type=int, default=1, help="of the first round; each next one has one more"
    )
    parser.add_argument("--minutes", type=float, help="begin no round later than that")
    parser.add_argument("--kinds", default=",".join(KINDS), help="what is killed, in turn")
    parser.add_argument(
        "--real-every", type=int, default=REAL_EVERY, help="one round in so many runs real checks"
    )
    parser.add_argument("--drive", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.drive:
        file, store, engine, address, real = given.drive
        sys.exit(drive(Path(file), Path(store), engine, address, real=real == "real"))
    count = len(KINDS) if given.brief else given.rounds
    kinds = given.kinds.split(",")
    nodes = Nodes() if any(each.endswith("ray") for each in kinds) else None
    began, rounds = time.monotonic(), []
    try:
        for at in range(count):
            if given.minutes and time.monotonic() - began > 60 * given.minutes:
                break
            real = at % given.real_every == given.real_every - 1
            kind = kinds[(at + at // given.real_every) % len(kinds)]
            rounds.append(one_round(given.seed + at, kind, nodes, real=real))
            if rounds[-1].wrong:
                print(f"seed {rounds[-1].seed}, {kind}: {'; '.join(rounds[-1].wrong)}", flush=True)
    finally:
        if nodes is not None:
            nodes.close()
    counts = Counter(each.kind for each in rounds)
    rows = [(
        kind, str(counts[kind]), str(sum(each.real for each in rounds if each.kind == kind)),
        str(sum(each.done_before_resume for each in rounds if each.kind == kind)),
        str(sum(each.killed.startswith("nothing") for each in rounds if each.kind == kind)),
        str(sum(bool(each.wrong) for each in rounds if each.kind == kind)),
    ) for kind in dict.fromkeys(kinds)]  # fmt: skip
    print(
        table(
            ("killed", "rounds", "with real checks", "done before", "nothing killed", "wrong"), rows
        )
    )
    write_json("interruptions_brief" if given.brief else "interruptions", {
        "seeds": [each.seed for each in rounds], "rounds": [asdict(each) for each in rounds],
    })  # fmt: skip
    if any(each.wrong for each in rounds):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
