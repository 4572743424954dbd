"""Long work on one process: whether the viewer and a sweep keep their memory.

The viewer answers 200 clients at a time on the loopback interface: the page, the list of reports,
whole reports, single tensors, and requests that it has to refuse. A sweep runs cells of the
smallest pair of ONNX, one seed each. Both state the memory of the process after it has warmed up
and at the end. A wrong answer, a lost cell or growth beyond the stated share ends with exit code 1.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil
from measuring.tables import table, write_json

CLIENTS, REQUESTS, CELLS = 200, 10_000, 2_000
BRIEF_CLIENTS, BRIEF_REQUESTS, BRIEF_CELLS = 50, 1_000, 20
GROWTH = 0.10
"""How much larger the process may be at the end than it was when it had warmed up."""
WARM = 0.2
"""The share of the work after which a process counts as warmed up: its caches are filled."""
EVERY = 100
"""Cells between two measurements."""
REPORTS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Soaked:
    """What was asked of one process, how it answered, and the memory that it held."""

    what: str
    work: int
    failed: int
    seconds: float
    warm_bytes: int
    end_bytes: int
    peak_bytes: int
    samples: tuple[int, ...]
    answers: dict[str, int]

    @property
    def growth(self) -> float:
        """Memory at the end over that after the warm-up, less one."""
        return self.end_bytes / self.warm_bytes - 1

    @property
    def holds(self) -> bool:
        """No wrong answer, and no growth that goes on."""
        return self.failed == 0 and self.growth <= GROWTH


def small_model(path: Path, operator: str = "Relu") -> Path:
    """The smallest model of ONNX: one node."""
    from onnx import parser

    text = '<ir_version: 9, opset_import: ["": 17]> g (float[2] x) => (float[2] y)'
    text += f" {{ y = {operator} (x) }}"
    path.write_bytes(parser.parse_model(text).SerializeToString())
    return path


# The viewer


@dataclass(frozen=True, slots=True)
class Request:
    """A path with what the answer has to be."""

    path: str
    token: str
    status: int
    word: str


class Client:
    """One connection that is kept open."""

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: Request) -> tuple[int, bytes]:
        """The status and the body of the answer."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(self.host, self.port)
        reader, writer = self._streams
        head = f"GET {request.path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n"
        writer.write(f"{head}Authorization: Bearer {request.token}\r\n\r\n".encode())
        await writer.drain()
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {
            key.lower(): value.strip()
            for key, _, value in (line.partition(":") for line in lines[1:])
        }
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        if headers.get("connection") == "close":
            await self.close()
        return int(lines[0].split()[1]), body

    async def close(self) -> None:
        """End the connection."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


def requests_of(
    token: str, listed: Sequence[dict[str, Any]], tensors: Sequence[str]
) -> Iterator[Request]:
    """What clients ask, again and again: mostly reports and their tensors."""
    some = [Request("/", "", 200, "<html"), Request("/reports", token, 200, '"verdict"')]
    some += [Request(f"/reports/{each['id']}", token, 200, '"findings"') for each in listed]
    some += [Request(f"/tensors/{each}", token, 200, '"tensor"') for each in tensors]
    some += [
        Request(f"/reports/{listed[0]['id']}", "wrong", 403, "token"),
        Request("/reports/unknown", token, 404, "not here"),
        Request("/tensors/..%2f..%2fetc%2fpasswd", token, 404, ""),
    ]
    return itertools.cycle(some)


async def asked_at_once(
    server: psutil.Process, host: str, port: int, wanted: Sequence[Request], clients: int
) -> tuple[Counter[str], int, list[int]]:
    """The answers to all requests, how many were wrong, and the memory after each hundredth."""
    left, answers, samples, wrong = iter(wanted), Counter[str](), [], 0
    every = max(1, len(wanted) // 100)

    async def one() -> None:
        nonlocal wrong
        client = Client(host, port)
        for request in left:
            try:
                status, body = await client.ask(request)
                right = status == request.status and request.word.encode() in body
                word = str(status) if right else f"{status} (wrong)"
            except (OSError, asyncio.IncompleteReadError, ValueError, IndexError) as error:
                right, word = False, type(error).__name__
                await client.close()
            answers[word] += 1
            wrong += not right
            if answers.total() % every == 0:
                samples.append(server.memory_info().rss)
        await client.close()

    await asyncio.gather(*(one() for _ in range(clients)))
    return answers, wrong, samples


def reports_in(folder: Path) -> None:
    """Reports with a profile, so that there are tensors to ask for."""
    small_model(folder / "a.onnx"), small_model(folder / "b.onnx", "Softplus")
    words = ["check", "a.onnx", "b.onnx", "--profile", "--format", "json", "-o", "0.json"]
    subprocess.run([sys.executable, "-m", "isomorph", *words], cwd=folder, check=False)
    text = (folder / "0.json").read_text(encoding="utf-8")
    for number in range(1, REPORTS):
        (folder / f"{number}.json").write_text(text, encoding="utf-8")


def viewer(clients: int, requests: int) -> Soaked:
    """``isomorph view`` under this many clients at a time."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        reports_in(folder)
        line = [sys.executable, "-m", "isomorph", "view", name, "--no-browser"]
        process = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            address, token = process.stdout.readline().strip().split("/#token=")
            host, _, port = address.removeprefix("http://").partition(":")
            return asyncio.run(_under_load(process.pid, host, int(port), token, clients, requests))
        finally:
            process.terminate()
            process.wait()


