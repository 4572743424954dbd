"""Tools that are commands: what is typed, and what of their output answers the question."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from measuring.processes import Ran, run

from peer_tools.answers import Answer, answer_in
from peer_tools.make_onnx2tf_pairs import FAULT
from peer_tools.pairs import Pair

Asked = tuple[Answer, list[Ran]]
Tool = Callable[[Pair, Path], Asked]
PROGRAMS = Path(__file__).parent
_FAILED = re.compile(r"FAILED \| Output: '([^']+)'")
_VALIDATED = re.compile(r"onnx_output_name: (\S+) .*validate_result:\s+(\w+)")
_COLOR = re.compile(r"\x1b\[[0-9;]*m")


def program(name: str) -> Tool:
    """A tool that is a Python package: a program of this folder asks it."""

    def ask(pair: Pair, folder: Path) -> Asked:
        ran = run([sys.executable, str(PROGRAMS / name), str(folder)], folder=folder)
        found = answer_in(ran.text)
        return found or Answer(wrong=None, skipped=f"exit {ran.returncode}: {_last(ran)}"), [ran]

    return ask


def by_isomorph(pair: Pair, folder: Path) -> Asked:
    """``isomorph check``, and where it offers one, the repair, measured apart."""
    models = list(dict.fromkeys([pair.reference, pair.candidate]))
    options = ["--inputs", pair.inputs]
    if Path(pair.candidate).suffix == ".mlpackage":
        options.append("--translation-only")
    with tempfile.TemporaryDirectory() as made:
        report = Path(made) / "report.json"
        line = [sys.executable, "-m", "isomorph", "check", *models, *options]
        ran = run([*line, "--format", "json", "-o", str(report)], folder=folder)
        if not report.exists():
            return Answer(wrong=None, skipped=f"exit {ran.returncode}: {_last(ran)}"), [ran]
        facts = json.loads(report.read_text(encoding="utf-8"))
        repaired = Path(made) / f"repaired{Path(pair.candidate).suffix}"
        fix = [sys.executable, "-m", "isomorph", "fix", *models, *options, "-o", str(repaired)]
        repair = ""
        if len(models) == 2 and pair.faulty:
            repair = "proven" if run(fix, folder=folder).returncode == 0 else "none"
    return _of_report(facts, repair), [ran]


def _of_report(facts: dict[str, Any], repair: str) -> Answer:
    verdict = facts["verdict"]
    first = next((each for each in facts["findings"] if each.get("cause")), None)
    wrong = {"divergent": True, "equivalent": False, "degraded": False}.get(verdict)
    if first is None or not wrong:
        return Answer(wrong=wrong, says=verdict)
    names = [first.get("node") or "", *(first.get("reference_nodes") or [])]
    words = next((name for name in names if name), "") or first.get("fix") or ""
    says = f"{verdict}: {words}, cause {first['cause']}, {first['status']}"
    return Answer(
        wrong=True, first=" ".join([*names, first.get("fix") or ""]), says=says,
        cause=f"{first['cause']}: {first.get('fix') or ''}", repair=repair,
    )  # fmt: skip


def by_polygraphy(pair: Pair, folder: Path) -> Asked:
    """Two commands: every tensor of one run is saved, then those of the other are compared."""
    tool = str(Path(sys.executable).with_name("polygraphy"))
    if not Path(tool).exists():
        return Answer(wrong=None, skipped="polygraphy is not installed"), []
    same = pair.reference == pair.candidate
    first_file = _exported(pair, folder)
    # Marked as an output, a tensor cannot be optimized away: the file is then another one.
    marks = [] if same else ["--onnx-outputs", "*"]
    with tempfile.TemporaryDirectory() as made:
        inputs, saved = str(Path(made) / "inputs.json"), str(Path(made) / "outputs.json")
        _write_inputs(folder / pair.inputs, inputs)
        line = ["--onnxrt", *marks, "--load-inputs", inputs]
        plain = ["--graph-optimization-level", "ORT_DISABLE_ALL"] if same else []
        ran = [
            run([tool, "run", first_file, *line, *plain, "--save-outputs", saved], folder=folder),
            run([tool, "run", pair.candidate, *line, "--load-outputs", saved], folder=folder),
        ]
    text = _COLOR.sub("", ran[1].text)
    failed = _FAILED.findall(text)
    compared = text.count("Comparing Output: '")
    says = f"{compared} tensors compared, {len(failed)} fail"
    says += f", the first {failed[0]}" if failed else ""
    if ran[0].returncode or not compared:
        return Answer(wrong=None, skipped=f"exit {ran[0].returncode}: {_last(ran[0])}"), ran
    first = failed[0] if failed else ""
    return Answer(wrong=bool(failed), first=first, compared=compared, says=says), ran


def _exported(pair: Pair, folder: Path) -> str:
    """It reads ONNX alone, so a PyTorch reference is the file that was exported from it."""
    if Path(pair.reference).suffix == ".onnx":
        return pair.reference
    return str(folder.parent / "onnx_clean" / "model.onnx")


def _write_inputs(arrays: Path, target: str) -> None:
    from polygraphy.json import save_json

    found = np.load(arrays)
    save_json([{name: found[name] for name in found.files}], target)


def by_onnx2tf(pair: Pair, folder: Path) -> Asked:
    """The conversion with its own check of every operator, ``-cotof``."""
    tool = str(Path(sys.executable).with_name("onnx2tf"))
    if not Path(tool).exists():
        return Answer(wrong=None, skipped="onnx2tf is not installed"), []
    replaced = ["-prf", FAULT] if (folder / FAULT).exists() else []
    with tempfile.TemporaryDirectory() as made:
        line = [tool, "-i", pair.reference, "-o", made, "-n", "-cotof", *replaced]
        ran = run(line, folder=folder)
    rows = _VALIDATED.findall(_COLOR.sub("", ran.text))
    unmatched = [name for name, result in rows if result == "Unmatched"]
    if not rows:
        return Answer(wrong=None, skipped=f"exit {ran.returncode}: {_last(ran)}"), [ran]
    says = f"{len(rows)} operators compared, {len(unmatched)} unmatched"
    says += f", the first {unmatched[0]}" if unmatched else ""
    first = unmatched[0] if unmatched else ""
    return Answer(wrong=bool(unmatched), first=first, compared=len(rows), says=says), [ran]


def _last(ran: Ran) -> str:
    lines = [line for line in ran.text.strip().splitlines() if line.strip()]
    return lines[-1].strip()[:160] if lines else "no output"
