"""Which way from which format to which, in which width, works: eight small models, and real ones.

Everything is really converted, hop by hop, and each result is compared with the first model. The
figures go to benchmarks/results/routes.json, the table of all models together to docs/routes.md.
Every row takes the place of the one that was there as soon as it is measured; others stay, those
too that only the page has.

    python benchmarks/routes.py            # the eight small models, every route
    python benchmarks/routes.py --real     # published models too, each kind until one is proven
    python benchmarks/routes.py --only cnn --width float16 int8
    python benchmarks/routes.py --last pytorch_to_executorch openvino_to_int8
    python benchmarks/routes.py --brief    # one small model as it is; the page stays
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from measuring.tables import RESULTS, write_json

from isomorph import registry
from isomorph.api.environment import open_loader
from isomorph.checking.config import CheckConfig
from isomorph.conversion.all_routes import RouteResult, try_all_routes
from isomorph.conversion.converter_worker import ConverterWorker
from isomorph.conversion.plan import formats, routes
from isomorph.core.conversion import AS_IS
from isomorph.core.errors import IsomorphError, UsageError
from isomorph.inputs.data_sets import data_set
from isomorph.inputs.generate import generate
from isomorph.store.input_files import write_arrays

PAGE = Path(__file__).resolve().parents[1] / "docs" / "routes.md"
MAKER = Path(__file__).parent / "networks" / "to_convert.py"
WIDTHS = (AS_IS, "float16", "dynamic", "palettized", "int8", "int16x8")
SMALL = ("cnn.pt2", "lstm.pt2", "encoder.pt2", "cnn.keras", "gru.keras", "dense.onnx",
         "cnn.jax", "scan.jax")  # fmt: skip
NAMED = ("onnx_opset", "onnx_slim", "pytorch_to_executorch_portable")
"""Converters that are used only where they are named."""
REAL = (
    ("basic-pitch", "basic_pitch/saved_models/icassp_2022/nmp.onnx"),
    ("basic-pitch", "basic_pitch/saved_models/icassp_2022/nmp/saved_model.pb"),
    ("openwakeword", "openwakeword/resources/models/alexa_v0.1.onnx"),
    ("fer", "fer/data/emotion_model.hdf5"),
    ("fer", "fer/data/emotion_model_quantized.tflite"),
)
_BELOW, _LINE = "below_rounding", "line"
LONGEST = 200
"""Characters of a reason."""

BRIEF_MODEL = "dense.onnx"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--real", action="store_true", help="published models too")
    parser.add_argument("--only", nargs="*", default=None, metavar="NAME", help="these models")
    parser.add_argument("--width", nargs="*", default=None, metavar="WIDTH",
                        help="these widths; 'as-it-is' narrows nothing")  # fmt: skip
    parser.add_argument(
        "--last", nargs="*", default=(), metavar="CONVERTER",
        help="to each target the first proven route that ends with one of these",
    )  # fmt: skip
    parser.add_argument("--brief", action="store_true",
                        help=f"every route of {BRIEF_MODEL} as it is; the page stays")  # fmt: skip
    given = parser.parse_args()
    if given.brief:
        given.only, given.width = [BRIEF_MODEL], ["as-it-is"]
    last: Sequence[str] = given.last
    kept = Kept("routes_brief", None) if given.brief else Kept("routes", PAGE)
    widths = [w for w in WIDTHS if given.width is None or (w or "as-it-is") in given.width]
    with TemporaryDirectory(prefix="isomorph-routes-") as name:
        folder = Path(name)
        command = [sys.executable, "-W", "ignore", str(MAKER), str(folder)]
        subprocess.run(command, check=True, capture_output=True)
        for model in SMALL:
            if _wanted(model, given.only):
                _surveyed(
                    kept, folder / model, folder / f"{model} samples", model, widths, last,
                    every=True,
                )  # fmt: skip
        for package, path in REAL if given.real else ():
            found = _carried(package, path)
            if found is not None and _wanted(path, given.only):
                samples = _made_up(found, folder / f"samples of {_label(package, found)}")
                label = _label(package, found)
                _surveyed(kept, found, samples, label, widths, last, every=False)


@dataclass(frozen=True, slots=True)
class Kept:
    """Where rows are kept: the name of the figures, and a page if there is one."""

    name: str
    page: Path | None

    def keep(self, row: dict[str, Any]) -> None:
        """The row in the place of the one that was there, in the figures and on the page."""
        rows = self._rows()
        places = {_key(each): place for place, each in enumerate(rows)}
        if _key(row) in places:
            rows[places[_key(row)]] = row
        else:
            rows.append(row)
        order = [*SMALL, *(_label(package, Path(path)) for package, path in REAL)]
        rows = [each for each in rows if each["model"] in order]
        rows.sort(key=lambda each: (order.index(each["model"]), WIDTHS.index(each["width"])))
        write_json(self.name, {"routes": rows})
        if self.page is not None:
            self.page.write_text(_page(rows), encoding="utf-8")

    def _rows(self) -> list[dict[str, Any]]:
        """The figures, and what the page has from runs whose figures are not here."""
        path = RESULTS / f"{self.name}.json"
        rows = json.loads(path.read_text(encoding="utf-8"))["routes"] if path.is_file() else []
        known = {_key(row) for row in rows}
        written = self.page.read_text(encoding="utf-8") if self.page is not None else ""
        return rows + [row for row in _read_rows(written) if _key(row) not in known]


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["model"], tuple(row.get("converters", (row["route"],))), row["width"]


def _read_rows(page: str) -> Iterator[dict[str, Any]]:
    """The rows of a page, to be written as they are."""
    model = ""
    known = set(registry.names("converters"))
    for line in page.splitlines():
        if line.startswith("## "):
            model = line.removeprefix("## ")
        elif model and line.startswith("| ") and not line.startswith(("| route |", "| --- |")):
            route, width, *_ = (cell.strip() for cell in line.strip("|").split("|"))
            steps = route.split(" → ")
            made = {"converters": steps} if set(steps) <= known else {}
            yield {
                "model": model,
                "route": route,
                "width": AS_IS if width == "as it is" else width,
                _LINE: line,
            } | made


def _label(package: str, path: Path) -> str:
    """A SavedModel is called by its folder."""
    return f"{package}: {path.parent.name if path.name == 'saved_model.pb' else path.name}"


def _wanted(model: str, only: list[str] | None) -> bool:
    return only is None or any(word in model for word in only)


def _carried(package: str, path: str) -> Path | None:
    try:
        listed = files(package) or []
    except PackageNotFoundError:
        return None
    found = next((Path(str(entry.locate())) for entry in listed if str(entry) == path), None)
    return found.parent if found is not None and found.name == "saved_model.pb" else found


def _made_up(source: Path, folder: Path) -> Path:
    """Samples for a model whose data nobody here has; enough to calibrate, not to deploy."""
    folder.mkdir(parents=True)
    with open_loader() as opener:
        graph = opener.load(str(source)).graph
    for seed in range(4):
        feeds = generate(graph, {}, sample="normal", seed=seed)
        write_arrays(folder / f"{seed}.npz", feeds)
    return folder


def _surveyed(
    kept: Kept, source: Path, samples: Path | None, label: str, widths: Sequence[str],
    last: Sequence[str], *, every: bool,
) -> None:  # fmt: skip
    """The routes of one model; integers only where there are samples to calibrate on."""
    data = data_set(samples) if samples is not None and samples.is_dir() else None
    converter_worker = ConverterWorker()
    try:
        with open_loader() as opener:
            if AS_IS in widths:
                targets = {registry.converter(name).target for name in last} or set(formats())
                _keep_impossible(kept, label, opener.load(str(source)).framework, targets)
            for width in widths:
                integers = width in {"int8", "int16x8"}
                if integers and data is None:
                    continue
                options = CheckConfig(
                    data=data if integers else None, locate=False, translation_only=True
                )
                named = () if width != AS_IS else NAMED
                trips = try_all_routes(
                    str(source),
                    opener,
                    converter_worker,
                    options,
                    widths=(width,),
                    named=named,
                    best=not every or bool(last) or width != AS_IS,
                    particular={"onnx_opset": {"opset": "21"}},
                    last=last,
                )
                started = time.monotonic()
                for trip in trips:
                    row = _row(label, trip)
                    kept.keep(row)
                    print(_line(row, time.monotonic() - started), flush=True)
                    started = time.monotonic()
    except IsomorphError as error:
        kept.keep({"model": label, "route": "", "width": "", "outcome": "unread",
                   "reason": error.sentence})  # fmt: skip
    finally:
        converter_worker.close()


def _keep_impossible(kept: Kept, model: str, framework: str, targets: Collection[str]) -> None:
    """The formats among ``targets`` that no converter leads to."""
    for target in sorted(targets):
        try:
            assert target == framework or routes(framework, target)
        except UsageError as error:
            kept.keep({"model": model, "route": f"{framework} → {target}", "width": AS_IS,
                       "outcome": "no way", "reason": error.sentence})  # fmt: skip


def _row(model: str, trip: RouteResult) -> dict[str, Any]:
    last = trip.hops[-1]
    report = last.report
    whole = len(trip.hops) == len(trip.route.steps)
    translation = observed = None
    if report is not None and whole:
        compared = [each.translation or each.intended_loss for each in report.outputs]
        parts = [part for part in compared if part is not None]
        translation = max((part.distance.max_abs or 0.0 for part in parts), default=None)
        seen = [each.observed for each in report.outputs if each.observed is not None]
        observed = max((part.distance.max_abs or 0.0 for part in seen), default=None)
    return {
        "model": model,
        "route": [trip.route.steps[0].source, *(step.target for step in trip.route.steps)],
        "converters": [step.converter for step in trip.route.steps],
        "width": trip.route.steps[-1].width,
        "outcome": str(report.verdict) if report is not None else last.status,
        "at": last.step.converter,
        "translation": translation,
        "observed": observed,
        "workarounds": [workaround.name for workaround in last.workarounds]
        if last.status != "failed"
        else [],
        _BELOW: report is not None and whole and _below_rounding(report),
        "reason": _reason(last),
    }


def _below_rounding(report: Any) -> bool:
    """Whether the graphs differ by what the first model's own rounding would hide."""
    return any(each.effect == "below_rounding" for each in report.findings)


