"""What it costs to align two graphs: 100, 1,000 and 10,000 nodes, renamed, reordered and folded.

Each measurement is a process of its own. Looking is five float64 passes over either graph (the
values and four draws of noise); pairing and aligning is what follows. Seconds are those that the
processor worked, so that a busy machine does not look like growth: that is the factor from one
size to the next, which is ten times as large.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from measuring.processes import run
from measuring.tables import table, write_json
from networks.grown import VARIANTS, copied, grown

SIZES = (100, 1000, 10_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One pair of graphs. ``pairing_seconds`` finds equal values, ``aligning_seconds`` the rest."""

    nodes: int
    variant: str
    looking_seconds: float
    pairing_seconds: float
    aligning_seconds: float
    peak_bytes: int
    summary: str


def measured(nodes: int, variant: str) -> Measured:
    """In a process of its own, so that the peak of memory is this one's."""
    with tempfile.TemporaryDirectory() as folder:
        result_path = Path(folder) / "result.json"
        words = [sys.executable, __file__, "--one", str(nodes), variant, "--to", str(result_path)]
        ran = run(words, folder=Path(folder))
        if not result_path.exists():
            sys.exit(f"{nodes} {variant}: {ran.tail}")
        found = json.loads(result_path.read_text(encoding="utf-8"))
    return Measured(nodes=nodes, variant=variant, peak_bytes=ran.peak_bytes, **found)


def one(nodes: int, variant: str) -> dict[str, object]:
    """Look at both graphs, pair, align."""
    import numpy as np

    from isomorph.core.trace import Environment, Noise
    from isomorph.match.alignment import align_graphs, untouched_graphs
    from isomorph.match.tensor_capture import TensorCapture
    from isomorph.match.value_match import ValueMatcher
    from isomorph.sessions.in_process import InProcessHost

    reference = grown(nodes)
    feeds = {"x": np.random.default_rng(0).normal(size=(1, 4, 6, 6)).astype(np.float32)}
    host = InProcessHost()
    captures = []
    for proto in (reference, copied(reference, variant)):
        model = host.load(proto, "onnx", {})
        session = host.open(model, Environment(runtime="onnx_oracle"))
        captures.append(TensorCapture(model.graph, session, feeds, Noise(seed=0, rounding=True)))
    started = time.process_time()
    for capture in captures:
        capture.compute()
    looked = time.process_time()
    found = untouched_graphs(ValueMatcher(*captures))
    paired = time.process_time()
    alignment = align_graphs(found)
    done = time.process_time()
    return {
        "looking_seconds": looked - started,
        "pairing_seconds": paired - looked,
        "aligning_seconds": done - paired,
        "summary": alignment.summary,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--brief", action="store_true", help="100 and 1,000 nodes only")
    parser.add_argument("--one", nargs=2, metavar=("NODES", "VARIANT"), help=argparse.SUPPRESS)
    parser.add_argument("--to", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        result = one(int(given.one[0]), given.one[1])
        given.to.write_text(json.dumps(result), encoding="utf-8")
        return
    rows = []
    for variant in VARIANTS:
        for nodes in SIZES[:2] if given.brief else SIZES:
            print(f"… {nodes} nodes, {variant}", flush=True)
            rows.append(measured(nodes, variant))
    titles = ["nodes", "copy", "look s", "pair s", "align s", "growth", "peak MiB", "found"]
    print(table(titles, [_cells(row, rows) for row in rows]))
    name = "alignment_brief" if given.brief else "alignment"
    write_json(name, {"rows": [asdict(row) for row in rows]})


def _cells(row: Measured, rows: list[Measured]) -> list[str]:
    smaller = next(
        (each for each in rows if (each.nodes * 10, each.variant) == (row.nodes, row.variant)), None
    )
    growth = "" if smaller is None else f"{_ours(row) / max(_ours(smaller), 1e-9):.1f}×"
    return [
        str(row.nodes),
        row.variant,
        f"{row.looking_seconds:.2f}",
        f"{row.pairing_seconds:.2f}",
        f"{row.aligning_seconds:.2f}",
        growth,
        f"{row.peak_bytes / 2**20:.0f}",
        row.summary,
    ]


def _ours(row: Measured) -> float:
    return row.pairing_seconds + row.aligning_seconds


if __name__ == "__main__":
    main()
