"""Many operators side by side in one model: described, converted, held against themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from networks.operators.form import Form
from networks.operators.side_by_side import Side, described

from isomorph import registry
from isomorph.checking.config import CheckConfig
from isomorph.checking.loader import Loader
from isomorph.conversion.converter_worker import ConverterWorker
from isomorph.conversion.steps import RouteRunner
from isomorph.core.conversion import Order, Route, Step
from isomorph.core.divergence import Divergence, ErrorTerm, Judgment, Verdict
from isomorph.inputs import feeds as feeding
from isomorph.inputs.feeds import Sample
from isomorph.store.input_files import write_arrays

SUFFIXES = {"onnx": ".onnx", "pytorch": ".pt2", "tensorflow": "", "tflite": ".tflite"}


def groups(every: Mapping[str, Any], size: int) -> Iterator[dict[str, Any]]:
    """So many at a time, like beside like."""
    keys = sorted(every)
    for start in range(0, len(keys), size):
        yield {key: every[key] for key in keys[start : start + size]}


@dataclass(slots=True, kw_only=True)
class Bench:
    """Where the forms of one framework are tried; ``converter`` may be the framework alone."""

    converter: str
    opener: Loader
    converter_worker: ConverterWorker | None
    folder: Path
    _count: int = field(default=0)

    def described(self, forms: Mapping[str, Form]) -> dict[str, Side]:
        """What isomorph sees of them; those that cannot even stand in a model are left out."""

        def look(some: Mapping[str, Form]) -> dict[str, Side] | None:
            model, _ = self._written(some, self.converter)
            return described(self.opener.load(str(model)), some)

        return _halved(forms, look)

    def made(self, sides: Mapping[str, Side]) -> dict[str, int]:
        """Those that the converter converts, each with the place of its workaround, or 0."""
        return _halved(sides, self._converts)

    def errors(self, sides: Mapping[str, Side], workaround: int) -> dict[str, float | None]:
        """How far each is from what it was; None where that could not be judged."""
        return _halved(sides, lambda some: self._differences(some, self._options()[workaround]))

    def _options(self) -> list[Mapping[str, str]]:
        return [
            {},
            *(workaround.options for workaround in registry.converter(self.converter).workarounds),
        ]

    def _converts(self, sides: Mapping[str, Side]) -> dict[str, int] | None:
        assert self.converter_worker is not None
        converter = registry.converter(self.converter)
        model, arrays = self._written({k: s.form for k, s in sides.items()}, converter.source)
        inputs = model.with_name("inputs.npz")
        write_arrays(inputs, arrays)
        specs = self.opener.load(str(model)).graph.inputs
        step = Step(converter=self.converter, source=converter.source, target=converter.target)
        # A workaround changes the result of an operator, so it is tried on one that stands alone.
        every = self._options() if len(sides) == 1 else [{}]
        for place, options in enumerate(every):
            order = Order(source="", target="", example=str(inputs), inputs=specs, options=options)
            attempt = self.converter_worker.make(
                step, str(model), order, f"result{converter.suffix}"
            )
            if attempt.trouble is None:
                return dict.fromkeys(sides, place)
        return None

    def _differences(
        self, sides: Mapping[str, Side], options: Mapping[str, str]
    ) -> dict[str, float | None] | None:
        """None in all where no model came out, or none that its runtime takes."""
        assert self.converter_worker is not None
        converter = registry.converter(self.converter)
        model, arrays = self._written({k: s.form for k, s in sides.items()}, converter.source)
        first = self.opener.open("reference", str(model))
        given = Sample(
            origin="operators", feeds=feeding.from_given(first.model.graph.inputs, arrays)
        )
        runner = RouteRunner(
            source=str(model),
            first=first,
            given=given,
            loader=self.opener,
            converter_worker=self.converter_worker,
            check_options=CheckConfig(locate=False),
            options=options,
        )
        step = Step(converter=self.converter, source=converter.source, target=converter.target)
        (stop,) = runner.follow(Route(steps=(step,)))
        hop = stop.made
        if hop.report is None:
            return None
        if len(hop.report.outputs) != len(sides) or (hop.workarounds and len(sides) > 1):
            return None
        runs = getattr(converter, "proven_as", None) is not None
        found = {
            key: _error(output, runs=runs)
            for key, output in zip(sides, hop.report.outputs, strict=True)
        }
        # One that spoils the run of all the others is looked for.
        spoilt = len(sides) > 1 and list(found.values()).count(None) > len(sides) // 2
        return None if spoilt else found

    def _written(self, forms: Mapping[str, Form], framework: str) -> tuple[Path, dict[str, Any]]:
        self._count += 1
        place = self.folder / f"{self.converter}-{self._count}"
        place.mkdir()
        path = place / f"model{SUFFIXES[framework]}"
        writer = import_module(f"networks.operators.of_{framework}")
        return path, writer.write(path, forms)


def _halved(every: Mapping[str, Any], trial: Callable[[Any], dict[str, Any] | None]) -> Any:
    """All at once; where that fails, in halves, until what fails stands alone."""
    if not every:
        return {}
    try:
        found = trial(every)
    except Exception:  # ours, or the writer's own: one of these is not for it
        found = None
    if found is not None:
        return found
    if len(every) == 1:
        return {}
    keys = list(every)
    parts = (keys[: len(keys) // 2], keys[len(keys) // 2 :])
    halves = [_halved({key: every[key] for key in part}, trial) for part in parts]
    return {**halves[0], **halves[1]}


def _error(output: Divergence, *, runs: bool) -> float | None:
    """The largest difference of the meanings, or of the run where only a runtime stands for it."""
    parts = (output.execution_candidate,) if runs else (output.translation, output.rounding)
    if output.verdict is Verdict.UNKNOWN or any(
        part is None or part.budget.within is Judgment.UNKNOWN for part in parts
    ):
        return None
    return _largest(parts[0]) if all(_beyond(part) for part in parts) else 0.0


def _beyond(part: ErrorTerm | None) -> bool:
    """Beyond its budget, and beyond what the oracles' own arithmetic rounds."""
    judged = part is not None and part.budget.within is Judgment.NO
    return judged and _largest(part) > np.finfo(np.float64).eps


def _largest(part: ErrorTerm | None) -> float:
    return (part.distance.max_abs or 0.0) if part is not None else 0.0