def _reason(last: Any) -> str:
    if last.trouble is not None:
        return _shortened(last.trouble.why or last.trouble.sentence)
    return "" if last.usable or last.report is None else last.report.reason


def _shortened(text: str) -> str:
    """One line without headings, origins, addresses in memory and folders of this machine."""
    lines = [line.strip() for line in text.splitlines()]
    # MLIR tells first, at length, where a node came from.
    lines = [re.sub(r"loc\(.*\): ", "", line) for line in lines]
    telling = [line for line in lines if line and not line.endswith(":")]
    text = re.sub(r" at 0x[0-9a-f]+", "", " ".join(telling or lines))
    text = re.sub(r"(?:/[\w.-]+)+/", "…/", text)
    return text if len(text) <= LONGEST else f"{text[:LONGEST].rsplit(' ', 1)[0]} …"


def _line(row: dict[str, Any], seconds: float) -> str:
    width = f" {row['width']}" if row["width"] else ""
    route = " > ".join(row["converters"])
    return f"{row['model']}: {route}{width}: {row['outcome']} ({seconds:.0f} s) {row['reason']}"


def _page(rows: list[dict[str, Any]]) -> str:
    lines = [
        "# Routes",
        "",
        "Each row was converted, loaded and compared with the first model:",
        "`python benchmarks/routes.py --real` makes this page.",
        "",
        "*Translation* is the largest difference between the two float64 oracles,",
        "*observed* between the two runs.",
        "A route ends where it first fails; the cause is the converter's own, shortened.",
        "Small models go every route; published ones, and narrower widths, until one is proven.",
        "Published models are calibrated and checked on made-up samples.",
        "Core ML runs on macOS alone: its rows are about the translation.",
        "",
    ]
    for model in dict.fromkeys(row["model"] for row in rows):
        lines += [f"## {model}", "", "| route | width | verdict | translation | observed | note |"]
        lines += ["| --- | --- | --- | --- | --- | --- |"]
        lines += [_cells(row) for row in rows if row["model"] == model]
        lines.append("")
    return "\n".join(lines)


def _cells(row: dict[str, Any]) -> str:
    if _LINE in row:
        return str(row[_LINE])
    notes = [f"workaround: {', '.join(row['workarounds'])}"] if row.get("workarounds") else []
    notes += ["they differ by less than the first model's rounding"] if row.get(_BELOW) else []
    note = row["reason"] or "; ".join(notes)
    if row["reason"] and row.get("at"):
        note = f"{row['at']}: {note}"
    cells = (
        " → ".join(row["converters"]) if row.get("converters") else row["route"] or "—",
        row["width"] or "as it is",
        row["outcome"],
        _figure(row.get("translation")),
        _figure(row.get("observed")),
        note.replace("|", "\\|"),
    )
    return f"| {' | '.join(cells)} |"


def _figure(value: float | None) -> str:
    return "" if value is None else "0" if value == 0 else f"{value:.1e}"


if __name__ == "__main__":
    main()
