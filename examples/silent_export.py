"""Can an exporter write a wrong graph without an error or a warning?

The folklore: an export that succeeds is right, and the exporter would have complained.

Measured: PyTorch 2.13 writes both of these without a word, of the kind of pytorch#169178. Average
pooling with ``divisor_override`` becomes an AveragePool that divides by the size of its window:
every number is off by the same factor. In an attention, a row in which every key is masked out is
zero in PyTorch; in the exported graph it is the mean of all values, in each of its elements. Rows
that see one key are right, so a test without such a row sees nothing. isomorph compares both
graphs in float64 and names the node.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from building import export, quiet
from showing import Facts, first_finding, show

import isomorph


class Pooled(torch.nn.Module):
    """The sum of four neighbors by three."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Divide by 3 instead of the 4 elements of a window."""
        return torch.nn.functional.avg_pool2d(x, 2, divisor_override=3).tanh()


class Attended(torch.nn.Module):
    """An attention with a mask: true where a key is seen."""

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Keys, queries and values are the same words."""
        return torch.nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=mask)


def main() -> Facts:
    draw = np.random.default_rng(0)
    image = draw.normal(size=(1, 2, 8, 8)).astype(np.float32)
    words = draw.normal(size=(1, 2, 4, 8)).astype(np.float32)
    seen = np.tril(np.ones((1, 1, 4, 4), bool))
    none_seen = seen.copy()
    none_seen[0, 0, 2] = False
    facts: Facts = {}
    for title, module, fed in (
        ("divisor_override", Pooled(), {"x": image}),
        ("a row that sees no key", Attended(), {"x": words, "mask": none_seen}),
        ("every row sees a key", Attended(), {"x": words, "mask": seen}),
    ):
        report = _checked(module, fed)
        facts[title] = first_finding(report)
        if report.findings and report.verdict.value == "divergent":
            facts[f"{title}, in words"] = report.findings[0].summary
    return facts


def _checked(module: torch.nn.Module, fed: dict[str, np.ndarray]) -> Any:
    """The exported program against the ONNX file that ``torch.onnx.export`` makes of it."""
    example = tuple(map(torch.from_numpy, fed.values()))
    with TemporaryDirectory() as name:
        program, exported = Path(name) / "model.pt2", Path(name) / "model.onnx"
        with quiet():
            torch.export.save(torch.export.export(module, example), program)
        export(module, example, exported, dynamo=True, input_names=list(fed))
        return isomorph.check(program, exported, inputs=fed, in_process=True)


if __name__ == "__main__":
    show(main())
