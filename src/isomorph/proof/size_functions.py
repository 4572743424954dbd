"""Functions of numbers of which some are sizes of dynamic axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.proof.sizes import Size, UndecidedSizeError
from isomorph.proof.term import STATED

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.proof.term import Term


def _divided(a: Any, b: Any) -> Any:  # noqa: ANN401
    """A quotient without a remainder; how others are rounded differs between frameworks."""
    if a % b:
        raise UndecidedSizeError(f"{a} is divided by {b}")
    return a // b


_HOLD_SIZES = frozenset({"int32", "int64", "float32", "float64"})
"""Types in which a size is a number like any other. Halves are too short for one above 2048."""

_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "int add": lambda a, b: a + b, "int sub": lambda a, b: a - b, "int mul": lambda a, b: a * b,
    "int div": _divided, "less": lambda a, b: a < b, "less_equal": lambda a, b: a <= b,
    "equal": lambda a, b: a == b, "where": lambda c, a, b: a if c else b,
    "max": lambda a, b: b if a < b else a, "min": lambda a, b: a if a < b else b,
}  # fmt: skip


def of_sizes(name: str, arguments: Sequence[Term], dtype: str) -> Array | None:
    """The elements of a function of known numbers, for every size; None of an unknown function."""
    if any(each.op not in STATED for each in arguments):
        return None
    given = [np.asarray(each.value(), object) for each in arguments]
    if name == "cast":
        plain = arguments[0].dtype in ("int32", "int64")
        return given[0] if plain and dtype in _HOLD_SIZES else None
    if name not in _FUNCTIONS or any(each.is_float for each in arguments):
        return None
    function = np.frompyfunc(_FUNCTIONS[name], len(given), 1)
    return np.asarray(function(*given), object)


def positive(term: Term) -> bool:
    """Whether all numbers of a term of sizes are larger than zero, for every size."""
    return all(bool(each > 0) for each in term.value().flat if isinstance(each, Size)) and all(
        each > 0 for each in term.value().flat if not isinstance(each, Size)
    )
