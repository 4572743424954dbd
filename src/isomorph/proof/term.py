"""One term: what a tensor is, as a primitive operation on other terms."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from isomorph.core.trace import Array

FLOATS = frozenset({"float16", "bfloat16", "float32", "float64"})

PARTIAL = frozenset({"inverse", "sqrt", "log", "pow", "tan", "asin", "acos", "acosh", "atanh"})
"""Functions that are not defined, or infinite, for some real arguments."""

MOVES = frozenset(
    {"transpose", "reshape", "slice", "concat", "pad", "expand", "take", "windows", "spread",
     "select", "retype"}
)  # fmt: skip
"""Primitives that move elements, and compute nothing."""

STATED = frozenset({"constant", "sizes"})
"""Terms whose elements are known: numbers, and sizes of dynamic axes."""

HEAVY = frozenset({"matmul", "conv", "rows", "whole", "lookup", "loop"})
"""Primitives whose results are cut points: a value of any size for them costs nothing."""


WHOLE_IN_FLOAT32 = 1 << 24
"""Whole numbers up to it are exact in float32, and larger ones are rounded to no smaller ones."""


class NoMeaningError(Exception):
    """What a node means is not known here; ``why`` is for the report."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(eq=False, slots=True)
class Term:
    """One tensor. ``finite``: no element is infinite or NaN, whatever the inputs are.

    ``static``: it depends on constants alone. ``read`` gives the value of a stored constant, in
    its declared type or a wider one. ``data`` is an array that belongs to the operation, such as
    a mask; ``attrs`` holds its digest. ``first`` is the first element of a constant, where it is
    known without reading it.
    """

    id: int
    op: str
    attrs: tuple[Any, ...]
    inputs: tuple[Term, ...]
    shape: tuple[int, ...]
    dtype: str
    finite: bool
    static: bool
    read: Callable[[], Array] | None = None
    data: Any = None
    first: Array | None = None

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def is_float(self) -> bool:
        """Whether its elements stand for real numbers."""
        return self.dtype in FLOATS

    def value(self) -> Array:
        """The elements of a constant."""
        if self.read is None:
            raise NoMeaningError("a value that depends on the inputs decides a shape or an option")
        return self.read()


def unknown_terms(term: Term, known: Container[int]) -> Iterator[Term]:
    """Yield the term and those below it that are not ``known`` yet, each behind its inputs.

    Whoever iterates makes each one known before the next.
    """
    stack = [term]
    while stack:
        at = stack[-1]
        missing = [] if at.id in known else [each for each in at.inputs if each.id not in known]
        if missing:
            stack += missing
            continue
        stack.pop()
        if at.id not in known:
            yield at


def is_function(term: Term, name: str) -> bool:
    """Whether a term applies this function to single elements."""
    return term.op == "function" and term.attrs[0] == name


def is_partial(term: Term) -> bool:
    """Whether a term applies a function that is not defined everywhere.

    A lookup is not defined for an index beyond its table; a loop may apply any of them inside.
    """
    return term.op in ("inverse", "lookup", "loop") or (
        term.op == "function" and term.attrs[0] in PARTIAL
    )


def digest_of(value: Array, dtype: str) -> str:
    """As ``core.digest`` identifies a stored constant."""
    digest = hashlib.sha256(f"{dtype}{list(value.shape)}".encode())
    digest.update(value.tobytes())
    return digest.hexdigest()


def refuse_nan(value: Array) -> None:
    """Refuse what is not a number: kernels differ on what they make of it."""
    if value.dtype.kind not in "biu" and bool(np.isnan(_real(value)).any()):
        raise NoMeaningError("a constant that is not a number")


def all_finite(value: Array) -> bool:
    """Whether no element is infinite or NaN."""
    if value.dtype.kind in "biu":
        return True
    return bool(np.isfinite(_real(value)).all())


def _real(value: Array) -> Array:
    """Numbers of a type that NumPy computes with."""
    return value if value.dtype.kind == "f" else np.asarray(value, np.float64)


def array_digest(array: Array) -> str:
    """Of an array that belongs to an operation."""
    if array.dtype == object:
        raise NoMeaningError("an array that depends on the size of a dynamic axis")
    plain = np.ascontiguousarray(array)
    return hashlib.sha256(f"{plain.dtype}{plain.shape}".encode() + plain.tobytes()).hexdigest()
