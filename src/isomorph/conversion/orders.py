"""What a converter is asked to do with one model, and the inputs that it is given."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from isomorph.core.conversion import Order, Step

if TYPE_CHECKING:
    from isomorph.conversion.converter_samples import SampleSource
    from isomorph.core.model import Model

CALIBRATED = frozenset({"int8", "int16x8"})
"""Widths that need samples."""


def order_for(
    step: Step,
    model: Model,
    location: str,
    *,
    samples: SampleSource,
    folder: Path,
    options: Mapping[str, str],
) -> Order:
    """The order to take the model at ``location`` this step; inputs are written into ``folder``."""
    return Order(
        source=location,
        target="",
        example=samples.write_example(model, folder),
        samples=samples.write_samples(model, folder / "samples")
        if step.width in CALIBRATED
        else (),
        width=step.width,
        inputs=model.graph.inputs,
        outputs=model.graph.outputs,
        options=options,
    )
