"""A check on many cores and with a GPU: what they gain.

The same checks on one core, on a few and on all: a clean ResNet-50, a clean BERT, a U-Net with one
wrong weight, which is located, and a clean one on a larger image; and a decoder of the Llama type
on the CPU against the same program on CUDA, its oracle on either. What the machine lacks is left
out and listed. The network of one layer shows the start-up, which more cores make hardly shorter.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from measuring.processes import run
from measuring.tables import table, write_json
from networks.altered import with_wrong_weight
from networks.few_blocks import FEW_BLOCKS
from networks.goal_networks import BERT, LARGE_UNET, ONE_LAYER, UNET
from networks.llama import Sizes
from networks.llama import written as written_llama
from networks.torch_networks import NETWORKS, quiet
from networks.torch_networks import written as written_network

BRIEF = Sizes(layers=2, width=256, heads=8, key_heads=2, hidden=512, words=1000, tokens=16)
ON_CUDA = ("--set", "candidate.device=cuda", "--set", "candidate.tf32=no")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One whole command."""

    what: str
    cores: int
    seconds: float
    cpu_seconds: float
    peak_bytes: int
    says: str
    phases: dict[str, float]


def checked(what: str, words: list[str], cores: int) -> Measured:
    """``isomorph check`` with these words, on so many cores."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        # The command and all that it starts stay on these cores.
        command = ["taskset", "--cpu-list", f"0-{cores - 1}", sys.executable, "-m", "isomorph"]
        command += ["check", *words, "--format", "json", "--output", str(report)]
        ran = run(command, folder=Path(folder))
        facts = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {}
    return Measured(
        what=what,
        cores=cores,
        seconds=ran.seconds,
        cpu_seconds=ran.cpu_seconds,
        peak_bytes=ran.peak_bytes,
        says=facts.get("verdict", ran.tail),
        phases={each["name"]: each["wall"] for each in facts.get("cost", {}).get("phases", [])},
    )


def pairs(folder: Path, *, brief: bool) -> Iterator[tuple[str, list[str]]]:
    """What is checked, and the words of the command."""
    whole = ONE_LAYER, NETWORKS[0], BERT, UNET, LARGE_UNET
    for network in (ONE_LAYER, FEW_BLOCKS) if brief else whole:
        files = written_network(network)
        name, candidate = files.name, files.candidate
        if network is UNET:
            name, candidate = f"{name}, one wrong weight", folder / "altered.onnx"
            with_wrong_weight(files.candidate, candidate)
        yield name, [str(files.reference), str(candidate), "--inputs", str(files.inputs)]


def by_cores(counts: Sequence[int], folder: Path, *, brief: bool) -> list[Measured]:
    """The checks on so many cores."""
    rows = []
    for name, words in pairs(folder, brief=brief):
        for cores in counts:
            if cores <= (os.cpu_count() or 1):
                print(f"… {name} on {cores} cores", flush=True)
                rows.append(checked(name, words, cores))
    return rows


def by_device(folder: str, *, brief: bool) -> list[Measured]:
    """The CPU against CUDA, with the oracle on each."""
    with quiet():
        program, inputs, parameters = written_llama(folder, BRIEF if brief else Sizes())
    words = [program, program, "--inputs", inputs, *ON_CUDA]
    name, cores = f"llama of {parameters / 1e9:.2f}B, CPU against CUDA", os.cpu_count() or 1
    print(f"… {name}", flush=True)
    return [
        checked(f"{name}, oracle on {device}", [*words, "--set", f"oracle.device={device}"], cores)
        for device in ("cpu", "cuda")
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--brief", action="store_true", help="small networks: rough figures, soon")
    parser.add_argument("--only", choices=("cores", "cuda"), help="one of the two questions")
    parser.add_argument(
        "--cores",
        default="1,2,4,8,16,32",
        help="numbers of cores, as 1,16; as far as there are",
    )
    given = parser.parse_args()
    import torch

    rows: list[Measured] = []
    if given.only != "cuda":
        with tempfile.TemporaryDirectory() as folder:
            counts = [int(count) for count in given.cores.split(",")]
            rows += by_cores(counts, Path(folder), brief=given.brief)
    if given.only != "cores" and torch.cuda.is_available():
        with tempfile.TemporaryDirectory() as folder:
            rows += by_device(folder, brief=given.brief)
    titles = ("what", "cores", "time", "times as fast", "CPU", "peak memory", "says")
    print(table(titles, [_shown(row, rows) for row in rows]))
    if given.only != "cores" and not torch.cuda.is_available():
        print("skipped: CPU against CUDA: there is no CUDA device")
    write_json("devices_brief" if given.brief else "devices", {"rows": [asdict(r) for r in rows]})


def _shown(row: Measured, rows: list[Measured]) -> tuple[str, ...]:
    """The cells of a row; the time beside that of the same check on one core."""
    alone = [each.seconds for each in rows if each.what == row.what and each.cores == 1]
    return (
        row.what,
        str(row.cores),
        f"{row.seconds:.1f} s",
        f"{alone[0] / row.seconds:.1f}" if alone else "",
        f"{row.cpu_seconds:.1f} s",
        f"{row.peak_bytes / 1e6:.0f} MB",
        row.says,
    )


if __name__ == "__main__":
    main()
