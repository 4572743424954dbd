"""Which operators the installed converters only approximate: each is converted and measured.

Operators of one argument are found in the frameworks' own registries, put side by side into one
model, converted, and held against the first model in float64. Where the two meanings differ by more
than constants rounded again explain, the operator is written as a formula that is near it and not
it. What a converter has a rule for and fails on all the same is kept as refused. The table goes to
src/isomorph/stages/lint/approximated.json, which `isomorph lint` reads.

    python benchmarks/approximations.py                     # every converter
    python benchmarks/approximations.py pytorch_to_tflite   # one, beside what is known already
    python benchmarks/approximations.py pytorch_to_tflite aten.erf.default aten.tan.default
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import isomorph
from isomorph import registry
from isomorph.core.conversion import Order, Step
from isomorph.core.divergence import Judgement, Verdict
from isomorph.core.errors import IsomorphError
from isomorph.opening import intake
from isomorph.stages.convert.workshop import Workshop
from isomorph.stages.lint.tables import lacks

TABLE = Path(__file__).resolve().parents[1] / "src/isomorph/stages/lint/approximated.json"
MAKER = Path(__file__).parent / "networks" / "of_operators.py"
SUFFIXES = {"onnx": ".onnx", "pytorch": ".pt2", "tensorflow": ""}
CONVERTERS = (
    "onnx_to_tensorflow", "onnx_to_tflite", "pytorch_to_onnx", "pytorch_to_onnx_legacy",
    "pytorch_to_tflite", "tensorflow_to_onnx", "tensorflow_to_tflite",
)  # fmt: skip


def main() -> None:
    wanted, ops = sys.argv[1:2] or CONVERTERS, sys.argv[2:]
    with TemporaryDirectory(prefix="isomorph-operators-") as name:
        for converter in wanted:
            started = time.monotonic()
            row = _measured(converter, ops, Path(name))
            known = json.loads(TABLE.read_text(encoding="utf-8")) if TABLE.is_file() else {}
            known[converter] = _together(known.get(converter), row) if ops else row
            text = json.dumps(known, indent=1, sort_keys=True)
            TABLE.write_text(f"{text}\n", encoding="utf-8")
            print(f"{converter}: {len(row['approximated'])} of {len(row['converted'])} "
                  f"approximated, {len(row['refused'])} refused, "
                  f"{time.monotonic() - started:.0f} s", flush=True)  # fmt: skip


def _together(before: dict[str, Any] | None, row: dict[str, Any]) -> dict[str, Any]:
    """A row with some operators measured anew; measured with other versions, it begins anew."""
    if before is None or before["measured_with"] != row["measured_with"]:
        return row
    anew = {*row["converted"], *row["refused"]}
    old = {op: error for op, error in before["approximated"].items() if op not in anew}
    return {
        "measured_with": row["measured_with"],
        "approximated": {**old, **row["approximated"]},
        **{
            key: sorted({*row[key], *(op for op in before[key] if op not in anew)})
            for key in ("converted", "refused")
        },
    }


def _measured(name: str, ops: Sequence[str], folder: Path) -> dict[str, Any]:
    """The operators that differ, each with the largest difference in float64; and the refused."""
    converter = registry.converter(name)
    offered = _made(converter.source, folder / "all", ())
    found: dict[str, float] = {}
    converted: list[str] = []
    workshop = Workshop()
    try:
        told = workshop.abilities("converters", name)
        usable = [op for op in offered if not lacks(told, op) and (not ops or op in ops)]
        for done, report in _converted(name, usable, folder, workshop):
            converted += done
            for op, output in zip(done, report.outputs, strict=True):
                part = output.translation
                if part is not None and part.budget.within is Judgement.NO:
                    found[op] = float(f"{part.distance.max_abs:.1e}")
    finally:
        workshop.close()
    return {
        "measured_with": _versions(converter.packages),
        "approximated": found,
        "converted": sorted(converted),
        "refused": [op for op in usable if op not in converted],
    }


def _converted(
    name: str, ops: Sequence[str], folder: Path, workshop: Workshop
) -> Iterator[tuple[Sequence[str], Any]]:
    """All at once; where that fails, in halves, until what fails stands alone."""
    if not ops:
        return
    report = _checked(name, ops, folder, workshop)
    if report is not None and len(report.outputs) == len(ops):
        yield ops, report
    elif len(ops) > 1:
        middle = len(ops) // 2
        yield from _converted(name, ops[:middle], folder, workshop)
        yield from _converted(name, ops[middle:], folder, workshop)


def _checked(name: str, ops: Sequence[str], folder: Path, workshop: Workshop) -> Any:
    """The check of the result against the model of these operators; None where none came out."""
    converter = registry.converter(name)
    place = folder / f"{name}-{len(list(folder.iterdir()))}"
    place.mkdir()
    model = place / f"model{SUFFIXES[converter.source]}"
    _made(converter.source, model, ops)
    inputs = place / "inputs.npz"
    with intake(in_process=False) as opener:
        specs = opener.load(str(model)).graph.inputs
    step = Step(converter=name, source=converter.source, target=converter.target)
    # A cure changes what is said of an operator, so it is tried on one that stands alone.
    cures = [cure.options for cure in converter.cures] if len(ops) == 1 else []
    for options in ({}, *cures):
        order = Order(source="", target="", example=str(inputs), inputs=specs, options=options)
        attempt = workshop.make(step, str(model), order, f"result{converter.suffix}")
        if attempt.trouble is None:
            try:
                report = isomorph.check(model, attempt.path, inputs=inputs, locate=False)
            except IsomorphError:
                continue
            if report.verdict is not Verdict.UNKNOWN:
                return report
    return None


def _made(framework: str, path: Path, ops: Sequence[str]) -> list[str]:
    """Have the model of these operators written (of all, where none is named); those in it."""
    command = [sys.executable, "-W", "ignore", str(MAKER), framework, str(path), *ops]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(ran.stdout.splitlines()[-1])


def _versions(packages: Sequence[str]) -> dict[str, str]:
    owners = packages_distributions()
    found = {}
    for package in packages:
        try:
            owner = owners.get(package, [package])[0]
            found[owner] = version(owner)
        except PackageNotFoundError:
            continue
    return found


if __name__ == "__main__":
    main()
