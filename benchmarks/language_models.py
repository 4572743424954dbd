"""A trained decoder and its conversions, token by token: verdicts, costs, and planted faults.

The model is a GGUF file (SmolLM2-135M-Instruct, for example). PyTorch is compared with the export
by torch.onnx, and with float16, int8 (dynamic) and int4 (MatMulNBits) forms of that export; each is
decoded on the caches of the reference and on its own. Faults are planted in a model that is cut to
its first layers and words, whose weights are the trained ones: every one has to be found, at its
node, with its cause. Without a file, a small model with random weights takes its place.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from decoders.exported import NARROW, Files, written, written_random
from decoders.faults import FAULTS, PlantedFault
from measuring.processes import Ran, run
from measuring.tables import table, write_json

LAYERS, WORDS = 3, 2048
"""Of the model in which faults are planted."""
BRIEF = 17
"""Of so many faults, one is planted in a brief run."""
EXPECTED = {"export": "equivalent", **dict.fromkeys(NARROW, "degraded")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """One clean form against the reference."""

    form: str
    layers: int
    tokens: int
    verdict: str
    first_different: str
    worst_cache: str
    seconds: float
    cpu_seconds: float
    peak_bytes: int
    caches: list[dict[str, Any]]

    @property
    def right(self) -> bool:
        """Whether the verdict is that of a faithful conversion."""
        return self.verdict == EXPECTED[self.form]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was answered to one planted fault."""

    fault: str
    form: str
    verdict: str
    detected: bool
    located: bool
    cause: str
    explained: bool
    node: str
    first_wrong_cache: str
    cpu_seconds: float


def checked(files: Files, candidate: Path, tokens: int) -> tuple[dict[str, Any], Ran]:
    """The report of ``isomorph check --decode``, and what it took."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "isomorph", "check", str(files.reference), str(candidate)]
        command += ["--decode", str(tokens), "--inputs", str(files.prompt)]
        ran = run([*command, "--format", "json", "--output", str(report)], folder=Path(folder))
        if not report.exists():
            return {"verdict": ran.tail, "findings": [], "decoding": None}, ran
        return json.loads(report.read_text(encoding="utf-8")), ran


def converted(files: Files, form: str, tokens: int) -> Converted:
    """A clean form, decoded."""
    report, ran = checked(files, files.form(form), tokens)
    decoding = report["decoding"] or {"own": {}, "caches": []}
    caches = [
        {"cache": each["candidate"], "worst": max(filter(None, each["ratios"]), default=0.0)}
        for each in decoding["caches"]
    ]
    worst = max(caches, key=lambda each: each["worst"], default=None)
    return Converted(
        form=form,
        layers=files.layers,
        tokens=tokens,
        verdict=report["verdict"],
        first_different=_first_different(decoding["own"]),
        worst_cache="" if worst is None else f"{worst['cache']} {worst['worst']:.2f}×",
        seconds=ran.seconds,
        cpu_seconds=ran.cpu_seconds,
        peak_bytes=ran.peak_bytes,
        caches=caches,
    )


def _first_different(own: dict[str, Any]) -> str:
    """The first token that differs on the candidate's own caches, and how it is judged."""
    if own.get("first_different") is None:
        return own.get("failure") or "none"
    return f"{own['first_different']}: {(own.get('choice') or {}).get('judgment', 'not judged')}"


def planted(files: Files, fault: PlantedFault, folder: Path) -> Found:
    """One fault, and whether the answer is the right one."""
    target = folder / f"{fault.name.replace(' ', '_')}.onnx"
    nodes = set(fault.written(files.form(fault.form), target))
    report, ran = checked(files, target, 1)
    target.unlink()
    named = [each for each in report["findings"] if each["node"]]
    at_fault = [each for each in named if nodes & {each["node"], *each["nodes"]}]
    right = [each for each in at_fault if each["cause"] in fault.causes]
    shown = (right or at_fault or named or [{"node": "", "cause": ""}])[0]
    return Found(
        fault=fault.name,
        form=fault.form,
        verdict=report["verdict"],
        detected=report["verdict"] == fault.verdict
        and (fault.verdict == "divergent" or bool(at_fault)),
        located=bool(at_fault),
        explained=bool(right),
        node=shown["node"],
        cause=shown["cause"] or "",
        first_wrong_cache=_first_wrong(report["decoding"]),
        cpu_seconds=ran.cpu_seconds,
    )


