"""The arrays that a model is fed with: one for every input, of its declared type."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from isomorph.core.coverage import InputKind
from isomorph.core.errors import UsageError
from isomorph.core.model import TensorSpec
from isomorph.core.report import Binding, InputSummary
from isomorph.oracle.dtypes import numpy_dtype
from isomorph.sessions.fetched_feeds import Source, feeds_from

if TYPE_CHECKING:
    from isomorph.core.trace import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One set of inputs, by name, and where it came from.

    ``sizes`` are those of dynamic axes, where the sample tries others than the usual ones;
    ``origin`` is text for a report, and ``kind`` is used for decisions.
    """

    origin: str
    feeds: Mapping[str, Array]
    sizes: Mapping[str, int] = field(default_factory=dict)
    kind: InputKind = InputKind.GIVEN


def from_given(specs: Sequence[TensorSpec], given: Mapping[str, Array]) -> dict[str, Array]:
    """Return the user's arrays by the model's input names, checked against its signature."""
    given, names = named(specs, given), [spec.name for spec in specs]
    for name in given:
        if name not in names:
            raise _unknown_input(name, names)
    missing = [name for name in names if name not in given]
    if missing:
        raise UsageError(
            "MISSING_INPUT",
            f"no array is given for input {missing[0]!r}",
            why=f"given: {', '.join(given) or 'nothing'}; the model takes: {', '.join(names)}",
        )
    sizes: dict[str, tuple[str, int]] = {}
    for spec in specs:
        _check_shape(spec, given[spec.name], sizes)
    return {spec.name: fitted(spec, given[spec.name]) for spec in specs}


def named(specs: Sequence[TensorSpec], given: Mapping[str, Array]) -> Mapping[str, Array]:
    """Map given arrays to input names.

    A single array belongs to the single input, whatever its name; names that are numbers are
    positions.
    """
    if len(specs) == 1 and len(given) == 1 and specs[0].name not in given:
        given = {specs[0].name: next(iter(given.values()))}
    names = [spec.name for spec in specs]
    if given and set(given) == {str(place) for place in range(len(given))} - set(names):
        given = {names[int(place)]: given[place] for place in given if int(place) < len(names)}
    return given


def fitted(spec: TensorSpec, array: Array) -> Array:
    """Convert an array to the declared type; raise if values would change beyond rounding."""
    declared = spec.dtype
    if declared is None or declared == "string" or str(array.dtype) == declared:
        return array
    floats = "float" in declared
    if floats != ("float" in str(array.dtype)) and not (floats and array.dtype.kind in "iub"):
        raise _wrong_type(spec, array)
    if declared.startswith(("bfloat", "float8", "int4", "uint4", "int2", "uint2")):
        return array.astype(numpy_dtype(declared))
    with np.errstate(over="ignore"):
        cast: Array = array.astype(declared)
    if not floats and not np.array_equal(cast, array):
        raise _wrong_type(spec, array)
    return cast


def carried_over(
    feeds: Mapping[str, Array], bindings: Sequence[Binding], specs: Sequence[TensorSpec]
) -> dict[str, Array]:
    """Return the reference's feeds under the candidate's names and types."""
    by_name = {spec.name: spec for spec in specs}
    return feeds_from(
        feeds,
        {
            pair.candidate: Source(
                name=pair.reference, convert=partial(fitted, by_name[pair.candidate])
            )
            for pair in bindings
        },
    )


def summaries(
    feeds: Mapping[str, Array], origin: str, kind: InputKind = InputKind.GIVEN
) -> tuple[InputSummary, ...]:
    """Return the summaries of the inputs for the report."""
    return tuple(
        InputSummary(
            name=name,
            dtype=str(array.dtype) if array.dtype.kind != "O" else "string",
            shape=tuple(array.shape),
            origin=origin,
            digest=_digest(array),
            kind=kind,
        )
        for name, array in feeds.items()
    )


def _digest(array: Array) -> str:
    data = repr(array.tolist()).encode() if array.dtype.kind == "O" else array.tobytes()
    return "sha256:" + hashlib.sha256(data).hexdigest()[:32]


def _check_shape(spec: TensorSpec, array: Array, sizes: dict[str, tuple[str, int]]) -> None:
    if spec.shape is None:
        return
    declared = "×".join("?" if size is None else str(size) for size in spec.shape) or "scalar"
    fits = len(spec.shape) == array.ndim and all(
        not isinstance(size, int) or size == real
        for size, real in zip(spec.shape, array.shape, strict=True)
    )
    if not fits:
        raise UsageError(
            "INPUT_SHAPE",
            f"input {spec.name!r} has shape {'×'.join(map(str, array.shape)) or 'scalar'}",
            why=f"the model declares {declared}",
        )
    for size, real in zip(spec.shape, array.shape, strict=True):
        if isinstance(size, str):
            first, before = sizes.setdefault(size, (spec.name, real))
            if before != real:
                raise UsageError(
                    "UNBOUND_DIM",
                    f"the axis {size!r} is {before} in {first!r} and {real} in {spec.name!r}",
                    why="one name of a dynamic axis stands for one size",
                    fix=f"give arrays of one size, or none, and bind it with --dim {size}={before}",
                )


def _unknown_input(name: str, names: Sequence[str]) -> UsageError:
    near = difflib.get_close_matches(name, names, n=1)
    return UsageError(
        "UNKNOWN_INPUT",
        f"the model has no input {name!r}",
        why=f"it takes: {', '.join(names) or 'none'}",
        fix=f"did you mean {near[0]!r}?" if near else None,
    )


def _wrong_type(spec: TensorSpec, array: Array) -> UsageError:
    return UsageError(
        "INPUT_TYPE",
        f"input {spec.name!r} is given as {array.dtype}, which {spec.dtype} cannot hold unchanged",
        fix=f"give it as {spec.dtype}",
    )
