"""Damaged files that native code reads, as commands read them: in a worker process.

A worker may crash, hang or run out of memory. The parent process has to answer with a model or an
``IsomorphError``, and to go on with the next file.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from .child import digest, keep, written
from .mutations import changed
from .readers import IN_WORKERS, Reader

LOAD_SECONDS, MEMORY_BYTES = 30.0, 2 << 30


def sampled(name: str, runs: int, seed: int, out: Path) -> dict[str, Any]:
    """The outcomes of so many files, and what was no answer."""
    from isomorph.core.errors import IsomorphError
    from isomorph.sessions.host import Limits
    from isomorph.store.format_detection import identify, model_path
    from isomorph.workers.worker_host import WorkerHost

    reader = Reader(IN_WORKERS[name], lambda _: None)
    seeds = [each for _, each in reader.specimens()]
    outcomes, failures, slowest = Counter[str](), [], 0.0
    limits = Limits(load_seconds=LOAD_SECONDS, memory_bytes=MEMORY_BYTES)
    with tempfile.TemporaryDirectory(prefix="isomorph-fuzz-") as folder, WorkerHost(limits) as host:
        for number in range(runs):
            draw = random.Random(seed * 1_000_000_007 + number)
            specimen = changed(draw.choice(seeds), draw.choice(seeds), draw)
            path = written(specimen, Path(folder) / str(number), None)
            started = time.monotonic()
            try:
                found = model_path(path)
                host.load(str(found), identify(found), {})
                word = "read"
            except IsomorphError as error:
                word = error.code
            except Exception as error:
                word = type(error).__name__
                failures.append(
                    {"what": f"{word}: {error}"[:300], "where": "", "input": digest(specimen)}
                )
                keep(specimen, out / digest(specimen))
            slowest = max(slowest, time.monotonic() - started)
            outcomes[word] += 1
    return {"runs": runs, "outcomes": dict(outcomes), "failures": failures, "slowest": slowest}


if __name__ == "__main__":
    import sys

    print(json.dumps(sampled(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))))
