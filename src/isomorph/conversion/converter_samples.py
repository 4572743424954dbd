"""The first model's inputs, written for each converter under the names that its source has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.conversion_limits import GENERATED_EACH, NARROW_SAMPLES
from isomorph.core.errors import UsageError
from isomorph.core.limits import CALIBRATION_SAMPLES
from isomorph.inputs import feeds as feeding
from isomorph.inputs.generate import SAMPLES, generate
from isomorph.match.binding import bind_inputs
from isomorph.store.input_files import write_arrays

if TYPE_CHECKING:
    from isomorph.core.model import Model, TensorSpec
    from isomorph.core.trace import Array
    from isomorph.inputs.data_sets import DataSet
    from isomorph.inputs.feeds import Sample


@dataclass(slots=True, kw_only=True)
class SampleSource:
    """Example and calibration inputs: the user's sample or test set, else generated ones."""

    first: Model
    given: Sample | None
    data: DataSet | None
    dims: Mapping[str, int]
    seed: int
    _examples: dict[str, Array] = field(default_factory=dict)

    def example(self) -> Mapping[str, Array]:
        """One feed of the first model."""
        if not self._examples:
            self._examples.update(self._first_feed())
        return self._examples

    def write_example(self, model: Model, folder: Path) -> str:
        """The example for ``model``, which may have other names and sizes; its file."""
        return str(_write(folder / "example.npz", next(self._fitted(model, self.example()))))

    def proven_on(self, model: Model) -> list[Mapping[str, Array]]:
        """The inputs for ``model`` on which a conversion is checked."""
        return list(NARROW_SAMPLES.first(self._proven_on(model)))

    def alike(self, model: Model) -> list[list[Mapping[str, Array]]]:
        """Groups of inputs for ``model``, each of one kind, that show how far numbers vary.

        One given input has no others of its kind.
        """
        if self.data is not None or self.given is not None:
            return [self.proven_on(model)]
        return [
            [feed for turn in range(GENERATED_EACH)
             for feed in self._generated(model, sample, self.seed + turn)]
            for sample in SAMPLES
        ]  # fmt: skip

    def _proven_on(self, model: Model) -> Iterator[Mapping[str, Array]]:
        if self.data is not None:
            for drawn in self.data.samples(self.first.graph.inputs, self.dims):
                yield from self._fitted(model, drawn.sample.feeds)
        elif self.given is not None:
            yield from self._fitted(model, self.given.feeds)
        else:
            for sample in SAMPLES:
                yield from self._generated(model, sample, self.seed)

    def _generated(self, model: Model, sample: str, seed: int) -> Iterator[Mapping[str, Array]]:
        feeds = generate(self.first.graph, self.dims, sample=sample, seed=seed)
        yield from self._fitted(model, feeds)

    def write_samples(self, model: Model, folder: Path) -> tuple[str, ...]:
        """Calibration for ``model``; without a test set there is none."""
        if self.data is None:
            return ()
        folder.mkdir()
        written: list[str] = []
        for drawn in self.data.samples(self.first.graph.inputs, self.dims):
            for feed in self._fitted(model, drawn.sample.feeds):
                if len(written) == CALIBRATION_SAMPLES:
                    return tuple(written)
                written.append(str(_write(folder / f"{len(written):04}.npz", feed)))
        return tuple(written)

    def _first_feed(self) -> Mapping[str, Array]:
        if self.given is not None:
            return self.given.feeds
        if self.data is not None:
            return next(self.data.samples(self.first.graph.inputs, self.dims)).sample.feeds
        return generate(self.first.graph, self.dims, sample=SAMPLES[0], seed=self.seed)

    def _fitted(self, model: Model, feeds: Mapping[str, Array]) -> Iterator[dict[str, Array]]:
        """The feed under the model's names; cut along the batch where that has become fixed."""
        specs = model.graph.inputs
        bindings = bind_inputs(self.first.graph.inputs, specs, {})
        arrays = {name: np.asarray(value) for name, value in feeds.items()}
        carried = feeding.carried_over(arrays, bindings, specs)
        if all(_takes(spec, carried[spec.name]) for spec in specs):
            yield carried
            return
        cut = {spec.name: _rows(spec, carried[spec.name]) for spec in specs}
        for number in range(min(len(pieces) for pieces in cut.values())):
            yield {name: pieces[number] for name, pieces in cut.items()}


def _takes(spec: TensorSpec, array: Array) -> bool:
    return spec.shape is None or (
        len(spec.shape) == array.ndim
        and all(
            not isinstance(size, int) or size == real
            for size, real in zip(spec.shape, array.shape, strict=True)
        )
    )


def _rows(spec: TensorSpec, array: Array) -> list[Array]:
    """Pieces of as many rows as the input takes, provided that only the first axis differs."""
    batch = spec.shape[0] if spec.shape else None
    rows = batch if isinstance(batch, int) and batch else max(1, len(array))
    pieces = [array[start : start + rows] for start in range(0, len(array) - rows + 1, rows)]
    if not pieces or not _takes(spec, pieces[0]):
        raise UsageError(
            "INPUT_SHAPE",
            f"input {spec.name!r} takes {spec.shape}, and the samples are {array.shape}",
            why="a conversion on the way changed the arrangement of its axes",
            fix="choose another way: --via",
        )
    return pieces


def _write(path: Path, arrays: Mapping[str, Array]) -> Path:
    write_arrays(path, dict(arrays))
    return path
