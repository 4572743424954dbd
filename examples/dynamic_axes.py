"""Why does an exported model refuse another batch size, although dynamic_axes was given?

The folklore: dynamic shapes and ONNX do not go together.

Measured: they do. The older exporter (dynamo=False) looks its dynamic_axes up by input name, and
without ``input_names`` the name is one that it made up itself (``onnx::ReduceMean_0``): the
request is dropped with a mere warning, and the batch of the example is frozen into the file.
With ``input_names``, or with the present exporter and ``dynamic_shapes``, the axis stays open, and
isomorph finds the model equivalent at a batch size that the exporter never saw. A frozen axis is
seen without running anything (``isomorph.inspect``), and inputs of another size are refused with
the reason (INPUT_SHAPE: the model declares 10×20).
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from building import export
from showing import Facts, show

import isomorph

AXES = {"input": {0: "batch"}}


class RowMeans(torch.nn.Module):
    """The mean of each row."""

    def forward(self, x):
        """One number for each row."""
        return torch.mean(x, dim=1)


def main() -> Facts:
    example = (torch.randn(10, 20, generator=torch.Generator().manual_seed(0)),)
    other = np.random.default_rng(0).normal(size=(5, 20)).astype(np.float32)
    ways = {
        "legacy, dynamic_axes alone": {"dynamo": False, "dynamic_axes": AXES},
        "legacy, with input_names": {
            "dynamo": False,
            "dynamic_axes": AXES,
            "input_names": ["input"],
        },
        "dynamo, dynamic_shapes": {"dynamo": True, "dynamic_shapes": {"x": {0: "batch"}}},
        "dynamo, without options": {"dynamo": True},
    }
    with TemporaryDirectory() as name:
        return {
            way: _row(export(RowMeans(), example, Path(name) / f"{place}.onnx", **options), other)
            for place, (way, options) in enumerate(ways.items())
        }


def _row(model: Path, other: np.ndarray) -> dict:
    """What the file declares, and what happens at a batch of 5."""
    (declared,) = isomorph.inspect(model).graph.inputs
    batch = declared.shape[0]
    return {
        "input": declared.name,
        "batch declared": batch,
        "frozen": isinstance(batch, int),
        "at batch 5": _answer(model, other),
    }


def _answer(model: Path, other: np.ndarray) -> str:
    """The verdict, or why there can be none."""
    try:
        isomorph.run(model, inputs={"0": other}, in_process=True)
    except isomorph.IsomorphError as error:
        return error.code
    return isomorph.check(RowMeans(), model, inputs={"x": other}).verdict.value


if __name__ == "__main__":
    show(main())
