"""Is the rounding budget right? Clean pairs by the hundred, and how much of the budget they use.

A verdict other than the right one is a false alarm: there must be none. A run that uses a
millionth of its budget is no better: such a budget would hide faults. The histograms show both.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from operator import itemgetter
from pathlib import Path

from measuring.histogram import histogram, median
from measuring.tables import table, write_json

SEEDS = 3
EVERY = 9
"""Of the cases, the one in how many a brief run takes."""
# Cases are many and small: a process for each core, and one thread for each process.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="sets of inputs for a pair")
    parser.add_argument("--only", default="", help="only the cases whose name has this in it")
    parser.add_argument("--route", default="", help="only the candidates of this name")
    parser.add_argument("--strict", action="store_true", help="exit 1 on a false alarm")
    parser.add_argument(
        "--main-routes", action="store_true", help="the six main routes of every case"
    )
    parser.add_argument(
        "--brief", action="store_true", help=f"one case in {EVERY}, one seed, the six main routes"
    )
    stated = parser.parse_args(words)
    seeds = 1 if stated.brief else stated.seeds
    every, few = (EVERY if stated.brief else 1), stated.brief or stated.main_routes
    rows = list(_rows(seeds, stated.only, stated.route, every=every, main_routes=few))
    _tell(rows, seeds, brief=few)
    return 1 if stated.strict and any(row["alarm"] for row in rows) else 0


def _rows(seeds: int, only: str, route: str, *, every: int, main_routes: bool) -> Iterator[dict]:
    from clean.trial import case_names, try_case

    os.environ.update(dict.fromkeys(THREADS, "1"))
    names = [name for name in case_names() if only in name][::every]
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(
        os.cpu_count(), mp_context=get_context("spawn")
    ) as pool:  # fmt: skip
        waiting = {
            pool.submit(
                try_case, name, seeds, route, str(Path(folder) / str(n)), brief=main_routes
            ): name
            for n, name in enumerate(names)
        }
        for done, future in enumerate(as_completed(waiting), start=1):
            rows = future.result()
            yield from rows
            made = sum(row["verdict"] != "not made" for row in rows)
            print(f"[{done}/{len(names)}] {waiting[future]}: {made} checks", flush=True)
            for row in filter(itemgetter("alarm"), rows):
                route = f"{row['reference']} → {row['candidate']}, seed {row['seed']}"
                text = f"{row['verdict']}: {row['reason']}"
                print(f"    FALSE ALARM {route}: {text}", flush=True)


def _tell(rows: list[dict], seeds: int, *, brief: bool) -> None:
    checked = [row for row in rows if row["verdict"] != "not made"]
    alarms = sum(row["alarm"] for row in checked)
    pairs = {(row["case"], row["reference"], row["candidate"]) for row in checked}
    verdicts = Counter((row["candidate"], row["verdict"]) for row in rows)
    counted = [(name, verdict, str(n)) for (name, verdict), n in sorted(verdicts.items())]
    print(table(("candidate", "verdict", "checks"), counted))
    figures = {
        f"{width} {side}": _side(checked, width, side)
        for width in ("full", "narrow")
        for side in ("execution_reference", "execution_candidate")
    }
    print(f"\n{len(pairs)} clean pairs, up to {seeds} seeds each, {len(checked)} checks: "
          f"{alarms} false alarms")  # fmt: skip
    counts = {"seeds": seeds, "pairs": len(pairs), "checks": len(checked), "false_alarms": alarms}
    name = "calibration_brief" if brief else "calibration"
    write_json(name, {**counts, "figures": figures, "rows": rows})


def _side(rows: list[dict], width: str, side: str) -> dict:
    """What the runs of one side used of their budgets, as a histogram and in figures."""
    chosen = [row for row in rows if row["narrow"] == (width == "narrow")]
    parts = [output[side] for row in chosen for output in row["outputs"] if output[side]]
    used = [part["ratio"] for part in parts if part["ratio"]]
    spread = [part["rms_in_deviations"] for part in parts if part["rms_in_deviations"]]
    print(f"\n{width} precision, {side}: largest error of an output as a share of what is allowed\n"
          f"({len(used)} outputs; {len(parts) - len(used)} more have no error at all)")  # fmt: skip
    print(histogram(used))
    print(f"median {median(used):.3g}; RMS of the error in standard deviations of the budget: "
          f"median {median(spread):.3g}")  # fmt: skip
    return {"max_of_allowed": _figures(used), "rms_in_deviations": _figures(spread)}


def _figures(values: list[float]) -> dict:
    return {"count": len(values), "median": median(values), "largest": max(values, default=None)}


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
