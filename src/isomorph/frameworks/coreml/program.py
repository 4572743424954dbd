"""An ML program as its file states it: operations in order, values where they are stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class MilType:
    """What is declared of a value: a tensor, or another ``kind`` that holds no numbers here."""

    dtype: str | None
    shape: tuple[int | None, ...] | None
    kind: str = "tensor"


@dataclass(frozen=True, slots=True, kw_only=True)
class MilValue:
    """A stored value: its array or text, or where a weight file holds it.

    ``span`` is where its message lies in the specification, for edits.
    """

    type: MilType
    data: Array | str | None = None
    file: str = ""
    offset: int = 0
    span: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class MilOperation:
    """One operation; an input is a list of names of values, or of values themselves."""

    type: str
    name: str
    inputs: Mapping[str, tuple[str | MilValue, ...]]
    outputs: tuple[tuple[str, MilType], ...]
    attributes: Mapping[str, MilValue]
    blocks: tuple[MilBlock, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MilBlock:
    """Operations in order, the values that they read from outside and those that they give."""

    inputs: tuple[tuple[str, MilType], ...]
    outputs: tuple[str, ...]
    operations: tuple[MilOperation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MilProgram:
    """One function of an ML program, with a reader of what its values refer to.

    ``data`` is the specification as it lies in the file, and ``weights`` are the files beside it
    by the names that values use.
    """

    function: str
    opset: str
    version: int
    inputs: tuple[tuple[str, MilType], ...]
    outputs: tuple[str, ...]
    block: MilBlock
    data: bytes = field(repr=False)
    read: Callable[[MilValue], Array] = field(repr=False)
    path: Path | None = None
    specification: Path | None = None
    weights: Mapping[str, Path] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def array(self, value: MilValue) -> Array:
        """The numbers of a stored value."""
        if isinstance(value.data, np.ndarray):
            return value.data
        if value.data is not None:
            return np.asarray(value.data, dtype=object)
        return self.read(value)


def operations(block: MilBlock) -> Iterator[MilOperation]:
    """Every operation of a block and of the blocks inside it."""
    for each in block.operations:
        yield each
        for inner in each.blocks:
            yield from operations(inner)
