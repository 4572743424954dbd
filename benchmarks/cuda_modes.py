"""One program on the CPU against the same on CUDA, in every mode that a user may ask for.

A narrower type that was asked for is a declared loss (``degraded``); eager, compiled and
deterministic runs without TF32 are ``equivalent``; TF32 that nobody asked for is a finding where a
network has convolutions, which torch computes in it by default.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from measuring.processes import run
from measuring.tables import table, write_json
from networks.few_blocks import FEW_BLOCKS
from networks.llama import Sizes
from networks.llama import written as written_llama
from networks.torch_networks import NETWORKS, quiet
from networks.torch_networks import written as written_network

LLAMA = Sizes(layers=4, width=512, heads=8, key_heads=2, hidden=1024, words=4000, tokens=32)
MODES = {
    "eager": ("tf32=no",),
    "eager, deterministic": ("tf32=no", "deterministic=yes"),
    "compiled": ("tf32=no", "compile=yes"),
    "torch's own choice of TF32": (),
    "TF32": ("tf32=yes",),
    "float16": ("tf32=no", "dtype=float16"),
    "bfloat16": ("tf32=no", "dtype=bfloat16"),
    "autocast to float16": ("tf32=no", "autocast=float16"),
    "autocast to bfloat16": ("tf32=no", "autocast=bfloat16"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One check: what it says, how much of its budget is used, and what it took."""

    network: str
    mode: str
    verdict: str
    ratio: float | None
    cause: str
    seconds: float


def judged(network: str, words: list[str], mode: str) -> Judged:
    """The program on the CPU against CUDA in this mode."""
    settings = ("device=cuda", *MODES[mode])
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "isomorph", "check", *words]
        command += [each for setting in settings for each in ("--set", f"candidate.{setting}")]
        command += ["--format", "json", "--output", str(report)]
        ran = run(command, folder=Path(folder))
        facts = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {}
    terms = [each.get("execution_candidate") or {} for each in facts.get("outputs", [])]
    ratios = [term["budget"]["ratio"] for term in terms if term.get("budget")]
    findings = facts.get("findings", [])
    return Judged(
        network=network,
        mode=mode,
        verdict=facts.get("verdict", ran.tail),
        ratio=max((ratio for ratio in ratios if ratio is not None), default=None),
        cause=str(findings[0]["summary"]) if findings else "",
        seconds=ran.seconds,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--brief", action="store_true", help="small networks only")
    parser.add_argument("--jobs", type=int, default=1, help="checks at a time")
    given = parser.parse_args()
    import torch

    if not torch.cuda.is_available():
        print("skipped: there is no CUDA device")
        return
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        with quiet():
            program, inputs, _ = written_llama(folder, LLAMA)
        pairs = {"llama": [program, program, "--inputs", inputs]}
        for network in (FEW_BLOCKS,) if given.brief else (FEW_BLOCKS, NETWORKS[0]):
            files = written_network(network)
            reference = str(files.reference)
            pairs[files.name] = [reference, reference, "--inputs", str(files.inputs)]
        asked = [(name, words, mode) for name, words in pairs.items() for mode in MODES]
        with ThreadPoolExecutor(given.jobs) as pool:
            for row in pool.map(lambda each: judged(*each), asked):
                rows.append(row)
                print("…", " · ".join(_shown(row)), flush=True)
    titles = ("network", "mode", "verdict", "of the budget", "time", "first finding")
    print(table(titles, [_shown(row) for row in rows]))
    write_json("cuda_modes", {"rows": [asdict(row) for row in rows]})


def _shown(row: Judged) -> tuple[str, ...]:
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
    return row.network, row.mode, row.verdict, ratio, f"{row.seconds:.1f} s", row.cause


if __name__ == "__main__":
    main()
