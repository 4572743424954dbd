"""Every route from one format to another that converters offer, the best first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec

from isomorph import registry
from isomorph.core.conversion import AS_IS, WIDTHS, KeepsNodesWide, Route, Step
from isomorph.core.errors import UsageError
from isomorph.core.limits import ROUTE_STEPS
from isomorph.core.messages import message
from isomorph.core.protocols import Converter


def routes(source: str, target: str, width: str = AS_IS, via: Sequence[str] = ()) -> list[Route]:
    """Routes from ``source`` to ``target``, the shortest first; ``via`` names stops or converters.

    What narrows comes last: a quantized model is the hardest thing to convert further.
    """
    _refuse_unknown(width, via)
    known = [registry.converter(name) for name in registry.names("converters")]
    found = [
        Route(steps=tuple(_step(converter, wide) for converter, wide in path))
        for path in _paths(source, target, width, via, known)
        if _follows(path, via)
    ]
    if not found:
        raise UsageError(
            "NO_ROUTE",
            f"no converter leads from {source} to {target}" + (f" in {width}" if width else ""),
            why=f"stops and converters that were named: {', '.join(via)}" if via else None,
            fix=_reachable(source, known),
        )
    ranks = {converter.name: converter.rank for converter in known}
    return sorted(
        found,
        key=lambda route: (len(route.steps), sum(ranks[step.converter] for step in route.steps)),
    )


def keeping_nodes(planned: Sequence[Route], width: str) -> list[Route]:
    """The routes whose last converter can leave single nodes in float32."""
    found = []
    for route in planned:
        last = registry.converter(route.steps[-1].converter)
        if isinstance(last, KeepsNodesWide) and width in last.keeps_nodes:
            found.append(route)
    if not found:
        raise UsageError(
            "NO_ROUTE",
            f"no converter to {planned[0].steps[-1].target} keeps single nodes in float32",
            why=f"--precision {width} chooses such nodes",
            fix=f"narrow all nodes: --quantize {width}",
        )
    return found


def refuse_bfloat16(precision: str | None) -> None:
    """Raise for bfloat16: nothing here could run such a file, and what is not run is not proven."""
    if precision == "bfloat16":
        raise UsageError(
            "NO_ROUTE",
            "no converter writes bfloat16",
            why="ONNX Runtime has no bfloat16 kernels on the CPU for MatMul, Conv or Add, so the "
            "file could be neither run nor proven",
            fix="measure it in PyTorch: isomorph check MODEL MODEL --set candidate.dtype=bfloat16; "
            "or convert with --precision float16",
        )


_Path = tuple[tuple[Converter, str], ...]


def _paths(
    source: str, target: str, width: str, via: Sequence[str], known: Sequence[Converter]
) -> Iterator[_Path]:
    def walk(path: _Path, place: str, visited: frozenset[str]) -> Iterator[_Path]:
        if place == target and path and path[-1][1] == width:
            yield path
        if len(path) == ROUTE_STEPS or (path and path[-1][1] != AS_IS):
            return
        for converter in known:
            if converter.source != place or (converter.named and converter.name not in via):
                continue
            rewrites = converter.target == converter.source
            again = any(before.name == converter.name for before, _ in path)
            if again or (not rewrites and converter.target in visited):
                continue
            for wide in converter.widths & {AS_IS, width}:
                yield from walk(
                    (*path, (converter, wide)), converter.target, visited | {converter.target}
                )

    yield from walk((), source, frozenset({source}))


def _follows(path: _Path, via: Sequence[str]) -> bool:
    """Whether the path goes through exactly the stops, and uses the converters, that were named.

    Without any, all paths do. Stops alone fix every format in between.
    """
    named = [word for word in via if word in registry.names("converters")]
    stops = [word for word in via if word not in named]
    used = [converter.name for converter, _ in path]
    between = [converter.target for converter, _ in path[:-1]]
    between = [
        stop for place, stop in enumerate(between) if not place or between[place - 1] != stop
    ]
    return (not stops or between == stops) and (
        not named or [name for name in used if name in named] == named
    )


def _step(converter: Converter, width: str) -> Step:
    absent = [package for package in converter.packages if find_spec(package) is None]
    return Step(
        converter=converter.name,
        source=converter.source,
        target=converter.target,
        width=width,
        missing=converter.install if absent else None,
    )


def formats() -> tuple[str, ...]:
    """Everything that a converter reads or writes."""
    known = [registry.converter(name) for name in registry.names("converters")]
    return tuple(sorted({word for each in known for word in (each.source, each.target)}))


def _refuse_unknown(width: str, via: Sequence[str]) -> None:
    if width not in (AS_IS, *WIDTHS):
        raise UsageError(
            "BAD_OPTION", f"--quantize {width!r} is not known", why=f"known: {', '.join(WIDTHS)}"
        )
    known = (*formats(), *registry.names("converters"))
    for word in via:
        if word not in known:
            raise UsageError(
                "UNKNOWN_NAME",
                f"there is no format or converter {word!r}",
                why=f"known: {', '.join(known)}",
            )


def _reachable(source: str, known: Sequence[Converter]) -> str:
    reached, frontier = {source}, [source]
    while frontier:
        place = frontier.pop()
        onward = {each.target for each in known if each.source == place} - reached
        reached |= onward
        frontier += onward
    others = sorted(reached - {source})
    return message("CONVERT.ways", framework=source, formats=", ".join(others) or "nowhere")
