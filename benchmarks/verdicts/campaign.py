"""Random pairs by the thousand: is the word of isomorph true?

    python -m benchmarks.verdicts.campaign --pairs 5000 --jobs 2 --seed 1

The truth of each pair comes from ``judge.py``. Pairs that were answered wrongly are kept with their
models and inputs under ``--out``; ``summary.json`` has the figures, ``rows.jsonl`` every pair.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Any

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
CHUNK = 20
SLOW = 120
"""Seconds after which a pair counts as hung."""
STRIDE = 10_000_000
"""Seeds of two campaigns never meet."""
WRONG = ("false equivalent", "false divergent", "crash")


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=500, help="pairs to make")
    parser.add_argument("--seed", type=int, default=0, help="another campaign")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--out", default="benchmarks/results/verdicts", help="where results go")
    parser.add_argument("--only", type=int, nargs="*", help="these pairs of the seed only")
    parser.add_argument("--no-locate", action="store_true", help="verdicts alone")
    parser.add_argument(
        "--invariants", type=int, default=10, help="held on each n-th pair; 0: none"
    )
    parser.add_argument("--mutated", type=float, default=0.65, help="share of mutated pairs")
    stated = parser.parse_args(words)
    out = Path(stated.out)
    out.mkdir(parents=True, exist_ok=True)
    seeds = [stated.seed * STRIDE + n for n in stated.only or range(stated.pairs)]
    rows = []
    with (out / "rows.jsonl").open("w", encoding="utf-8") as file:
        options = {"locate": not stated.no_locate, "invariants": stated.invariants}
        for row in _rows(seeds, stated.jobs, str(out), share=stated.mutated, **options):
            rows.append(row)
            file.write(json.dumps(row) + "\n")
            file.flush()
            if row["outcome"] in (*WRONG, "unknown") or row["named_right"] is False or broken(row):
                print(_line(row), flush=True)
            if len(rows) % 200 == 0:
                print(f"[{len(rows)}/{len(seeds)}] {_brief(rows)}", flush=True)
    summary = summarized(rows)
    (out / "summary.json").write_text(json.dumps(summary, indent=1), encoding="utf-8")
    print(json.dumps(summary, indent=1))
    wrong = [*(word.replace(" ", "_") for word in WRONG), "false_equivalent_unreached"]
    return 1 if any(summary[word] for word in wrong) else 0


def _rows(seeds: list[int], jobs: int, out: str, **options: Any) -> Iterator[dict]:
    os.environ.update(dict.fromkeys(THREADS, "1"))
    chunks = [seeds[n : n + CHUNK] for n in range(0, len(seeds), CHUNK)]
    if jobs == 1:
        for chunk in chunks:
            yield from examine(chunk, out, **options)
        return
    left = dict(enumerate(chunks))
    try:
        yield from _in_pool(left, jobs, out, options)
    except BrokenProcessPool:
        # A runtime took its process down, and the pool with it: one by one, each in its own.
        for place, chunk in sorted(left.items()):
            try:
                yield from _in_pool({place: chunk}, 1, out, options)
            except BrokenProcessPool:
                yield from map(_died, chunk)


def _in_pool(
    left: dict[int, list[int]], jobs: int, out: str, options: dict[str, Any]
) -> Iterator[dict]:
    """The rows of all these chunks; what is done is taken away."""
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(examine, c, out, **options): place for place, c in left.items()}
        for future in as_completed(waiting):
            rows = future.result()
            del left[waiting[future]]
            yield from rows


def _died(seed: int) -> dict:
    from .scoring import Row

    return Row(seed, "process died", "crash", answered="crash of the process").as_dict()


class _Hung(Exception):
    pass


def examine(
    seeds: Iterable[int], out: str, *, locate: bool = True, invariants: int = 0, share: float = 0.65
) -> list[dict]:
    """The rows of these pairs; what is wrong is written down."""
    return [_examine(seed, Path(out), locate, invariants, share) for seed in seeds]


def _examine(seed: int, out: Path, locate: bool, invariants: int, share: float) -> dict:  # noqa: FBT001
    from .invariants import hold
    from .pairs import make_pair
    from .scoring import Row, score

    def stop(*_: object) -> None:
        raise _Hung

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(SLOW)
    pair = None
    try:
        pair = make_pair(seed, share=share)
        row, truth = score(pair, locate=locate)
        if invariants and seed % invariants == 0 and row.outcome == "right":
            row.invariants = hold(pair, truth, row.answered)
    except _Hung:
        row = Row(seed, "hung", "crash", answered="crash hung")
    except Exception as error:
        row = Row(seed, "not made", "left out", why=f"{type(error).__name__}: {error}"[:300])
    finally:
        signal.alarm(0)
    entry = row.as_dict()
    wrong = row.outcome in (*WRONG, "unknown") or row.named_right is False or broken(entry)
    if pair is not None and wrong:
        _keep(pair, entry, out / "failures" / str(seed))
    return entry


def broken(row: dict) -> bool:
    """Whether an answer changed with what must not change it, or a rewrite was none."""
    return row["group"] == "broken rewrite" or any(v != "kept" for v in row["invariants"].values())


def _keep(pair: object, row: dict, folder: Path) -> None:
    import numpy as np
    import onnx

    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(pair.reference, folder / "reference.onnx")
    onnx.save(pair.candidate, folder / "candidate.onnx")
    np.savez(folder / "inputs.npz", **pair.sample.inputs)
    (folder / "row.json").write_text(json.dumps(row, indent=1), encoding="utf-8")


def summarized(rows: list[dict]) -> dict:
    counted = [row for row in rows if row["outcome"] != "left out"]
    named = [row for row in counted if row["named_right"] is not None]
    held = Counter(
        f"{name}: {'kept' if seen == 'kept' else 'broken'}"
        for row in rows
        for name, seen in row["invariants"].items()
    )
    figures = {
        "pairs": len(rows),
        "judged": len(counted),
        "groups": dict(Counter(row["group"] for row in rows)),
        "single_element": sum(row["single_element"] for row in counted),
        "false_equivalent": _count(counted, "false equivalent", but="unreached"),
        "false_equivalent_unreached": _count(
            [row for row in counted if row["group"] == "unreached"], "false equivalent"
        ),
        "false_divergent": _count(counted, "false divergent"),
        "unknown": _count(counted, "unknown"),
        "crash": _count(counted, "crash"),
        "faulty_node_right": sum(row["named_right"] for row in named),
        "faulty_node_asked": len(named),
        "invariants": dict(held),
        "cpu_seconds_of_a_check": round(
            sum(r["seconds"] for r in counted) / max(1, len(counted)), 4
        ),
        "cpu_seconds_of_the_judge": round(
            sum(r["judge_seconds"] for r in rows) / max(1, len(rows)), 4
        ),
    }
    figures["wrong_by_mutation"] = dict(
        Counter(
            f"{r['outcome']}: {r['mutation'] or 'none'}" for r in counted if r["outcome"] != "right"
        )
    )
    return figures


def _count(rows: list[dict], word: str, but: str = "") -> int:
    return sum(row["outcome"] == word and row["group"] != but for row in rows)


def _brief(rows: list[dict]) -> str:
    figures = summarized(rows)
    return " ".join(f"{k}={v}" for k, v in figures.items() if isinstance(v, (int, float)))


def _line(row: dict) -> str:
    what = row["outcome"] if row["outcome"] != "right" else "wrong node"
    if broken(row):
        what = (
            f"broken {row['why']} { {k: v for k, v in row['invariants'].items() if v != 'kept'} }"
        )
    reason = row["reason"].strip().splitlines()[-1][:160] if row["reason"] else ""
    return (
        f"{row['seed']} {what} [{row['group']}; {row['mutation']}; {', '.join(row['rewrites'])}] "
        f"margin {row['margin']:.3g} faulty {row['faulty']} named {row['named'][:6]}: {reason}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
