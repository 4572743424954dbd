"""A trace with all that a comparison on another machine may ask of the model behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isomorph.core.model import Model
    from isomorph.core.trace import Arrays, Environment, Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What the float64 oracle said: every tensor, and how far noise moved each.

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
    that nobody looked into, ``written`` those with every optimizer off. ``model`` is described,
    not held. ``meaning`` is None where no oracle was asked for.
    """

    model: Model
    seed: int
    inputs: Arrays
    run: Trace
    untouched: Arrays
    written: Arrays
    meaning: Meaning | None = None
    notes: tuple[str, ...] = ()
    location: str = ""
    digest: str = ""
    version: str = field(default="")
