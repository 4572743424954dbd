"""Every route from one model to every target, each tried to its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isomorph import registry
from isomorph.conversion.plan import formats, routes
from isomorph.conversion.steps import RouteRunner
from isomorph.core.conversion import AS_IS, Hop, Route
from isomorph.core.errors import UsageError

if TYPE_CHECKING:
    from isomorph.checking.config import CheckConfig
    from isomorph.checking.loader import Loader
    from isomorph.conversion.converter_worker import ConverterWorker


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteResult:
    """One route, and the hops that were made on it; the last one shows how it ended."""

    route: Route
    hops: tuple[Hop, ...]

    @property
    def proven(self) -> bool:
        """Whether it reached its target with a model that equals the first one."""
        return len(self.hops) == len(self.route.steps) and self.hops[-1].usable


def try_all_routes(
    source: str,
    loader: Loader,
    converter_worker: ConverterWorker,
    check_options: CheckConfig,
    *,
    widths: Sequence[str] = (AS_IS,),
    named: Sequence[str] = (),
    best: bool = False,
    particular: Mapping[str, Mapping[str, str]] | None = None,
    last: Sequence[str] = (),
) -> Iterator[RouteResult]:
    """Try every route to every format and width; with ``best``, until one of a target is proven.

    What two routes have in common is made once. ``named`` are converters that are used only
    where they are named, ``particular`` options for single converters. ``last`` are the converters
    with which a route may end, if not all may.
    """
    first = loader.open("reference", source)
    runner = RouteRunner(
        source=source,
        first=first,
        loader=loader,
        converter_worker=converter_worker,
        check_options=check_options,
        particular=particular or {},
    )
    for found in _planned(first.model.framework, widths, named):
        for route in found:
            if last and route.steps[-1].converter not in last:
                continue
            hops = tuple(stop.made for stop in runner.follow(route))
            result = RouteResult(route=route, hops=hops)
            yield result
            if best and result.proven:
                break


def _planned(
    framework: str, widths: Sequence[str], named: Sequence[str]
) -> Iterator[Sequence[Route]]:
    """The routes whose converters are installed, target by target."""
    targets = [(target, width, ()) for width in widths for target in formats()] + [
        (registry.converter(name).target, AS_IS, (name,)) for name in named
    ]
    for target, width, via in targets:
        try:
            found = routes(framework, target, width, via)
        except UsageError:
            continue  # there is no such way
        yield [route for route in found if not route.missing]
