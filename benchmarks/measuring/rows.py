"""Measured rows: each kind of pass, and whole commands, beside a plain inference of the same run.

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
from dataclasses import dataclass
from pathlib import Path

from networks.altered import with_fault
from networks.files import Files
from networks.kinds import Kind

from measuring.processes import Ran, StepFailedError, Stepper, run

STEP = Path(__file__).resolve().parent / "step.py"
# Threads of a runtime spin for a moment after a run, and would take part in the next one.
PAUSE_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How often a pass is repeated, and how many plain inferences stand beside each."""

    passes: int = 7
    plain_per_pass: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One row. ``first_seconds`` is the first pass, in which caches are filled.

    ``oracle_passes`` is the time as a multiple of one float64 pass over the candidate.
    """

    network: str
    what: str
    seconds: float | None = None
    ratio: float | None = None
    ratio_of_fastest: float | None = None
    oracle_passes: float | None = None
    first_seconds: float | None = None
    plain_seconds: float | None = None
    peak_bytes: int | None = None
    disk_bytes: int | None = None
    skipped: str | None = None


def passes(files: Files, kind: Kind, plain: Kind, effort: Effort) -> Measured:
    """One kind of pass, in turn with plain inferences."""
    try:
        with _stepper(files, plain) as usual, _stepper(files, kind) as other:
            usual.step()
            first = other.step()
            rounds = [
                (_rested(other), [_rested(usual) for _ in range(effort.plain_per_pass)])
                for _ in range(1 if kind.slow else effort.passes)
            ]
            peak = other.peak_bytes
    except StepFailedError as error:
        return Measured(network=files.name, what=kind.title, skipped=str(error))
    ours = [seconds for seconds, _ in rounds]
    ref = [seconds for _, plains in rounds for seconds in plains]
    return Measured(
        network=files.name,
        what=kind.title,
        seconds=statistics.median(ours),
        ratio=statistics.median(cand / statistics.median(plains) for cand, plains in rounds),
        ratio_of_fastest=min(ours) / min(ref),
        first_seconds=first,
        plain_seconds=statistics.median(ref),
        peak_bytes=peak,
    )


def plain_inference(files: Files, plain: Kind, effort: Effort) -> Measured:
    """The unit of everything else."""
    with _stepper(files, plain) as stepper:
        first = stepper.step()
        count = effort.passes * effort.plain_per_pass
        seconds = statistics.median(_rested(stepper) for _ in range(count))
        return Measured(
            network=files.name,
            what=plain.title,
            seconds=seconds,
            ratio=1.0,
            ratio_of_fastest=1.0,
            first_seconds=first,
            plain_seconds=seconds,
            peak_bytes=stepper.peak_bytes,
        )


def _stepper(files: Files, kind: Kind) -> Stepper:
    model = files.reference if kind.side == "reference" else files.candidate
    return Stepper(STEP, kind.step, str(model), str(files.inputs))


def whole_check(
    files: Files,
    usual: float,
    *words: str,
    candidate: Path | None = None,
    what: str = "isomorph check, the whole command",
) -> Measured:
    """``isomorph check``, as a user types it; it makes up its own inputs."""
    models = [str(files.reference), str(candidate or files.candidate)]
    command = [sys.executable, "-m", "isomorph", "check", *models, *words]
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


def localization(files: Files, usual: float) -> list[Measured]:
    """A planted fault: what the verdict costs, what it costs with the faulty node, and the rest."""
    with tempfile.TemporaryDirectory() as folder:
        faulty = Path(folder) / "faulty.onnx"
        with_fault(files.candidate, faulty)
        title = "isomorph check, a planted fault"
        verdict = whole_check(
            files, usual, "--no-locate", candidate=faulty, what=f"{title}, --no-locate"
        )
        whole = whole_check(files, usual, candidate=faulty, what=title)
    if verdict.seconds is None or whole.seconds is None:
        return [verdict, whole]
    on_top = whole.seconds - verdict.seconds
    rest = Measured(
        network=files.name,
        what="localization and cause, on top of the verdict",
        seconds=on_top,
        ratio=on_top / usual,
        plain_seconds=usual,
    )
    return [verdict, whole, rest]


def polygraphy(files: Files, usual: float) -> Measured:
    """The layerwise comparison people use today: ONNX Runtime with itself, by two commands."""
    what = "Polygraphy layerwise, two commands"
    tool = Path(sys.executable).with_name("polygraphy")
    if not tool.exists():
        return Measured(network=files.name, what=what, skipped="polygraphy is not installed")
    capture = [str(tool), "run", str(files.candidate), "--onnxrt", "--onnx-outputs", "mark", "all"]
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


def _rested(stepper: Stepper) -> float:
    time.sleep(PAUSE_SECONDS)
    return stepper.step()


def _reason(ran: Ran) -> str:
    return f"exit code {ran.returncode}: {ran.tail}"
