"""The inputs that a model may be given: ranges of real numbers, valid integers, masks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.errors import UsageError
from isomorph.core.ranges import InputRange
from isomorph.inputs.generate import generate, holds_mask, longest_length, table_size
from isomorph.oracle.dtypes import numpy_dtype

if TYPE_CHECKING:
    from isomorph.core.model import Graph, TensorSpec
    from isomorph.core.trace import Array

Bounds = tuple[float, float]


class ValueKind(StrEnum):
    """What the numbers of an input are."""

    REAL = "real numbers"
    INTEGER = "integers"
    ROW = "rows of a table"
    LENGTH = "lengths"
    MASK = "mask"


class RangeOrigin(StrEnum):
    """Where the range of an input was stated."""

    STATED = "stated"
    DATA = "measured on the samples"
    GRAPH = "what the graph accepts"


@dataclass(frozen=True, slots=True, kw_only=True)
class InputVariable:
    """One input and the values that it may take."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    kind: ValueKind
    lower: float
    upper: float
    origin: RangeOrigin

    @property
    def whole(self) -> bool:
        """Whether only whole numbers are valid."""
        return self.kind is not ValueKind.REAL

    def typed(self, values: Array) -> Array:
        """Numbers as the input takes them: within the range, whole where they must be."""
        values = np.round(values) if self.whole else values
        fitted = np.clip(values, self.lower, self.upper).astype(numpy_dtype(self.dtype))
        if self.whole:
            return np.asarray(fitted)
        # Rounding to the type may leave the range by one step.
        wide = fitted.astype(np.float64)
        inside = np.where(wide > self.upper, np.nextafter(fitted, fitted - 1), fitted)
        return np.asarray(np.where(wide < self.lower, np.nextafter(fitted, fitted + 1), inside))


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSpace:
    """Every input of a model, in its order."""

    graph: Graph
    variables: tuple[InputVariable, ...]

    @property
    def elements(self) -> int:
        """The number of elements that are not fixed."""
        return sum(int(np.prod(each.shape)) for each in self.variables if each.lower < each.upper)

    def fitted(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """Given inputs moved into the ranges."""
        return {each.name: each.typed(np.asarray(feeds[each.name])) for each in self.variables}

    def drawn(self, random: np.random.Generator, *, corners: float) -> dict[str, Array]:
        """Inputs drawn evenly; a share of the elements, ``corners``, lies at an end."""
        feeds = {}
        for each in self.variables:
            even = random.uniform(each.lower, each.upper, each.shape)
            ends = np.where(random.random(each.shape) < 0.5, each.lower, each.upper)
            feeds[each.name] = each.typed(np.where(random.random(each.shape) < corners, ends, even))
        return feeds

    def changed(
        self, feeds: Mapping[str, Array], random: np.random.Generator, share: float
    ) -> dict[str, Array]:
        """The inputs with a share of their elements drawn anew, half of these at an end."""
        other, result = self.drawn(random, corners=0.5), {}
        for each in self.variables:
            chosen = random.random(each.shape) < share
            result[each.name] = np.where(chosen, other[each.name], feeds[each.name])
        return result


def input_space(
    graph: Graph,
    feeds: Mapping[str, Array],
    stated: Mapping[str, Bounds],
    measured: Mapping[str, Bounds],
) -> InputSpace:
    """The ranges of all inputs: as stated, else what the graph accepts, else as measured.

    ``feeds`` are a sample of the sizes that are meant. A range under the empty name is that of
    every input of real numbers that has none of its own.
    """
    names = {spec.name for spec in graph.inputs}
    for name in stated:
        if name and name not in names:
            raise UsageError(
                "BAD_OPTION",
                f"the model has no input {name!r}",
                why=f"its inputs are: {', '.join(names) or 'none'}",
            )
    found = [_variable(graph, spec, feeds[spec.name], stated, measured) for spec in graph.inputs]
    return InputSpace(graph=graph, variables=tuple(found))


def _variable(
    graph: Graph,
    spec: TensorSpec,
    value: Array,
    stated: Mapping[str, Bounds],
    measured: Mapping[str, Bounds],
) -> InputVariable:
    kind, accepted = _accepted(graph, spec, np.asarray(value))
    fallback = stated.get("") if kind is ValueKind.REAL else None
    given = stated.get(spec.name, fallback)
    if given is not None:
        bounds, origin = given, RangeOrigin.STATED
    elif accepted is not None:
        bounds, origin = accepted, RangeOrigin.GRAPH
    elif spec.name in measured:
        bounds, origin = measured[spec.name], RangeOrigin.DATA
    else:
        raise UsageError(
            "BAD_OPTION",
            f"the range of input {spec.name!r} is not known",
            fix=f"--range {spec.name}=LOW:HIGH, or samples with --data",
        )
    if accepted is not None and not accepted[0] <= bounds[0] <= bounds[1] <= accepted[1]:
        raise UsageError(
            "BAD_OPTION",
            f"the range of input {spec.name!r} is {bounds[0]:g}:{bounds[1]:g}",
            why=f"the graph accepts {accepted[0]:g} to {accepted[1]:g}",
        )
    return InputVariable(
        name=spec.name,
        dtype=str(spec.dtype),
        shape=tuple(np.shape(value)),
        kind=kind,
        lower=float(bounds[0]),
        upper=float(bounds[1]),
        origin=origin,
    )


def _accepted(graph: Graph, spec: TensorSpec, value: Array) -> tuple[ValueKind, Bounds | None]:
    """What the graph accepts at an input, where it states that."""
    dtype = str(spec.dtype)
    if spec.kind != "tensor" or not ("float" in dtype or "int" in dtype or dtype == "bool"):
        raise UsageError(
            "BAD_OPTION", f"input {spec.name!r} is no tensor of real numbers or integers"
        )
    if dtype == "bool" or ("int" in dtype and holds_mask(graph, spec.name)):
        return ValueKind.MASK, (0.0, 1.0)
    rows = table_size(graph, spec.name)
    if rows is not None:
        return ValueKind.ROW, (0.0, float(max(rows - 1, 0)))
    if "float" in dtype:
        return ValueKind.REAL, None
    longest = longest_length(graph, spec.name)
    if longest is not None:
        most = float(longest or np.max(value, initial=1))
        return ValueKind.LENGTH, (1.0, most)
    return ValueKind.INTEGER, None


def measured_bounds(samples: Sequence[Mapping[str, Array]]) -> dict[str, Bounds]:
    """The least and the largest number of every input over samples."""
    found: dict[str, Bounds] = {}
    for feeds in samples:
        for name, value in feeds.items():
            array = np.asarray(value)
            if array.dtype.kind not in "fiub" and "float" not in str(array.dtype):
                continue
            numbers = array.astype(np.float64)
            numbers = numbers[np.isfinite(numbers)]
            if numbers.size:
                low, high = float(numbers.min()), float(numbers.max())
                before = found.get(name, (low, high))
                found[name] = min(before[0], low), max(before[1], high)
    return found


def first_sample(graph: Graph, dims: Mapping[str, int], seed: int) -> dict[str, Array]:
    """A generated sample, for its sizes."""
    return generate(graph, dims, sample="uniform", seed=seed)


def input_range(variable: InputVariable) -> InputRange:
    """What a report keeps of an input."""
    return InputRange(
        name=variable.name,
        dtype=variable.dtype,
        shape=variable.shape,
        lower=variable.lower,
        upper=variable.upper,
        origin=variable.origin,
    )
