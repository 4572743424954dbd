"""What is proven of exports: small versions of known networks, along the usual routes.

    python benchmarks/exports.py                      # every network and route that is not done yet
    python benchmarks/exports.py --only bert gpt2
    python benchmarks/exports.py --dynamic            # with a dynamic batch: is it any batch?
    python benchmarks/exports.py --table              # the table of what is done

Each pair is proven in a process of its own, and its row is kept under results/exports, so a run
continues where it stopped; with --again, the chosen rows are made anew.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import traceback
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
RESULTS = HERE / "results" / "exports"
LIMIT = 600
"""Seconds for one pair, its export included."""


def main() -> int:
    """Prove what is not done, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", default=[], help="names of networks")
    parser.add_argument("--routes", nargs="+", default=[], help="names of routes")
    parser.add_argument("--table", action="store_true", help="print what is done, and stop")
    parser.add_argument("--brief", action="store_true", help="two pairs")
    parser.add_argument("--again", action="store_true", help="forget the rows that are chosen")
    parser.add_argument("--dynamic", action="store_true", help="networks with a dynamic batch")
    parser.add_argument("--one", nargs=2, metavar=("NETWORK", "ROUTE"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        sys.stdout.write(json.dumps(_examined(*given.one, dynamic=given.dynamic)) + "\n")
        return 0
    from networks.exported import PAIRS

    if given.brief:
        given.only, given.routes = ["mobilenetv3", "keras_cnn"], ["script", "tflite"]
    results = RESULTS.with_name("exports-dynamic") if given.dynamic else RESULTS
    results.mkdir(parents=True, exist_ok=True)
    for network, route in PAIRS:
        chosen = (not given.only or network in given.only) and (
            not given.routes or route in given.routes
        )
        kept = results / f"{network}-{route}.json"
        if given.table or not chosen or (kept.exists() and not given.again):
            continue
        row = _in_a_process(network, route, dynamic=given.dynamic)
        kept.write_text(json.dumps(row, indent=1), encoding="utf-8")
        sys.stdout.write(f"{network:14} {route:10} {_short(row)}\n")
        sys.stdout.flush()
    rows = [json.loads(each.read_text(encoding="utf-8")) for each in sorted(results.glob("*.json"))]
    order = {pair: place for place, pair in enumerate(PAIRS)}
    rows = [row for row in rows if (row["network"], row["route"]) in order]
    rows.sort(key=lambda row: order[row["network"], row["route"]])
    sys.stdout.write(_table(rows))
    return 0


def _in_a_process(network: str, route: str, *, dynamic: bool) -> dict:
    command = [sys.executable, __file__, "--one", network, route]
    command += ["--dynamic"] if dynamic else []
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "OMP_NUM_THREADS": "1"}
    row = {"network": network, "route": route}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT,
                              env=environment, check=False)  # fmt: skip
    except subprocess.TimeoutExpired:
        return row | {"failure": f"more than {LIMIT} s"}
    last = (done.stdout.strip().splitlines() or [""])[-1]
    try:
        return row | json.loads(last)
    except json.JSONDecodeError:
        return row | {"failure": (done.stderr.strip().splitlines() or ["nothing"])[-1][:200]}


def _examined(network: str, route: str, *, dynamic: bool) -> dict:
    warnings.simplefilter("ignore")
    from networks.exported import exported

    row = {"network": network, "route": route}
    try:
        pair = exported(network, route, dynamic=dynamic)
    except Exception as error:
        traceback.print_exc()
        return row | {"failure": f"no export: {type(error).__name__}: {error}"[:200]}
    import isomorph

    begun = time.process_time()
    try:
        proof = isomorph.prove(pair.reference, pair.candidate, inputs=pair.inputs, in_process=True)
    except isomorph.IsomorphError as error:
        return row | {"failure": f"{error.code}: {error}"[:200]}
    seconds = time.process_time() - begun
    opened = [each.open for each in proof.outputs if each.open is not None]
    reason = opened[0] if opened else None
    return row | {
        "outputs": len(proof.outputs),
        "proven": len(proof.outputs) - len(opened),
        "share": proof.share,
        "nodes": sum(each.side == "reference" for each in proof.nodes),
        "seconds": seconds,
        "inferences": seconds / max(_plain(pair.candidate, pair.inputs), 1e-4),
        "why": "" if reason is None else f"{reason.reason} {reason.op} {reason.details}".strip(),
        "axes": [_axis_words(each) for each in proof.axes],
        "every_size": bool(proof.axes) and all(each.every_size for each in proof.axes),
        "refused": sorted({f"{each.op}: {each.open.details}" for each in proof.nodes
                           if each.open is not None})[:6],
    }  # fmt: skip


def _axis_words(axis: object) -> str:
    """Whether every size of an axis is proven, and else where the proof ended."""
    if axis.every_size:
        return f"every size from {axis.least} on"
    why = axis.open
    return "" if why is None else f"{why.reason} {why.op} {why.node} {why.details}".strip()


def _plain(candidate: Path, inputs: dict) -> float:
    """Seconds of one inference with the file's own runtime."""
    if candidate.suffix == ".tflite":
        from ai_edge_litert.interpreter import Interpreter

        runner = Interpreter(str(candidate))
        for spec, value in zip(runner.get_input_details(), inputs.values(), strict=True):
            runner.resize_tensor_input(spec["index"], value.shape)
        runner.allocate_tensors()
        for spec, value in zip(runner.get_input_details(), inputs.values(), strict=True):
            runner.set_tensor(spec["index"], value)
        run = runner.invoke
    else:
        import onnxruntime

        session = onnxruntime.InferenceSession(str(candidate))
        names = [each.name for each in session.get_inputs()]
        feeds = dict(zip(names, inputs.values(), strict=False))

        def run():
            session.run(None, feeds)

    run()
    begun = time.process_time()
    run()
    return time.process_time() - begun


def _short(row: dict) -> str:
    if "failure" in row:
        return str(row["failure"])
    return (
        f"outputs {row['proven']}/{row['outputs']}, nodes {row['share']:.0%}, "
        f"{row['seconds']:.1f} s  {row['why']} {row['refused']} {row['axes']}"
    )


def _table(rows: list[dict]) -> str:
    lines = ["| network | route | outputs proven | nodes proven | seconds | inferences | open at |",
             "|---|---|--:|--:|--:|--:|---|"]  # fmt: skip
    for row in rows:
        if "failure" in row:
            lines.append(f"| {row['network']} | {row['route']} | | | | | {row['failure'][:60]} |")
            continue
        lines.append(
            f"| {row['network']} | {row['route']} | {row['proven']} of {row['outputs']} "
            f"| {row['share']:.0%} of {row['nodes']} | {row['seconds']:.1f} "
            f"| {row['inferences']:.0f} | {row['why'][:60]} |"
        )
    made = [row for row in rows if "failure" not in row]
    whole = [row for row in made if row["proven"] == row["outputs"] and row["share"] >= 0.95]
    if any(row["axes"] for row in made):
        every = sum(row["every_size"] for row in made)
        lines.append(f"\n{every} of {len(made)} pairs: every size of the batch")
    lines.append(f"\n{len(whole)} of {len(made)} pairs: all outputs and 95% of the nodes proven")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