async def _under_load(
    pid: int, host: str, port: int, token: str, clients: int, count: int
) -> Soaked:
    server, first = psutil.Process(pid), Client(host, port)
    listed = json.loads((await first.ask(Request("/reports", token, 200, "")))[1])
    tensors = []
    for each in listed:
        report = json.loads((await first.ask(Request(f"/reports/{each['id']}", token, 200, "")))[1])
        tensors += [one["id"] for one in (report["profile"] or {}).get("close_ups", ())]
    await first.close()
    wanted = list(itertools.islice(requests_of(token, listed, tensors), count))
    started = time.monotonic()
    answers, wrong, samples = await asked_at_once(server, host, port, wanted, clients)
    return Soaked(
        what=f"isomorph view, {clients} clients",
        work=count,
        failed=wrong,
        seconds=time.monotonic() - started,
        warm_bytes=samples[int(WARM * len(samples))],
        end_bytes=samples[-1],
        peak_bytes=max(samples),
        samples=tuple(samples),
        answers=dict(answers),
    )


# The sweep


def drive(folder: Path) -> None:
    """The process that is measured: a sweep that prints its own memory every few cells."""
    from isomorph import sweep

    process, seen = psutil.Process(), itertools.count(1)

    def on_cell(_: object) -> None:
        count = next(seen)
        if count % EVERY == 0 or count == 1:
            print(json.dumps([count, process.memory_info().rss]), flush=True)

    found = sweep(folder / "sweep.toml", on_cell=on_cell, jobs=psutil.cpu_count())
    verdicts = Counter(str(each.verdict) if each.verdict else "none" for each in found.cells)
    whole = sum((folder / found.store / each.report).is_file() for each in found.cells)
    facts = {"verdicts": verdicts, "reports": whole, "rss": process.memory_info().rss}
    print(json.dumps(facts), flush=True)


def swept(cells: int) -> Soaked:
    """A sweep of this many cells, each in a process of its own as always."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        small_model(folder / "a.onnx")
        lines = [
            f"seeds = {list(range(cells))}",
            "[models.small]",
            'reference = "a.onnx"',
            'candidate = "a.onnx"',
            "[environments.quick]",
            "quick = true",
        ]
        (folder / "sweep.toml").write_text("\n".join(lines), encoding="utf-8")
        started, samples, last = time.monotonic(), [], {}
        driver = [sys.executable, __file__, "--drive", name]
        with subprocess.Popen(driver, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                found = json.loads(line)
                if isinstance(found, dict):
                    last = found
                    continue
                samples.append(found[1])
                print(f"… {found[0]} cells, {found[1] / 1e6:.1f} MB", flush=True)
        samples.append(last.get("rss", 0))
        return Soaked(
            what="isomorph sweep",
            work=cells,
            failed=2 * cells
            - last.get("reports", 0)
            - last.get("verdicts", {}).get("equivalent", 0),
            seconds=time.monotonic() - started,
            warm_bytes=samples[int(WARM * len(samples))],
            end_bytes=samples[-1],
            peak_bytes=max(samples),
            samples=tuple(samples),
            answers=last.get("verdicts", {}),
        )


def main() -> int:
    """Run one or both; exit code 1 where a promise is not kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--brief", action="store_true", help="few clients, requests and cells")
    parser.add_argument("--only", choices=("view", "sweep"), help="one of the two")
    parser.add_argument("--clients", type=int, default=None, help="connections at a time")
    parser.add_argument("--requests", type=int, default=None, help="of all clients together")
    parser.add_argument("--cells", type=int, default=None, help="of the sweep")
    parser.add_argument("--drive", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.drive is not None:
        drive(given.drive)
        return 0
    rows = []
    if given.only != "sweep":
        rows.append(
            viewer(
                given.clients or (BRIEF_CLIENTS if given.brief else CLIENTS),
                given.requests or (BRIEF_REQUESTS if given.brief else REQUESTS),
            )
        )
    if given.only != "view":
        rows.append(swept(given.cells or (BRIEF_CELLS if given.brief else CELLS)))
    titles = ("what", "work", "failed", "time", "warm", "end", "growth", "peak", "holds")
    print(table(titles, [_shown(row) for row in rows]))
    for row in rows:
        print(
            f"{row.what}: {', '.join(f'{count} × {word}' for word, count in row.answers.items())}"
        )
    name = "_".join(
        ("soak", *([given.only] if given.only else []), *(["brief"] if given.brief else []))
    )
    write_json(name, {"rows": [asdict(row) | {"growth": row.growth} for row in rows]})
    return 0 if all(row.holds for row in rows) else 1


def _shown(row: Soaked) -> tuple[str, ...]:
    return (
        row.what,
        str(row.work),
        str(row.failed),
        f"{row.seconds:.0f} s",
        f"{row.warm_bytes / 1e6:.1f} MB",
        f"{row.end_bytes / 1e6:.1f} MB",
        f"{row.growth:+.1%}",
        f"{row.peak_bytes / 1e6:.1f} MB",
        "yes" if row.holds else "no",
    )


if __name__ == "__main__":
    sys.exit(main())
