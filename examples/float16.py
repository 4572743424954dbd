"""Does feeding float16 arrays run a model in float16? And is a float16 model still the same?

The folklore: ``session.run(None, {"x": x.astype(np.float16)})`` tests half precision.

Measured: it does not run at all. ONNX Runtime answers INVALID_ARGUMENT, because the type belongs
to the model and not to the call. A real float16 model has float16 weights and tensors. Of such a
copy of a small network isomorph says degraded: it differs from float32 by far more than rounding
in float32 explains (2e-3 here), and by no more than float16 costs anyway. A wrong weight in the
same copy is not covered by that: divergent. And where a result leaves the range of float16
(65504), the copy is divergent too: infinities stand where the reference has numbers. An infinity
inside may stay unseen on a CPU (all 8 outputs behind one are finite here): ONNX Runtime
computes float16 nodes in float32 and hands the unrounded value on. Fetch the tensor to see it.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnxruntime
from building import helper, onnx_model
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument
from showing import Facts, show

import isomorph


def main() -> Facts:
    x = np.random.default_rng(1).normal(size=(16, 32)).astype(np.float32)
    with TemporaryDirectory() as name:
        folder = Path(name)
        wide, half = _network(folder, np.float32), _network(folder, np.float16)
        wrong = _network(folder, np.float16, wrong_by=0.05)
        try:
            onnxruntime.InferenceSession(wide).run(None, {"x": x.astype(np.float16)})
            answer = ""
        except InvalidArgument as error:
            answer = type(error).__name__
        reports = {
            "float16 copy": isomorph.check(wide, half, inputs={"x": x}, in_process=True),
            "float16, one weight wrong": isomorph.check(
                wide, wrong, inputs={"x": x}, in_process=True
            ),
            "float16, outputs too large": isomorph.check(
                wide, half, inputs={"x": x * 20_000}, in_process=True
            ),
        }
        large = isomorph.run(
            half, inputs={"x": x * 20_000}, in_process=True, fetch=["hidden", "y"]
        ).tensors
    facts: Facts = {title: _row(report) for title, report in reports.items()}
    facts["float16 fed into the float32 model"] = answer
    behind = large["y"][np.isinf(large["hidden"]).any(axis=1)]
    facts["outputs behind an infinity inside"] = behind.size
    facts["of them finite all the same"] = int(np.isfinite(behind).sum())
    return facts


def _row(report) -> dict:
    return {
        "verdict": report.verdict.value,
        "max finite difference": report.outputs[0].observed.distance.max_abs,
    }


def _network(folder: Path, dtype: type, *, wrong_by: float = 0.0) -> Path:
    """Two linear layers with a ReLU between them, every tensor of type ``dtype``."""
    draw = np.random.default_rng(0)
    first = draw.normal(size=(32, 64), scale=32**-0.5)
    second = draw.normal(size=(64, 8), scale=0.25)
    first[3, 5] += wrong_by
    nodes = [
        helper.make_node("MatMul", ["x", "first"], ["hidden"], name="first_layer"),
        helper.make_node("Relu", ["hidden"], ["active"], name="relu"),
        helper.make_node("MatMul", ["active", "second"], ["y"], name="second_layer"),
    ]
    path = folder / f"{np.dtype(dtype).name}_{wrong_by}.onnx"
    inputs, outputs = {"x": (dtype, ["batch", 32])}, {"y": (dtype, ["batch", 8])}
    constants = {"first": first.astype(dtype), "second": second.astype(dtype)}
    return onnx_model(path, nodes, inputs, outputs, constants)


if __name__ == "__main__":
    show(main())
