"""Every tool on every pair that it can be asked about, and whether what it answers is right."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from peer_tools.answers import Answer
from peer_tools.commands import (
    PROGRAMS,
    Tool,
    by_isomorph,
    by_onnx2tf,
    by_polygraphy,
    program,
)
from peer_tools.pairs import Pair, read_pair

TITLES = ("pair", "tool", "time", "CPU", "peak memory", "right", "named", "cause", "says")
TOOLS: dict[str, Tool] = {
    "isomorph": by_isomorph,
    "Polygraphy": by_polygraphy,
    "torch.onnx": program("ask_torch_onnx.py"),
    "ONNX Runtime's debugger": program("ask_ort_debugger.py"),
    "onnx2tf": by_onnx2tf,
    "QuantizationDebugger": program("ask_tflite_debugger.py"),
    "ai-edge-quantizer": program("ask_ai_edge_quantizer.py"),
    "ExecuTorch's Inspector": program("ask_executorch_inspector.py"),
    "Core ML's comparator": program("ask_coreml_comparator.py"),
}
ASKED = {
    "onnx_clean": ("isomorph", "Polygraphy", "torch.onnx"),
    "onnx_epsilon": ("isomorph", "Polygraphy", "torch.onnx"),
    "onnx_channels": ("isomorph", "Polygraphy", "torch.onnx"),
    "qdq_clean": ("isomorph", "Polygraphy", "ONNX Runtime's debugger"),
    "qdq_clipped": ("isomorph", "Polygraphy", "ONNX Runtime's debugger"),
    "ort_optimizer": ("isomorph", "Polygraphy"),
    "onnx2tf_clean": ("isomorph", "onnx2tf"),
    "onnx2tf_axes": ("isomorph", "onnx2tf"),
    "tflite_clean": ("isomorph", "QuantizationDebugger", "ai-edge-quantizer"),
    "tflite_clipped": ("isomorph", "QuantizationDebugger", "ai-edge-quantizer"),
    "executorch_clean": ("isomorph", "ExecuTorch's Inspector"),
    "executorch_gelu": ("isomorph", "ExecuTorch's Inspector"),
    "coreml_reciprocal": ("isomorph", "Core ML's comparator"),
}
_MAKERS = ("torch_pairs", "keras_pairs", "onnx2tf_pairs", "executorch_pairs", "coreml_pair")
# ExecuTorch runs programs without pandas; its Inspector gives a table of it.
_MISSING = ("pandas", "python-dateutil", "six")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One tool on one pair. ``right`` is None where the tool leaves the judgment to its user."""

    pair: str
    title: str
    tool: str
    seconds: float
    cpu_seconds: float
    peak_bytes: int
    right: bool | None
    named: bool | None
    answer: Answer


def made(folder: Path) -> list[str]:
    """Make the pairs that are not there; gives those that could not be made, with the reason."""
    failed = []
    for name in _MAKERS:
        done = folder / f"{name}.done"
        if done.exists():
            continue
        line = [sys.executable, str(PROGRAMS / f"make_{name}.py"), str(folder)]
        ran = subprocess.run(line, capture_output=True, text=True, check=False)
        if ran.returncode:
            failed.append(f"{name}: {ran.stderr.strip().splitlines()[-1]}")
        else:
            done.touch()
    return failed


def with_packages(folder: Path) -> None:
    """Packages that a tool needs and nothing else here does, in a folder of their own."""
    if not folder.exists():
        # Without what they require: another NumPy would take the place of the installed one.
        line = [sys.executable, "-m", "pip", "install", "--no-deps", "--target", str(folder)]
        subprocess.run([*line, *_MISSING], check=False, capture_output=True)
    known = [each for each in (os.environ.get("PYTHONPATH"), str(folder)) if each]
    os.environ["PYTHONPATH"] = os.pathsep.join(known)


def rows(folder: Path, only: Iterable[str] = ()) -> Iterator[Row]:
    """Ask, one after the other."""
    chosen = set(only)
    for name, tools in ASKED.items():
        if not (folder / name).exists() or (chosen and name not in chosen):
            continue
        pair = read_pair(folder / name)
        for tool in tools:
            answer, ran = TOOLS[tool](pair, (folder / name).resolve())
            yield Row(
                pair=name, title=pair.title, tool=tool, answer=answer,
                seconds=sum(each.seconds for each in ran),
                cpu_seconds=sum(each.cpu_seconds for each in ran),
                peak_bytes=max((each.peak_bytes for each in ran), default=0),
                right=right(pair, answer), named=named(pair, answer),
            )  # fmt: skip


def right(pair: Pair, answer: Answer) -> bool | None:
    """Whether a tool that judges says of the pair what is so."""
    if answer.wrong is None or answer.skipped:
        return None
    return answer.wrong == bool(pair.faulty)


def named(pair: Pair, answer: Answer) -> bool | None:
    """Whether what a tool names first is the fault. None where there is no fault to name."""
    if not pair.faulty or answer.skipped:
        return None
    first = answer.first.replace("=", " ").split()
    return any(name in first for name in pair.faulty)


def shown(row: Row) -> tuple[str, ...]:
    """The cells of a row."""
    word = {True: "yes", False: "no", None: "–"}
    words = f"skipped: {row.answer.skipped}" if row.answer.skipped else row.answer.says
    cause = row.answer.cause.partition(":")[0] or "–"
    if row.answer.repair:
        cause += f", repair {row.answer.repair}"
    return (
        row.pair, row.tool, f"{row.seconds:.1f} s", f"{row.cpu_seconds:.1f} s",
        f"{row.peak_bytes / 1e6:.0f} MB", word[row.right], word[row.named], cause, words,
    )  # fmt: skip
