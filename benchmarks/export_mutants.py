"""Mutants of exports: none that computes something else may be proven.

    python benchmarks/export_mutants.py --count 100 --only gpt2 llama --routes dynamo

One random change in an ONNX file that is proven: a weight, a number, a size, an attribute, an
operator, two operands, or what a node reads. ONNX Runtime runs the file and the mutant without its
optimizers on several inputs; a mutant with other results that is proven is a false proof. Mutants
that are proven and show no difference are printed, to be looked at.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
SEEN = 1e-6
"""Beside the largest output, a difference beyond that of two float32 runs of one graph."""


def main() -> int:
    """1 where a mutant that differs is proven."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", default=["gpt2", "llama", "convnext", "vit"])
    parser.add_argument("--routes", nargs="+", default=["dynamo", "optimized"])
    parser.add_argument("--count", type=int, default=250, help="mutants of each export")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--brief", action="store_true", help="20 mutants of one export")
    given = parser.parse_args()
    if given.brief:
        given.only, given.routes, given.count = ["convnext"], ["dynamo"], 20
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    begun = time.perf_counter()
    from networks.exported import PAIRS

    for network, route in PAIRS:
        if network in given.only and route in given.routes:
            counts += _examined(network, route, given.count, given.seed)
    summary = {"seed": given.seed, "counts": dict(counts), "seconds": time.perf_counter() - begun}
    sys.stdout.write(json.dumps(summary, indent=1) + "\n")
    return int(counts["FALSE PROOF"] > 0)


def _examined(network: str, route: str, count: int, seed: int) -> Counter[str]:
    import numpy as np
    import onnx
    from networks.exported import exported
    from networks.onnx_mutants import mutant

    import isomorph

    counts: Counter[str] = Counter()
    pair = exported(network, route)
    original = onnx.shape_inference.infer_shapes(onnx.load(str(pair.candidate)))
    draw = np.random.default_rng([seed, *network.encode(), *route.encode()])
    feeds = [_inputs(pair.inputs, scale, draw) for scale in (0.0, 1.0, 3.0)]
    expected = _apart(original, feeds)
    while counts["mutants"] + counts["not made"] < count:
        made = mutant(original, draw)
        results = None if made is None else _apart(made[0], feeds)
        if made is None or results is None:
            counts["not made"] += 1
            continue
        counts["mutants"] += 1
        different = any(_differ(a, b) for a, b in zip(expected, results, strict=True))
        counts["different"] += different
        try:
            proof = isomorph.prove(pair.reference, made[0], inputs=pair.inputs, in_process=True)
        except isomorph.IsomorphError:
            counts["refused"] += 1
            continue
        if proof.whole:
            word = "FALSE PROOF" if different else "proven, no difference"
            counts[word] += 1
            sys.stdout.write(f"{word}: {network} {route} {made[1]}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{network} {route} {dict(counts)}\n")
    sys.stdout.flush()
    return counts


def _inputs(given: dict[str, Any], scale: float, draw: Any) -> list[Any]:
    """The given inputs, or others of their types and shapes."""
    if not scale:
        return list(given.values())
    return [
        draw.permuted(each, axis=-1) if each.dtype.kind in "iu"
        else (draw.normal(size=each.shape) * scale).astype(each.dtype)
        for each in given.values()
    ]  # fmt: skip


def _apart(model: Any, feeds: list[list[Any]]) -> list[list[Any]] | None:
    """The results for each of the inputs, from a process that a mutant may end; None if it did."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)

    def run() -> None:
        there.send([_run(model, each) for each in feeds])

    process = context.Process(target=run)
    process.start()
    there.close()
    try:
        found = here.recv()
    except EOFError:
        found = [None]
    process.join()
    return None if any(each is None for each in found) else found


def _run(model: Any, inputs: list[Any]) -> list[Any] | None:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
        names = [each.name for each in session.get_inputs()]
        return list(session.run(None, dict(zip(names, inputs, strict=False))))
    except Exception:
        return None


def _differ(one: list[Any], other: list[Any]) -> bool:
    import numpy as np

    for a, b in zip(one, other, strict=False):
        if a.shape != b.shape or not np.array_equal(np.isfinite(a), np.isfinite(b)):
            return True
        kept = np.isfinite(a)
        largest = np.abs(a[kept]).max(initial=0.0)
        if np.abs(a[kept] - b[kept]).max(initial=0.0) > SEEN * largest:
            return True
    return False


if __name__ == "__main__":
    raise SystemExit(main())