def _first_wrong(decoding: dict[str, Any] | None) -> str:
    place = None if decoding is None else decoding["first_wrong_cache"]
    if decoding is None or place is None:
        return ""
    cache = decoding["caches"][place]
    return f"{cache['candidate']} at step {cache['first_wrong']}"


def show_converted(rows: Sequence[Converted]) -> None:
    titles = ("form", "layers", "tokens", "verdict", "first differing token", "worst cache",
              "time", "CPU", "peak memory")  # fmt: skip
    cells = [
        (row.form, str(row.layers), str(row.tokens), row.verdict, row.first_different,
         row.worst_cache, f"{row.seconds:.0f} s", f"{row.cpu_seconds:.0f} s",
         f"{row.peak_bytes / 1e6:.0f} MB")
        for row in rows
    ]  # fmt: skip
    print(table(titles, cells))
    print(f"{sum(row.right for row in rows)} of {len(rows)} verdicts are right\n")


def show_found(rows: Sequence[Found]) -> None:
    titles = ("fault", "form", "verdict", "node", "located", "cause", "right cause",
              "first wrong cache", "CPU")  # fmt: skip
    cells = [
        (row.fault, row.form, row.verdict, row.node, _word(row.located), row.cause,
         _word(row.explained), row.first_wrong_cache, f"{row.cpu_seconds:.0f} s")
        for row in rows
    ]  # fmt: skip
    print(table(titles, cells))
    counts = [sum(getattr(row, name) for row in rows) for name in ("detected", "located")]
    explained = sum(row.explained for row in rows)
    print(f"{counts[0]} detected, {counts[1]} located, {explained} explained of {len(rows)}\n")


def _word(right: bool) -> str:  # noqa: FBT001
    return "yes" if right else "NO"


def made(given: argparse.Namespace, folder: Path) -> Iterator[Files]:
    """The models: whole for the conversions, cut for the faults; in brief, one cut for both."""
    layers = given.layers or (LAYERS if given.brief else None)
    words = given.words or (WORDS if given.brief else None)
    if given.model is None:
        yield written_random(folder / "random")
        return
    yield written(given.model, folder / f"layers_{layers}", layers=layers, words=words)
    if not words:
        yield written(given.model, folder / "cut", layers=given.layers or LAYERS, words=WORDS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", type=Path, help="a GGUF file of a causal decoder")
    parser.add_argument("--brief", action="store_true", help="few layers, tokens and faults")
    parser.add_argument("--layers", type=int, help="cut the model to so many layers")
    parser.add_argument("--words", type=int, help="cut the model to so many words")
    parser.add_argument("--tokens", type=int, help="how many are decoded; 64 unless told")
    parser.add_argument("--only", choices=("conversions", "faults"), help="one of the two")
    parser.add_argument("--forms", default=",".join(EXPECTED), help="as export,int4")
    parser.add_argument("--named", default="", help="only faults whose name contains this")
    parser.add_argument("--folder", type=Path, help="keep the models there for the next run")
    given = parser.parse_args()
    tokens = given.tokens or (1 if given.brief else 64)
    rows: list[Converted] = []
    found: list[Found] = []
    with tempfile.TemporaryDirectory() as scratch:
        files = list(made(given, given.folder or Path(scratch)))
        if given.only != "faults":
            for form in given.forms.split(","):
                print(f"… {form}", flush=True)
                rows.append(converted(files[0], form, tokens))
            show_converted(rows)
        if given.only != "conversions":
            chosen = [each for each in FAULTS if given.named in each.name]
            for fault in chosen[::BRIEF] if given.brief else chosen:
                print(f"… {fault.name}", flush=True)
                found.append(planted(files[-1], fault, Path(scratch)))
            show_found(found)
    results = {
        "conversions": [asdict(row) for row in rows], "faults": [asdict(row) for row in found]
    }  # fmt: skip
    write_json("language_models_brief" if given.brief else "language_models", results)


if __name__ == "__main__":
    main()
