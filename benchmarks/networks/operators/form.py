"""One form of one operator: its attributes and inputs, and how a framework writes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

DOMAINS = (
    np.linspace(-4, 4, 24),
    np.linspace(-0.95, 0.95, 24),
    np.linspace(0.05, 4, 24),
    np.linspace(1.05, 6, 24),
)
"""Arguments; an operator of one gets the first on which all its results are numbers."""

TYPES = frozenset({"float32", "int32", "int64", "bool"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """``given`` is the argument that stays an input of the model; ``native`` is the writer's."""

    op: str
    given: Any
    native: Any


def defined(compute: Callable[[Any], Any]) -> Any:
    """An argument on which this function is defined and keeps its shape and type, if any."""
    for line in DOMAINS:
        x = line.astype(np.float32).reshape(2, 12)
        try:
            y, other = (np.asarray(compute(each)).copy() for each in (x, x * np.float32(0.99)))
        except Exception:
            continue
        # What does nothing here (a copy, a view) or hangs on nothing has nothing to approximate.
        moves = y.shape == x.shape and y.dtype == x.dtype and (y != x).any() and (y != other).any()
        if moves and np.isfinite(y).all():
            return x
    return None


def called(name: str, words: Sequence[str]) -> bool:
    """Whether one of these words is in the name; without any, all are meant."""
    return not words or any(word in name.lower() for word in words)


def usable(given: Any, result: Any) -> bool:
    """Whether argument and result are tensors of numbers that every format has, all finite."""
    return all(
        isinstance(each, np.ndarray)
        and str(each.dtype) in TYPES
        and 0 < each.size <= 4096
        and bool(np.isfinite(each).all())
        for each in (given, result)
    )


def numbered(forms: Iterable[Form]) -> dict[str, Form]:
    """Each under a name of its own, of which the operator is the first part."""
    return {f"{form.op}#{place}": form for place, form in enumerate(forms)}
