"""The verb: plan, go route by route until one is proven, deliver, and say how to repeat it."""

from __future__ import annotations

import shlex
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from isomorph.conversion.plan import routes
from isomorph.conversion.steps import RouteRunner, Stop
from isomorph.core.conversion import AS_IS, Conversion, Hop, Route
from isomorph.core.divergence import Verdict
from isomorph.core.errors import UsageError
from isomorph.core.report import Skipped
from isomorph.version import VERSION

if TYPE_CHECKING:
    from isomorph.checking.check import CheckOptions
    from isomorph.checking.loader import Loader
    from isomorph.conversion.converter_worker import ConverterWorker

_WEIGHT = {"failed": 0, "unproven": 1, "guilty": 2, "repaired": 3, "proven": 3}
"""Of two routes of which none was proven, the one whose last hop tells more is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to become of the model, and how."""

    target: str
    output: Path
    width: str = AS_IS
    via: tuple[str, ...] = ()
    opset: int | None = None
    repair: bool = False
    keep: bool = False
    """Write the model even where it is not proven."""
    options: Mapping[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    """What else has to be said to repeat it."""


def convert(
    source: str,
    wanted: Wanted,
    loader: Loader,
    workshop: ConverterWorker,
    check_options: CheckOptions,
) -> Conversion:
    """One proven conversion, or the farthest that could be gone."""
    started = time.monotonic()
    first = loader.open("reference", source)
    via = (*wanted.via, "onnx_opset") if _opset_alone(first.model.framework, wanted) else wanted.via
    planned = routes(first.model.framework, wanted.target, wanted.width, via)
    possible = [route for route in planned if not route.missing]
    if not possible:
        raise UsageError(
            "MISSING_CONVERTER",
            f"no way to {wanted.target} is installed",
            why=planned[0].words,
            fix="; ".join(planned[0].missing),
        )
    _refuse_uncalibrated(wanted, check_options)
    given = None if check_options.data else loader.sample(first.model.graph.inputs)
    runner = RouteRunner(
        first=first,
        given=given,
        loader=loader,
        workshop=workshop,
        check_options=check_options,
        options={**wanted.options, **({"opset": str(wanted.opset)} if wanted.opset else {})},
        repair=wanted.repair,
        name=_stem(wanted),
    )
    chosen, last = _traveled(possible, Stop(location=source, model=first.model), runner)
    proven = chosen[-1].usable and len(chosen) == len(_route_of(chosen, possible).steps)
    verdict, reason = _verdict(chosen, proven=proven)
    output = _delivered(last, wanted) if proven or (wanted.keep and last.location) else None
    return Conversion(
        verdict=verdict,
        reason=reason,
        source=first.summary,
        target=wanted.target,
        width=wanted.width,
        chosen=tuple(chosen),
        tried=tuple(hop for hop in runner.hops if hop not in chosen),
        alternatives=tuple(route for route in planned if route != _route_of(chosen, planned)),
        output=output,
        repeat=_repeat(source, wanted, chosen),
        seed=check_options.seed,
        skipped=tuple(
            Skipped(what=route.words, why=f"not installed; {'; '.join(route.missing)}")
            for route in planned
            if route.missing
        ),
        elapsed=time.monotonic() - started,
        version=VERSION,
    )


def _traveled(
    possible: Sequence[Route], origin: Stop, runner: RouteRunner
) -> tuple[list[Hop], Stop]:
    """The first route that is proven to its end, else the one that came farthest."""
    best: tuple[tuple[int, int], list[Hop], Stop] | None = None
    for route in possible:
        here, hops = origin, []
        for count in range(1, len(route.steps) + 1):
            here = runner.stop(here, route.steps[:count])
            assert here.hop is not None
            hops.append(here.hop)
            if here.hop.status in {"failed", "guilty"}:
                break
        if len(hops) == len(route.steps) and hops[-1].usable:
            return hops, here
        weight = (len(hops) if hops[-1].status != "failed" else 0, _WEIGHT[hops[-1].status])
        if best is None or weight > best[0]:
            best = weight, hops, here
    assert best is not None, "there is at least one route"
    return best[1], best[2]


def _route_of(chosen: Sequence[Hop], planned: Sequence[Route]) -> Route:
    """The planned route that these hops are the beginning of."""
    steps = tuple(hop.step for hop in chosen)
    return next(route for route in planned if route.steps[: len(steps)] == steps)


def _verdict(chosen: Sequence[Hop], *, proven: bool) -> tuple[Verdict, str]:
    last = chosen[-1]
    name = f"{last.step.source} → {last.step.target} by {last.step.converter}"
    if last.report is not None:
        reason = last.report.reason if proven else f"{name}: {last.report.reason}"
        return last.report.verdict, reason
    trouble = last.trouble.sentence if last.trouble is not None else "it could not be judged"
    return Verdict.UNKNOWN, f"{name}: {trouble}"


def _opset_alone(framework: str, wanted: Wanted) -> bool:
    """An ONNX model that stays one and gets another opset; exporters take the opset themselves."""
    named = "onnx_opset" in wanted.via
    return bool(wanted.opset) and framework == wanted.target == "onnx" and not named


def _refuse_uncalibrated(wanted: Wanted, check_options: CheckOptions) -> None:
    if wanted.width in {"int8", "int16x8"} and check_options.data is None:
        raise UsageError(
            "SAMPLES_NEEDED",
            f"{wanted.width} needs samples to calibrate on",
            why="ranges that were made up fit no real input",
            fix="give a folder of real inputs: --data FOLDER",
        )


def _stem(wanted: Wanted) -> str:
    """The file is written under its final name: weights beside it are found by it."""
    return wanted.output.stem if wanted.output.suffix else wanted.output.name


def _delivered(last: Stop, wanted: Wanted) -> str:
    """Everything that was written beside the model goes where the user wants it."""
    made = Path(last.location)
    if made.is_dir():
        shutil.copytree(made, wanted.output)
        return str(wanted.output)
    for companion in made.parent.iterdir():
        # What the converter used on the way stays behind; weights carry the model's name.
        weights = companion.name.startswith(made.name) or companion.name == f"{made.stem}.bin"
        if companion.is_file() and companion != made and weights:
            shutil.copyfile(companion, wanted.output.parent / companion.name)
    shutil.copyfile(made, wanted.output)
    return str(wanted.output)


def _repeat(source: str, wanted: Wanted, chosen: Sequence[Hop]) -> str:
    words = ["isomorph", "convert", source, str(wanted.output), "--to", wanted.target]
    words += ["--via", ",".join(hop.step.converter for hop in chosen)]
    words += ["--quantize", wanted.width] if wanted.width != AS_IS else []
    words += ["--opset", str(wanted.opset)] if wanted.opset else []
    words += ["--repair"] if wanted.repair else []
    words += ["--keep"] if wanted.keep else []
    return shlex.join([*words, *wanted.words])
