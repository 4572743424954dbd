"""One model taken along one route, each converter called once, without workarounds and checks.

One step of the route is repeated: by another environment's packages, or with other options. The
steps before it are made once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from isomorph import registry
from isomorph.conversion.converter_worker import Attempt, trouble_of
from isomorph.conversion.orders import order_for
from isomorph.conversion.plan import routes
from isomorph.core.conversion import Route
from isomorph.core.errors import IsomorphError, UsageError

if TYPE_CHECKING:
    from isomorph.conversion.converter_samples import SampleSource
    from isomorph.conversion.converter_worker import ConverterWorker
    from isomorph.core.model import Model
    from isomorph.core.protocols import Converter


def route_through(
    source: str, target: str, width: str, via: Sequence[str], able: Callable[[Converter], bool]
) -> tuple[Route, int] | None:
    """The shortest route with a converter that is ``able``, and the place of the last such step.

    A converter that is used only where it is named counts as named here. Every other step of the
    route is installed.
    """
    known = [registry.converter(name) for name in registry.names("converters")]
    ways = [tuple(via), *((*via, each.name) for each in known if each.named and able(each))]
    found = []
    for way in ways:
        try:
            planned = routes(source, target, width, way)
        except UsageError as error:
            if error.code != "NO_ROUTE":
                raise
            continue
        for route in planned:
            places = [at for at, step in enumerate(route.steps)
                      if able(registry.converter(step.converter))]  # fmt: skip
            others = [step for at, step in enumerate(route.steps) if at not in places[-1:]]
            if places and not any(step.missing for step in others):
                found.append((route, places[-1]))
    return min(found, key=lambda each: len(each[0].steps), default=None)


class PlainRoute:
    """Converts the model at ``source`` along ``route``; ``at`` is the step that is repeated."""

    def __init__(
        self,
        *,
        source: str,
        first: Model,
        route: Route,
        at: int,
        samples: SampleSource,
        worker: ConverterWorker,
        load: Callable[[str], Model],
        options: Mapping[str, str],
    ) -> None:
        """``load`` describes what a step wrote; ``options`` are for every converter."""
        self._source, self._first = source, first
        self.route, self.at = route, at
        self._samples, self._worker, self._load = samples, worker, load
        self._options = dict(options)
        self._before: Attempt | None = None

    def made(self, *, interpreter: str = "", options: Mapping[str, str] | None = None) -> Attempt:
        """What comes out where the step is made with this interpreter and these options.

        What fails on the way is the attempt's trouble.
        """
        if self._before is None:
            self._before = Attempt(path=Path(self._source))
            for place in range(self.at):
                self._before = self._step(place, self._before)
        found = self._step(self.at, self._before, interpreter=interpreter, options=options or {})
        for place in range(self.at + 1, len(self.route.steps)):
            found = self._step(place, found)
        return found

    def _step(
        self,
        place: int,
        before: Attempt,
        *,
        interpreter: str = "",
        options: Mapping[str, str] = MappingProxyType({}),
    ) -> Attempt:
        if before.trouble is not None:
            return before
        step, location = self.route.steps[place], str(before.path)
        try:
            order = order_for(
                step,
                self._first if place == 0 else self._load(location),
                location,
                samples=self._samples,
                folder=self._worker.folder("inputs"),
                options={**self._options, **options},
            )
        except IsomorphError as error:
            return Attempt(path=before.path, trouble=trouble_of(error))
        name = f"{Path(self._source).stem}{registry.converter(step.converter).suffix}"
        return self._worker.make(step, location, order, name, interpreter=interpreter)
