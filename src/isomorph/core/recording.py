"""A trace with everything that a comparison on another machine needs of its model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isomorph.core.model import Model
    from isomorph.core.trace import Arrays, Environment, Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleRecord:
    """The result of the float64 oracle: every tensor, and how far noise moved each.

    ``tensors`` are flattened as those of a trace. ``spread`` holds, for each kind of noise
    (``rounding``, ``intended``, ``execution``), the root mean square and the peak by which it
    moves each tensor. ``draws`` are the outputs of every single draw, under ``kind/number``.
    """

    environment: Environment
    tensors: Arrays
    spread: Mapping[str, Mapping[str, tuple[float, float]]]
    draws: Mapping[str, Arrays]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One run of one model, recorded to be compared elsewhere.

    ``run`` has every tensor as deployed, with capturing; ``untouched`` the outputs of the run
    without capturing, ``written`` those with every optimizer off. ``model`` is its
    description alone. ``oracle`` is None where none was recorded.
    """

    model: Model
    seed: int
    inputs: Arrays
    run: Trace
    untouched: Arrays
    written: Arrays
    oracle: OracleRecord | None = None
    notes: tuple[str, ...] = ()
    location: str = ""
    digest: str = ""
    version: str = field(default="")
