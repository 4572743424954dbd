"""What isomorph costs: each kind of pass and a whole check, beside a plain ONNX Runtime inference.

Passes are timed in turn with plain inferences, so that a busy moment of the machine touches both:
a ratio is the median over such rounds, and beside it stands that of the two fastest. Memory is the
peak of the process (and its children) that did the passes.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from measuring.processes import Ran, StepFailedError, Stepper, run
from measuring.tables import table, write_json
from models import NETWORKS, Files, written

STEP = Path(__file__).resolve().parent / "measuring" / "step.py"
PASSES = 7
PLAIN_PER_PASS = 3
# ONNX Runtime's threads spin for a moment after a run, and would take part in the next one.
PAUSE_SECONDS = 0.05
ORACLE_TARGET = 8.0

KINDS = {
    "capture": ("capture every tensor, ONNX Runtime", "onnx", PASSES),
    "torch": ("PyTorch float32", "torch", PASSES),
    "onnx_oracle": ("ONNX oracle", "onnx", PASSES),
    "onnx_oracle_all": ("ONNX oracle, every tensor", "onnx", PASSES),
    "onnx_oracle_noisy": ("ONNX oracle with noise", "onnx", PASSES),
    "pytorch_oracle": ("PyTorch oracle", "torch", PASSES),
    "pytorch_oracle_noisy": ("PyTorch oracle with noise", "torch", PASSES),
    "reference_evaluator": ("onnx.reference (float32)", "onnx", 1),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One row. ``first_seconds`` is the first pass, in which caches are filled."""

    network: str
    what: str
    seconds: float | None = None
    ratio: float | None = None
    ratio_of_fastest: float | None = None
    first_seconds: float | None = None
    plain_seconds: float | None = None
    peak_bytes: int | None = None
    disk_bytes: int | None = None
    skipped: str | None = None


def passes(files: Files, kind: str) -> Measured:
    """One kind of pass, in turn with plain inferences."""
    title, side, count = KINDS[kind]
    model = files.torch if side == "torch" else files.onnx
    try:
        with (
            Stepper(STEP, "plain", str(files.onnx), str(files.inputs)) as plain,
            Stepper(STEP, kind, str(model), str(files.inputs)) as other,
        ):
            plain.step()
            first = other.step()
            rounds = [
                (_rested(other), [_rested(plain) for _ in range(PLAIN_PER_PASS)])
                for _ in range(count)
            ]
            peak = other.peak_bytes
    except StepFailedError as error:
        return Measured(network=files.name, what=title, skipped=str(error))
    ours = [seconds for seconds, _ in rounds]
    theirs = [seconds for _, plains in rounds for seconds in plains]
    return Measured(
        network=files.name,
        what=title,
        seconds=statistics.median(ours),
        ratio=statistics.median(mine / statistics.median(plains) for mine, plains in rounds),
        ratio_of_fastest=min(ours) / min(theirs),
        first_seconds=first,
        plain_seconds=statistics.median(theirs),
        peak_bytes=peak,
    )


def plain(files: Files) -> Measured:
    """The unit of everything else."""
    with Stepper(STEP, "plain", str(files.onnx), str(files.inputs)) as stepper:
        first = stepper.step()
        seconds = statistics.median(_rested(stepper) for _ in range(PASSES * PLAIN_PER_PASS))
        return Measured(
            network=files.name,
            what="plain ONNX Runtime inference",
            seconds=seconds,
            ratio=1.0,
            ratio_of_fastest=1.0,
            first_seconds=first,
            plain_seconds=seconds,
            peak_bytes=stepper.peak_bytes,
        )


