"""Does compiling a model, or handing it to a faster library, change what it computes?

The folklore: torch.compile, XLA, grappler and XNNPACK only make things faster.

Measured: torch 2.13's compiler writes expm1(x) as exp(x) - 1 on the CPU, and near zero hardly a
digit of it is right. XNNPACK, which LiteRT 2.3 uses unless set otherwise, takes the sine of the
seconds since 1970 for hundreds. XLA in TensorFlow 2.21 lets the largest of a row forget a NaN, and
grappler, on by default, makes a square root of a power, which is NaN at minus infinity. Each time
the graph is right and its run is not: isomorph switches off what the runtime does of its own
accord, one thing after the other, and names the one without which the run is right: fusion.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from building import quiet
from converting import saved_model
from showing import Facts, first_finding, show

import isomorph

Array = np.ndarray[Any, Any]


class Growth(torch.nn.Module):
    """Small rates, compounded."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The gain in millionths."""
        return torch.expm1(x) * 1e6


def exported(path: Path, x: Array) -> Path:
    with quiet():
        program = torch.export.export(Growth().eval(), (torch.from_numpy(x),))
        torch.export.save(program, path)
    return path


def day(path: Path, x: Array) -> Path:
    with quiet():
        import tensorflow as tf

        vector = tf.TensorSpec(x.shape, tf.float32, name="x")
        traced = tf.function(lambda x: tf.sin(x) * 0.5 + 0.5, input_signature=[vector])
        function = traced.get_concrete_function()
        path.write_bytes(tf.lite.TFLiteConverter.from_concrete_functions([function]).convert())
    return path


def largest_by_fours(x: Any) -> Any:
    import tensorflow as tf

    return tf.reduce_max(tf.reshape(2.0 * x, (-1, 4)), -1)


def root(x: Any) -> Any:
    import tensorflow as tf

    return tf.pow(x, 0.5) * 1.5


def main() -> Facts:
    draw = np.random.default_rng(0)
    small = draw.normal(size=(4, 64)).astype(np.float32) * np.float32(1e-6)
    hours = (1.7e9 + 3600 * np.arange(24)).astype(np.float32)
    spoiled, endless = draw.random((2, 12), np.float32)
    spoiled[6], endless[3] = np.nan, -np.inf
    facts: Facts = {}
    with TemporaryDirectory() as name:
        here = Path(name)
        cases = {
            "torch.compile": (exported(here / "growth.pt2", small), small, "compile", "no", "yes"),
            "XNNPACK": (day(here / "day.tflite", hours), hours, "xnnpack", "off", "on"),
            "XLA": (saved_model(here / "max", largest_by_fours), spoiled, "xla", "no", "yes"),
            "grappler": (saved_model(here / "root", root), endless, "grappler", "off", "on"),
        }
        for title, (model, x, key, without, with_it) in cases.items():
            for named, word in ((f"without {title}", without), (title, with_it)):
                settings = {key: word}
                report = isomorph.check(
                    model,
                    inputs={"x": x},
                    in_process=True,
                    options=isomorph.CheckOptions(
                        runtime=isomorph.RuntimeOptions(settings=settings)
                    ),
                )
                facts[named] = first_finding(report)
            facts[f"setting, {title}"] = report.findings[0].fix if report.findings else None
    return facts


if __name__ == "__main__":
    show(main())
