"""Is an int16 lost on the way from one framework to another?

The folklore: a converter widens int16 to int32 without a word, and information gets lost.

Measured: it wraps, and it wraps the same way everywhere. Sums and products of int16 in NumPy,
PyTorch and ONNX Runtime are equal in every one of 20,000 random pairs and at the four extremes,
although six in ten results leave the range of int16. Widening loses nothing: it brings out what was
wrapped before. A candidate that computes in int32 is therefore another function (divergent), until
it casts its results back to int16 (equivalent, and every value is equal).
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from building import TensorProto, helper, onnx_model
from showing import Facts, show

import isomorph


class Arithmetic(torch.nn.Module):
    """A sum and a product, in whatever type comes in."""

    def forward(self, a, b):
        """Both results."""
        return a + b, a * b


def main() -> Facts:
    draw = np.random.default_rng(0).integers(-32768, 32768, size=(2, 20_000))
    extremes = np.array([[32767, -32768, -32768, 32767], [1, -1, -1, 32767]])
    a, b = np.concatenate([extremes, draw], axis=1).astype(np.int16)
    inputs = {"a": a, "b": b}
    exact = {"sum": a.astype(np.int64) + b, "product": a.astype(np.int64) * b}
    numpy_says = {"sum": a + b, "product": a * b}
    with TemporaryDirectory() as name:
        folder = Path(name)
        narrow = _model(folder / "int16.onnx", widened=False, back=True)
        casts = _model(folder / "int32_and_back.onnx", widened=True, back=True)
        wide = _model(folder / "int32.onnx", widened=True, back=False)
        onnx_says = isomorph.run(narrow, inputs=inputs, in_process=True).tensors
        reports = {
            "torch, onnxruntime in int16": isomorph.check(Arithmetic(), narrow, inputs=inputs),
            "int16, int32 cast back": isomorph.check(narrow, casts, inputs=inputs, in_process=True),
            "int16, int32 left wide": isomorph.check(narrow, wide, inputs=inputs, in_process=True),
        }
    facts: Facts = {
        title: {
            "verdict": report.verdict.value,
            "values that differ": sum(o.observed.distance.differing for o in report.outputs),
        }
        for title, report in reports.items()
    }
    outside = [int((values != values.astype(np.int16)).sum()) for values in exact.values()]
    facts["values compared"] = 2 * a.size
    facts["results outside int16"] = sum(outside)
    facts["numpy equals onnxruntime"] = all(
        np.array_equal(numpy_says[key], onnx_says[key]) for key in numpy_says
    )
    return facts


def _model(path: Path, *, widened: bool, back: bool) -> Path:
    """Sum and product; in int32 where ``widened``, with int16 outputs where ``back``."""
    nodes, names = [], {"a": "a", "b": "b"}
    if widened:
        names = {"a": "a_wide", "b": "b_wide"}
        nodes += [
            helper.make_node("Cast", [key], [wide], name=f"widen_{key}", to=TensorProto.INT32)
            for key, wide in names.items()
        ]
    for op, output in (("Add", "sum"), ("Mul", "product")):
        result = f"{output}_wide" if widened and back else output
        nodes.append(helper.make_node(op, [names["a"], names["b"]], [result], name=op.lower()))
        if result != output:
            cast = helper.make_node(
                "Cast", [result], [output], name=f"narrow_{output}", to=TensorProto.INT16
            )
            nodes.append(cast)
    inputs = {key: (np.int16, ["n"]) for key in "ab"}
    outputs = {key: (np.int16 if back else np.int32, ["n"]) for key in ("sum", "product")}
    return onnx_model(path, nodes, inputs, outputs)


if __name__ == "__main__":
    show(main())