def whole_check(files: Files, usual: float) -> Measured:
    """``isomorph check``, as a user types it; it makes up its own inputs."""
    what = "isomorph check, the whole command"
    command = [sys.executable, "-m", "isomorph", "check", str(files.torch), str(files.onnx)]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        ran = run([*command, "--format", "json", "--output", str(report)], folder=Path(folder))
        if not report.exists():
            return Measured(network=files.name, what=what, skipped=_reason(ran))
        verdict = json.loads(report.read_text(encoding="utf-8"))["verdict"]
    return Measured(
        network=files.name,
        what=f"{what}: {verdict}",
        seconds=ran.seconds,
        ratio=ran.seconds / usual,
        plain_seconds=usual,
        peak_bytes=ran.peak_bytes,
    )


def polygraphy(files: Files, usual: float) -> Measured:
    """The layerwise comparison people use today: ONNX Runtime with itself, by two commands."""
    what = "Polygraphy layerwise, two commands"
    tool = Path(sys.executable).with_name("polygraphy")
    if not tool.exists():
        return Measured(network=files.name, what=what, skipped="polygraphy is not installed")
    capture = [str(tool), "run", str(files.onnx), "--onnxrt", "--onnx-outputs", "mark", "all"]
    with tempfile.TemporaryDirectory() as folder:
        saved = Path(folder) / "outputs.json"
        first = run([*capture, "--save-outputs", str(saved)], folder=Path(folder))
        if first.returncode != 0:
            return Measured(network=files.name, what=what, skipped=_reason(first))
        second = run([*capture, "--load-outputs", str(saved)], folder=Path(folder))
        if second.returncode != 0:
            return Measured(network=files.name, what=what, skipped=_reason(second))
        seconds = first.seconds + second.seconds
        return Measured(
            network=files.name,
            what=what,
            seconds=seconds,
            ratio=seconds / usual,
            plain_seconds=usual,
            peak_bytes=max(first.peak_bytes, second.peak_bytes),
            disk_bytes=saved.stat().st_size,
        )


def measure(files: Files) -> list[Measured]:
    """Every row of one network, told as they come."""
    rows = [plain(files)]
    usual = rows[0].seconds or 0.0
    kinds = [kind for kind in KINDS if kind != "reference_evaluator" or files.name == "resnet50"]
    for kind in kinds:
        print(f"… {files.name}: {KINDS[kind][0]}", flush=True)
        rows.append(passes(files, kind))
    print(f"… {files.name}: whole commands", flush=True)
    rows.append(whole_check(files, usual))
    rows.append(polygraphy(files, usual))
    return rows


def main() -> None:
    rows = [row for network in NETWORKS for row in measure(written(network))]
    print(
        table(
            ("network", "what", "time", "× plain", "fastest", "peak memory"),
            [_shown(r) for r in rows],
        )
    )
    for row in rows:
        if row.skipped:
            print(f"skipped: {row.network}, {row.what}: {row.skipped}")
    oracle = next(row for row in rows if row.what == KINDS["onnx_oracle"][0])
    if oracle.ratio is not None:
        met = "met" if oracle.ratio <= ORACLE_TARGET else "missed"
        print(f"an oracle pass of resnet50 is to cost at most {ORACLE_TARGET:g} plain: {met}")
    write_json("speed", {"oracle_target": ORACLE_TARGET, "rows": [asdict(row) for row in rows]})


def _rested(stepper: Stepper) -> float:
    time.sleep(PAUSE_SECONDS)
    return stepper.step()


def _reason(ran: Ran) -> str:
    return f"exit code {ran.returncode}: {ran.tail}"


def _shown(row: Measured) -> tuple[str, ...]:
    if row.seconds is None or row.ratio is None:
        return row.network, row.what, "skipped", "", "", ""
    memory = f"{(row.peak_bytes or 0) / 1e6:.0f} MB"
    if row.disk_bytes is not None:
        memory += f" + {row.disk_bytes / 1e6:.0f} MB on disk"
    time_ = f"{row.seconds * 1e3:.1f} ms" if row.seconds < 1 else f"{row.seconds:.2f} s"
    fastest = "" if row.ratio_of_fastest is None else f"{row.ratio_of_fastest:.1f}"
    return row.network, row.what, time_, f"{row.ratio:.1f}", fastest, memory


if __name__ == "__main__":
    main()
