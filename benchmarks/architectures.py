"""Small models of many architectures, exported by torch.onnx: which answers are not `equivalent`?

Every model of ``networks/architectures.py`` is written by ``torch.export`` and by
``torch.onnx.export``, and the pair is checked on one input, a padded batch where it reads text.
What is not equivalent is listed with its node and cause. One difference is real: where a mask hides
every key of a row, as a window over padding does, PyTorch returns zeros and the export the mean of
the values (docs/gallery.md).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

from measuring.processes import run
from measuring.tables import table, write_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One pair and what was answered; ``verdict`` is empty where it could not be exported."""

    name: str
    verdict: str
    reason: str
    nodes: str
    cpu_seconds: float


def checked(name: str, words: list[str], folder: Path) -> Checked:
    """``isomorph check`` of a pair."""
    report = folder / f"{name}.json"
    command = [sys.executable, "-m", "isomorph", "check", *words]
    ran = run([*command, "--format", "json", "--output", str(report)], folder=folder)
    facts = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {}
    named = [f"{each['node']} ({each['cause']})" for each in facts.get("findings", ())]
    return Checked(
        name=name,
        verdict=facts.get("verdict", "error"),
        reason=facts.get("reason", ran.tail),
        nodes=", ".join(named[:3]),
        cpu_seconds=ran.cpu_seconds,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--brief", action="store_true", help="one architecture in twenty")
    parser.add_argument("--only", default="", help="architectures whose name contains this")
    given = parser.parse_args()

    from networks.architectures import ARCHITECTURES, exported

    chosen = [each for each in ARCHITECTURES if given.only.lower() in each.name.lower()]
    rows: list[Checked] = []
    for each in chosen[::20] if given.brief else chosen:
        print(f"… {each.name}", flush=True)
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            try:
                files = exported(each, folder)
            except Exception as error:
                reason = f"not exported: {type(error).__name__}"
                rows.append(
                    Checked(name=each.name, verdict="", reason=reason, nodes="", cpu_seconds=0.0)
                )
                continue
            words = [str(files.reference), str(files.candidate), "--inputs", str(files.inputs)]
            for one, other in files.bindings.items():
                words += ["--bind-input", f"{one}={other}"]
            rows.append(checked(each.name, words, folder))
    cells = [
        (row.name, row.verdict or "–", f"{row.cpu_seconds:.1f} s", row.nodes or row.reason)
        for row in rows
        if row.verdict != "equivalent"
    ]
    if cells:
        print(table(("architecture", "verdict", "CPU", "node, or reason"), cells))
    counts = Counter(row.verdict or "not exported" for row in rows)
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()))
    write_json(
        "architectures_brief" if given.brief else "architectures",
        {"rows": [asdict(row) for row in rows]},
    )


if __name__ == "__main__":
    main()
