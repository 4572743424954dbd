"""Which operators the installed converters only approximate: each is converted and measured.

Operators come in many forms (modes, flags, ranks, types), as the frameworks' own registries and
test suites offer them. They stand side by side in one model, are converted, and are held against
that model in float64. Where the two meanings differ by more than constants rounded again, and by
more than float32 rounds, the operator is written as a formula that is near it and not it. What a
converter has a rule for and fails on all the same is kept as refused. OpenVINO's files have no
float64 meaning of their own; its run is held against that of the source. The table goes to
src/isomorph/linting/approximated.json, which `isomorph lint` reads.

    python benchmarks/approximations.py                     # every converter
    python benchmarks/approximations.py pytorch_to_tflite   # one, beside what is known already
    python benchmarks/approximations.py --operators gelu resize      # those that are called so
    python benchmarks/approximations.py --brief             # few operators; the table stays
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from measuring.distinguishing import certain, distinguishing_features
from measuring.operators import Bench, groups
from measuring.tables import write_json
from networks.operators.form import called, numbered
from networks.operators.side_by_side import Side

from isomorph import registry
from isomorph.api.environment import open_loader
from isomorph.conversion.converter_worker import ConverterWorker
from isomorph.linting.target_support import lacks

TABLE = Path(__file__).resolve().parents[1] / "src/isomorph/linting/approximated.json"
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

BRIEF_CONVERTER, BRIEF_OPERATORS = "pytorch_to_onnx", ["gelu", "softmax"]
TOGETHER = 32
"""Forms in one model; a model of more takes longer, and is in vain where one of them fails."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("converters", nargs="*", default=CONVERTERS, metavar="CONVERTER")
    parser.add_argument("--operators", nargs="*", default=(), metavar="WORD",
                        help="only operators with this in their name; others stay")  # fmt: skip
    parser.add_argument("--brief", action="store_true",
                        help=f"{BRIEF_CONVERTER} and few operators; the table stays")  # fmt: skip
    given = parser.parse_args()
    if given.brief:
        given.converters, given.operators = [BRIEF_CONVERTER], BRIEF_OPERATORS
    with TemporaryDirectory(prefix="isomorph-operators-") as name:
        for converter in sorted(given.converters, key=lambda each: registry.converter(each).source):
            started = time.monotonic()
            row = _measured(converter, tuple(word.lower() for word in given.operators), Path(name))
            if given.brief:
                write_json("approximations_brief", {converter: row})
            else:
                _keep(converter, row, whole=not given.operators)
            forms = f"{sum(row['operators'].values())} forms of {len(row['operators'])} operators"
            found = f"{len(row['approximated'])} approximated, {len(row['refused'])} refused"
            print(f"{converter}: {forms}; {found}; {time.monotonic() - started:.0f} s", flush=True)


def _keep(converter: str, row: dict[str, Any], *, whole: bool) -> None:
    """The row of a converter in the table that lint reads."""
    known = json.loads(TABLE.read_text(encoding="utf-8")) if TABLE.is_file() else {}
    known[converter] = row if whole else joined(known.get(converter), row)
    text = json.dumps(known, indent=1, sort_keys=True)
    TABLE.write_text(f"{text}\n", encoding="utf-8")


def joined(before: dict[str, Any] | None, row: dict[str, Any]) -> dict[str, Any]:
    """A row with some operators measured anew; measured with other versions, it begins anew."""
    if before is None or before["measured_with"] != row["measured_with"]:
        return row
    anew = set(row["operators"])
    old = {op: count for op, count in before["operators"].items() if op not in anew}
    return {
        "measured_with": row["measured_with"],
        "operators": {**old, **row["operators"]},
        **{
            key: [*row[key], *(each for each in before[key] if each["op"] not in anew)]
            for key in ("approximated", "refused")
        },
    }


def _measured(name: str, words: tuple[str, ...], folder: Path) -> dict[str, Any]:
    """What differs, each with the largest difference in float64, and what is refused."""
    converter = registry.converter(name)
    offered = _offered(converter.source, words, folder)
    converter_worker = ConverterWorker()
    try:
        abilities = converter_worker.abilities("converters", name)
        usable = {key: side for key, side in offered.items() if not lacks(abilities, side.op)}
        with open_loader() as opener:
            bench = Bench(
                converter=name, opener=opener, converter_worker=converter_worker, folder=folder
            )
            places: dict[str, int] = {}
            for group in groups(usable, TOGETHER):
                places |= bench.made(group)
            errors: dict[str, float | None] = {}
            for workaround in sorted(set(places.values())):
                made = {key: usable[key] for key, place in places.items() if place == workaround}
                for group in groups(made, 4 * TOGETHER):
                    errors |= bench.errors(group, workaround)
    finally:
        converter_worker.close()
    judged = {key: error for key, error in errors.items() if error is not None}
    shown = {key: (side.op, side.shown) for key, side in usable.items()}
    near = [(*shown[key], error) for key, error in judged.items() if error]
    others = [shown[key] for key in errors if not errors[key]]
    refused = [(*shown[key], 0.0) for key in usable if key not in errors]
    return {
        "measured_with": _versions(converter.packages),
        "operators": dict(sorted(Counter(side.op for side in usable.values()).items())),
        "approximated": distinguishing_features(near, others),
        "refused": [
            {"op": row["op"], "when": row["when"]}
            for row in distinguishing_features(refused, [shown[key] for key in errors])
            if certain(row, [features for op, features in shown.values() if op == row["op"]])
        ],
    }


@cache
def _offered(framework: str, words: tuple[str, ...], folder: Path) -> dict[str, Side]:
    """Every form that is one node of this framework, of operators that are called so."""
    module = import_module(f"networks.operators.of_{framework}")
    rules = _convertible(framework)
    if framework in _SEARCHED:
        found = module.forms([op for op in sorted(rules) if called(op, words)])
    else:
        found = module.forms(words)
    chosen = {key: form for key, form in numbered(found).items() if not rules or form.op in rules}
    with open_loader() as opener:
        bench = Bench(converter=framework, opener=opener, converter_worker=None, folder=folder)
        return {
            key: side
            for group in groups(chosen, 4 * TOGETHER)
            for key, side in bench.described(group).items()
        }


_SEARCHED = frozenset({"tensorflow", "tflite"})


def _convertible(framework: str) -> set[str]:
    """The operators of a framework that its converters list as supported."""
    converter_worker = ConverterWorker()
    try:
        return {
            operator
            for name in TELLING.get(framework, ())
            for operator in converter_worker.abilities("converters", name)["operators"]
        }
    finally:
        converter_worker.close()


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
