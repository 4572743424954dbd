"""Which operators the installed converters only approximate: each is converted and measured.

Operators come in many forms (modes, flags, ranks, types), as the frameworks' own registries and
test suites offer them. They stand side by side in one model, are converted, and are held against
that model in float64. Where the two meanings differ by more than constants rounded again, and by
more than float32 rounds, the operator is written as a formula that is near it and not it. What a
converter has a rule for and fails on all the same is kept as refused. OpenVINO's files have no
float64 meaning of their own; its run is held against that of the source. The table goes to
src/isomorph/stages/lint/approximated.json, which `isomorph lint` reads.

    python benchmarks/approximations.py                     # every converter
    python benchmarks/approximations.py pytorch_to_tflite   # one, beside what is known already
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from measuring.operators import Bench, groups
from measuring.telling_apart import told_apart
from networks.operators.form import numbered
from networks.operators.side_by_side import Side

from isomorph import registry
from isomorph.opening import intake
from isomorph.stages.convert.workshop import Workshop
from isomorph.stages.lint.tables import lacks

TABLE = Path(__file__).resolve().parents[1] / "src/isomorph/stages/lint/approximated.json"
CONVERTERS = (
    "onnx_to_openvino", "onnx_to_tensorflow", "onnx_to_tflite", "pytorch_to_onnx",
    "pytorch_to_onnx_legacy", "pytorch_to_openvino", "pytorch_to_tflite", "tensorflow_to_onnx",
    "tensorflow_to_tflite", "tflite_to_onnx",
)  # fmt: skip
TELLING = {
    "pytorch": ("pytorch_to_onnx", "pytorch_to_tflite"),
    "tensorflow": ("tensorflow_to_onnx",),
    "tflite": ("tensorflow_to_onnx",),
}
"""Whose rules name the operators that are worth a look; ONNX's are few enough to take all."""

TOGETHER = 32
"""Forms in one model; a model of more takes longer, and is in vain where one of them fails."""


def main() -> None:
    wanted = sys.argv[1:] or CONVERTERS
    with TemporaryDirectory(prefix="isomorph-operators-") as name:
        for converter in sorted(wanted, key=lambda each: registry.converter(each).source):
            started = time.monotonic()
            row = _measured(converter, Path(name))
            known = json.loads(TABLE.read_text(encoding="utf-8")) if TABLE.is_file() else {}
            text = json.dumps({**known, converter: row}, indent=1, sort_keys=True)
            TABLE.write_text(f"{text}\n", encoding="utf-8")
            print(f"{converter}: {row['forms']} forms of {row['operators']} operators; "
                  f"{len(row['approximated'])} approximated, {len(row['refused'])} refused; "
                  f"{time.monotonic() - started:.0f} s", flush=True)  # fmt: skip


def _measured(name: str, folder: Path) -> dict[str, Any]:
    """What differs, each with the largest difference in float64, and what is refused."""
    converter = registry.converter(name)
    offered = _offered(converter.source, folder)
    workshop = Workshop()
    try:
        told = workshop.abilities("converters", name)
        usable = {key: side for key, side in offered.items() if not lacks(told, side.op)}
        with intake(in_process=False) as opener:
            bench = Bench(converter=name, opener=opener, workshop=workshop, folder=folder)
            done = [key for group in groups(usable, TOGETHER) for key in bench.made(group)]
            made = {key: usable[key] for key in done}
            errors: dict[str, float | None] = {}
            for group in groups(made, 4 * TOGETHER):
                errors.update(bench.errors(group))
    finally:
        workshop.close()
    judged = {key: error for key, error in errors.items() if error is not None}
    refused = [side for key, side in usable.items() if key not in errors]
    return {
        "measured_with": _versions(converter.packages),
        "forms": len(judged),
        "operators": len({usable[key].op for key in judged}),
        "approximated": told_apart(
            [(usable[key].op, usable[key].shown, error) for key, error in judged.items() if error],
            [(usable[key].op, usable[key].shown) for key, error in judged.items() if not error],
        ),
        "refused": [
            {"op": row["op"], "when": row["when"]}
            for row in told_apart(
                [(side.op, side.shown, 0.0) for side in refused],
                [(usable[key].op, usable[key].shown) for key in errors],
            )
        ],
    }


@cache
def _offered(framework: str, folder: Path) -> dict[str, Side]:
    """Every form that is one node of this framework."""
    module = import_module(f"networks.operators.of_{framework}")
    rules = _told(framework)
    found = numbered(module.forms(sorted(rules)) if framework in _SEARCHED else module.forms())
    chosen = {key: form for key, form in found.items() if not rules or form.op in rules}
    with intake(in_process=False) as opener:
        bench = Bench(converter=framework, opener=opener, workshop=None, folder=folder)
        return {
            key: side
            for group in groups(chosen, 4 * TOGETHER)
            for key, side in bench.described(group).items()
        }


_SEARCHED = frozenset({"tensorflow", "tflite"})


def _told(framework: str) -> set[str]:
    workshop = Workshop()
    try:
        return {
            operator
            for name in TELLING.get(framework, ())
            for operator in workshop.abilities("converters", name)["operators"]
        }
    finally:
        workshop.close()


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
