"""One quantized tensor of the candidate: its parameters, and what they do to its values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from isomorph.core.constraints import Count

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantizedTensor:
    """A row of the quantization table; None where something could not be measured.

    ``kind``: ``weight`` (stored), ``activation`` (a constant scale) or ``dynamic`` (the scale of
    this very run). ``scale`` and ``zero_point`` are the smallest and largest of ``channels``
    ones. ``seen`` are the values before the quantizer: for a weight, those of the reference's
    counterpart where there is one. ``clipped`` is the share of them beyond the representable
    range; values cut at an end that is the real number zero, as a ReLU does, are ``rectified``
    instead. ``used`` is the share of the range that the values fill. ``sqnr_db`` is that of
    quantizing and dequantizing them, ``ideal_sqnr_db`` that of a min/max quantizer of the same
    width and granularity. ``local_quanta``: by how many steps the runtime, with its optimizers
    off, misses the float64 result of the same quantized operands. ``gain``: the share of the
    outputs' error, oracle against oracle, that goes if this tensor alone stays in float; below
    zero where its rounding happened to make up for another's. Measured only where
    the table was asked for.

    ``misread`` names the parameters in which a reader of the integers differs from their writer;
    such a reader has a row of its own, and the loss there is that of writing with the one grid
    and reading with the other. ``counterpart`` is the reference's quantized tensor that this one
    is converted from, and ``changed`` the parameters in which the two differ.
    """

    tensor: str
    dtype: str
    kind: Literal["weight", "activation", "dynamic"]
    channels: Count
    scale: Interval
    """The smallest and the largest of the channels."""
    zero_point: tuple[int, int]
    axis: int | None = None
    node: str | None = None
    representable: Interval | None = None
    seen: Interval | None = None
    """The values before the quantizer."""
    clipped: float | None = None
    """Share of the values beyond the range."""
    rectified: float | None = None
    """Share cut at an end that is zero, as a ReLU does."""
    used: float | None = None
    """Share of the range that the values fill."""
    sqnr_db: float | None = None
    ideal_sqnr_db: float | None = None
    """Of a min/max quantizer of this width and granularity."""
    local_quanta: float | None = None
    """Steps between the runtime and float64 on the same quantized operands."""
    gain: float | None = None
    """The share of the outputs' error that goes if this tensor alone stays in float."""
    factor: float | None = None
    """What the reference's weight was multiplied by before it was quantized, where that is one
    number other than 1 for all of it."""
    counterpart: str | None = None
    changed: tuple[str, ...] = ()
    """Parameters that the conversion changed."""
    misread: tuple[str, ...] = ()
    """Parameters in which a reader differs from the writer."""

    @property
    def lost_db(self) -> float:
        """How far the quantizer stays behind the ideal one; 0 where it was not measured."""
        if self.sqnr_db is None or self.ideal_sqnr_db is None:
            return 0.0
        # Better than the ideal is possible by luck, and exact where values lie on the grid.
        exact = self.sqnr_db == self.ideal_sqnr_db
        return 0.0 if exact else max(0.0, self.ideal_sqnr_db - self.sqnr_db)
