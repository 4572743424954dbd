"""Mutants that must not be proven, and faithful rewrites that should be.

Random pairs of ``benchmarks/verdicts``: a graph, written differently, with one change in it. A
mutant whose outputs are all proven is examined by the independent judge on several inputs; where
it differs, that is a false proof.

    python benchmarks/proofs.py --pairs 2000 --seed 1
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import onnx

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

TRIED = (1.0, 1.0, 3.0, 30.0)
"""Scales of further inputs on which a proven mutant is judged."""


def examine(seed: int, share: float, out: Path | None) -> dict:
    """One pair: what it is, whether it is proven, and whether that is wrong."""
    from benchmarks.verdicts.pairs import make_pair

    import isomorph

    try:
        pair = make_pair(seed, share=share)
    except Exception as error:
        return {"seed": seed, "group": "not made", "why": str(error)[:200]}
    group = "clean" if pair.mutation is None else "mutated"
    row = {"seed": seed, "group": group, "rewrites": list(pair.rewrites)}
    row["mutation"] = pair.mutation.kind if pair.mutation else ""
    try:
        proof = isomorph.prove(
            pair.reference, pair.candidate, inputs=pair.sample.inputs, in_process=True
        )
    except isomorph.IsomorphError as error:
        return row | {"proven": False, "reason": error.code}
    except Exception as error:
        return row | {"proven": False, "reason": f"crash {type(error).__name__}: {error}"[:300]}
    first = next((each.open for each in proof.outputs if each.open is not None), None)
    row["proven"] = proof.whole
    row["reason"] = "" if first is None else f"{first.reason}: {first.op} {first.details}"[:160]
    row["rounding"] = proof.assumptions.largest_rounding
    row["chance"] = proof.chance
    if proof.whole:
        row["truth"] = _judged(pair)
        if row["truth"] == "different" and out is not None:
            folder = out / str(seed)
            folder.mkdir(parents=True, exist_ok=True)
            onnx.save(pair.reference, folder / "reference.onnx")
            onnx.save(pair.candidate, folder / "candidate.onnx")
            np.savez(folder / "inputs.npz", **pair.sample.inputs)
            (folder / "row.json").write_text(json.dumps(row, indent=1), encoding="utf-8")
    return row


def _judged(pair) -> str:
    from benchmarks.verdicts.generator import other_inputs
    from benchmarks.verdicts.truth import truth_on

    rng = np.random.default_rng(pair.seed + 5)
    sets = [pair.sample.inputs, *(other_inputs(pair.sample, rng, scale) for scale in TRIED)]
    kinds = []
    for inputs in sets:
        try:
            kinds.append(truth_on(pair, inputs).kind)
        except Exception as error:
            kinds.append(f"not judged: {type(error).__name__}")
    return "different" if "different" in kinds else kinds[0]


def main() -> int:
    """Examine the pairs and print the figures; 1 where a proof is false."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", type=float, default=0.7)
    parser.add_argument("--brief", action="store_true", help="200 pairs")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "proofs")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    options.pairs = 200 if options.brief else options.pairs
    options.out.mkdir(parents=True, exist_ok=True)
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    begun = time.perf_counter()
    with (options.out / f"rows-{options.seed}.jsonl").open("w", encoding="utf-8") as file:
        for seed in range(options.seed * 1_000_000, options.seed * 1_000_000 + options.pairs):
            row = examine(seed, options.share, options.out / "false")
            file.write(json.dumps(row) + "\n")
            file.flush()
            counts[row["group"]] += 1
            if row.get("proven"):
                counts[f"{row['group']} proven"] += 1
                if row.get("truth") == "different":
                    counts["FALSE PROOF"] += 1
                    sys.stdout.write(f"FALSE {row}\n")
            elif row["group"] == "clean":
                reasons[row.get("reason", "")[:60]] += 1
            if str(row.get("reason", "")).startswith("crash"):
                counts["crash"] += 1
    summary = {"counts": dict(counts), "seconds": time.perf_counter() - begun,
               "open clean": reasons.most_common(25)}  # fmt: skip
    sys.stdout.write(json.dumps(summary, indent=1) + "\n")
    name = f"summary-{options.seed}.json"
    (options.out / name).write_text(json.dumps(summary, indent=1), encoding="utf-8")
    return int(counts["FALSE PROOF"] > 0)


if __name__ == "__main__":
    raise SystemExit(main())
