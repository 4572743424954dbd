"""Plan the routes, try each until one is proven, deliver, and state the command that repeats it."""

from __future__ import annotations

import shlex
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from isomorph.conversion.orders import CALIBRATED
from isomorph.conversion.plan import keeping_nodes, routes
from isomorph.conversion.steps import RouteRunner, Stop
from isomorph.core.conversion import AS_IS, Conversion, Hop, HopStatus, Route
from isomorph.core.divergence import Verdict
from isomorph.core.errors import UsageError
from isomorph.core.messages import message
from isomorph.core.not_done import not_done
from isomorph.version import VERSION

if TYPE_CHECKING:
    from isomorph.checking.config import CheckConfig
    from isomorph.checking.loader import Loader
    from isomorph.conversion.converter_worker import ConverterWorker

_WEIGHT = {
    HopStatus.FAILED: 0,
    HopStatus.UNPROVEN: 1,
    HopStatus.DIVERGENT: 2,
    HopStatus.REPAIRED: 3,
    HopStatus.PROVEN: 3,
}
"""Of two routes of which none was proven, the one whose last hop got further is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionRequest:
    """The target format, its width and the options of a conversion."""

    target: str
    output: Path
    width: str = AS_IS
    via: tuple[str, ...] = ()
    opset: int | None = None
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """The ranges of inputs; nodes that may leave float16 within them stay in float32."""
    fewest_float32: bool = False
    """Keep the fewest nodes in float32 with which the result is within its target."""
    repair: bool = False
    keep: bool = False
    """Write the model even where it is not proven."""
    options: Mapping[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    """Further options of the command that repeats it."""


def convert(
    source: str,
    request: ConversionRequest,
    loader: Loader,
    converter_worker: ConverterWorker,
    check_options: CheckConfig,
) -> Conversion:
    """The first proven conversion, or the attempt that got farthest."""
    started = time.monotonic()
    first = loader.open("reference", source)
    via = (
        (*request.via, "onnx_opset")
        if _opset_alone(first.model.framework, request)
        else request.via
    )
    planned = routes(first.model.framework, request.target, request.width, via)
    if request.fewest_float32:
        planned = keeping_nodes(planned, request.width)
    possible = [route for route in planned if not route.missing]
    if not possible:
        raise UsageError(
            "MISSING_CONVERTER",
            f"no way to {request.target} is installed",
            why=planned[0].words,
            fix="; ".join(planned[0].missing),
        )
    _refuse_uncalibrated(request, check_options)
    runner = RouteRunner(
        source=source,
        first=first,
        loader=loader,
        converter_worker=converter_worker,
        check_options=check_options,
        options={**request.options, **({"opset": str(request.opset)} if request.opset else {})},
        ranges=request.ranges,
        fewest_float32=request.fewest_float32,
        repair=request.repair,
        name=_stem(request),
    )
    chosen, last = _best_route(possible, runner)
    proven = chosen[-1].usable and len(chosen) == len(_route_of(chosen, possible).steps)
    verdict, reason = _verdict(chosen, proven=proven)
    output = _delivered(last, request) if proven or (request.keep and last.location) else None
    return Conversion(
        verdict=verdict,
        reason=reason,
        source=first.summary,
        target=request.target,
        width=request.width,
        chosen=tuple(chosen),
        tried=tuple(hop for hop in runner.hops if hop not in chosen),
        alternatives=tuple(route for route in planned if route != _route_of(chosen, planned)),
        output=output,
        repeat=_repeat(source, request, chosen),
        seed=check_options.seed,
        skipped=tuple(
            not_done("route", route=route.words, missing="; ".join(route.missing))
            for route in planned
            if route.missing
        ),
        elapsed=time.monotonic() - started,
        version=VERSION,
    )


def _best_route(possible: Sequence[Route], runner: RouteRunner) -> tuple[list[Hop], Stop]:
    """The first route that is proven to its end, else the one that came farthest."""
    best: tuple[tuple[int, int], list[Hop], Stop] | None = None
    for route in possible:
        stops = runner.follow(route)
        hops = [stop.made for stop in stops]
        if len(hops) == len(route.steps) and hops[-1].usable:
            return hops, stops[-1]
        weight = (len(hops) if hops[-1].status != HopStatus.FAILED else 0, _WEIGHT[hops[-1].status])
        if best is None or weight > best[0]:
            best = weight, hops, stops[-1]
    assert best is not None, "there is at least one route"
    return best[1], best[2]


def _route_of(chosen: Sequence[Hop], planned: Sequence[Route]) -> Route:
    """The planned route that these hops are the beginning of."""
    steps = tuple(hop.step for hop in chosen)
    return next(route for route in planned if route.steps[: len(steps)] == steps)


def _verdict(chosen: Sequence[Hop], *, proven: bool) -> tuple[Verdict, str]:
    last = chosen[-1]
    if last.report is not None and proven:
        return last.report.verdict, last.report.reason
    reason = message("CONVERT.not_judged") if last.trouble is None else last.trouble.sentence
    step = last.step
    text = message(
        "CONVERT.step",
        source=step.source,
        target=step.target,
        converter=step.converter,
        reason=reason if last.report is None else last.report.reason,
    )
    return Verdict.UNKNOWN if last.report is None else last.report.verdict, text


def _opset_alone(framework: str, request: ConversionRequest) -> bool:
    """An ONNX model that stays one and gets another opset; exporters take the opset themselves."""
    named = "onnx_opset" in request.via
    return bool(request.opset) and framework == request.target == "onnx" and not named


def _refuse_uncalibrated(request: ConversionRequest, check_options: CheckConfig) -> None:
    if request.width in CALIBRATED and check_options.data is None:
        raise UsageError(
            "SAMPLES_NEEDED",
            f"{request.width} needs samples to calibrate on",
            why="ranges that were made up fit no real input",
            fix="give a folder of real inputs: --data FOLDER",
        )


def _stem(request: ConversionRequest) -> str:
    """The file name without suffix; weights beside the file refer to it."""
    return request.output.stem if request.output.suffix else request.output.name


def _delivered(last: Stop, request: ConversionRequest) -> str:
    """Copy the model, and the weights beside it, to the requested place."""
    made = Path(last.location)
    if made.is_dir():
        shutil.copytree(made, request.output)
        return str(request.output)
    for companion in weights_beside(made):
        shutil.copyfile(companion, request.output.parent / companion.name)
    shutil.copyfile(made, request.output)
    return str(request.output)


def weights_beside(made: Path) -> list[Path]:
    """The files of weights that a converter wrote beside a model: they carry its name.

    What it used on the way is none of them.
    """
    names = [each for each in made.parent.iterdir() if each.is_file() and each != made]
    return [
        each for each in names
        if each.name.startswith(made.name) or each.name == f"{made.stem}.bin"
    ]  # fmt: skip


def _repeat(source: str, request: ConversionRequest, chosen: Sequence[Hop]) -> str:
    words = ["isomorph", "convert", source, str(request.output), "--to", request.target]
    words += ["--via", ",".join(hop.step.converter for hop in chosen)]
    width = "--precision" if request.fewest_float32 else "--quantize"
    words += [width, request.width] if request.width != AS_IS else []
    words += ["--opset", str(request.opset)] if request.opset else []
    for name, (low, high) in request.ranges.items():
        words += ["--range", f"{name}={low!r}:{high!r}" if name else f"{low!r}:{high!r}"]
    words += ["--repair"] if request.repair else []
    words += ["--keep"] if request.keep else []
    return shlex.join([*words, *request.words])
