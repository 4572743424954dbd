"""Does compiling a model change what it computes?

The folklore: torch.compile and XLA only make things faster.

Measured: torch 2.13's compiler writes expm1(x) as exp(x) - 1 on the CPU, and near zero hardly a
digit of it is right; eager mode is exact. XLA in TensorFlow 2.21 lets the largest of a row forget a
NaN in it. In both cases the graph is right and its run is not: isomorph switches off what the
runtime does of its own accord, one after the other, and names the switch that cures it: fusion.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from building import quiet
from converting import saved_model
from showing import Facts, accused, show

import isomorph


class Growth(torch.nn.Module):
    """Small rates, compounded."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The gain in millionths."""
        return torch.expm1(x) * 1e6


def eager_and_compiled(folder: Path, x: np.ndarray[Any, Any]) -> Facts:
    with quiet():
        program = torch.export.export(Growth().eval(), (torch.from_numpy(x),))
        torch.export.save(program, folder / "growth.pt2")
    facts: Facts = {}
    for title, word in (("torch, eager", "no"), ("torch.compile", "yes")):
        report = isomorph.check(
            folder / "growth.pt2", inputs={"x": x}, settings={"compile": word}, in_process=True
        )
        facts[title] = accused(report)
        facts[f"cure, {title}"] = report.findings[0].fix if report.findings else None
    return facts


def with_and_without_xla(folder: Path, x: np.ndarray[Any, Any]) -> Facts:
    model = saved_model(folder / "largest", largest_by_fours)
    facts: Facts = {}
    for title, word in (("TensorFlow", "no"), ("XLA", "yes")):
        report = isomorph.check(model, inputs={"x": x}, settings={"xla": word}, in_process=True)
        facts[title] = accused(report)
        facts[f"cure, {title}"] = report.findings[0].fix if report.findings else None
    return facts


def largest_by_fours(x: Any) -> Any:
    import tensorflow as tf

    return tf.reduce_max(tf.reshape(2.0 * x, (-1, 4)), -1)


def main() -> Facts:
    draw = np.random.default_rng(0)
    small = draw.normal(size=(4, 64)).astype(np.float32) * np.float32(1e-6)
    spoiled = draw.normal(size=12).astype(np.float32)
    spoiled[6] = np.nan
    with TemporaryDirectory() as name:
        return {
            **eager_and_compiled(Path(name), small),
            **with_and_without_xla(Path(name), spoiled),
        }


if __name__ == "__main__":
    show(main())
