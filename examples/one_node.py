"""How do I see everything that goes into one node and comes out of it?

The folklore: add its tensors to the graph's outputs, as float32, and save a second model.

Measured: a tensor of another type breaks that (ONNX Runtime refuses a model that declares the
int64 indices of a TopK as float32), and the copy is not the model you deploy. With isomorph any
tensor is fetched by name, of its own type, and the file stays as it is; and fetched from the
float64 oracle too it tells how exact the node is. Here the variance of a normalization written out
by hand is E[x²] - E[x]²: both terms are right to 2 ulp, their difference is 28,000 ulp off (the
first four digits are left), and the deviation behind it inherits half of that.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx
import onnxruntime
from building import TensorProto, helper, onnx_model
from onnxruntime.capi.onnxruntime_pybind11_state import Fail
from showing import Facts, show

import isomorph

NODE = "variance"


def main() -> Facts:
    x = np.random.default_rng(0).normal(100.0, 1.0, size=(4, 256)).astype(np.float32)
    with TemporaryDirectory() as name:
        model = _normalizer(Path(name) / "normalizer.onnx")
        before = model.read_bytes()
        graph = isomorph.inspect(model).graph
        node = next(node for node in graph.nodes if node.name == NODE)
        fetch = [*node.inputs, *node.outputs, "deviation", "best"]
        run = isomorph.run(model, inputs={"x": x}, in_process=True, fetch=fetch).tensors
        exact = isomorph.run(
            model,
            inputs={"x": x},
            in_process=True,
            fetch=fetch,
            options=isomorph.RuntimeOptions(name="onnx_oracle"),
        ).tensors
        refused = _as_float_output(model, "best")
        untouched = model.read_bytes() == before
    facts: Facts = {
        tensor: {
            "of the node": "input"
            if tensor in node.inputs
            else "output"
            if tensor in node.outputs
            else "",
            "type": str(run[tensor].dtype),
            "shape": "×".join(map(str, run[tensor].shape)),
            "max ulp from float64": _ulp(run[tensor], exact[tensor]),
        }
        for tensor in fetch
    }
    facts["node"] = f"{node.name} ({node.op})"
    facts["indices declared as float32"] = refused
    facts["the file is untouched"] = untouched
    return facts


def _ulp(value: np.ndarray, exact: np.ndarray) -> float:
    if value.dtype.kind != "f":
        return float(np.abs(value - exact).max())
    return float((np.abs(value - exact) / np.spacing(np.abs(exact).astype(value.dtype))).max())


def _as_float_output(model: Path, tensor: str) -> str:
    """What comes of declaring any tensor as a float32 output."""
    copy = onnx.load(model)
    kept = [output for output in copy.graph.output if output.name != tensor]
    del copy.graph.output[:]
    copy.graph.output.extend(kept)
    copy.graph.output.append(helper.make_tensor_value_info(tensor, TensorProto.FLOAT, None))
    try:
        onnxruntime.InferenceSession(copy.SerializeToString())
    except Fail as error:
        return type(error).__name__
    return ""


def _normalizer(path: Path) -> Path:
    """Normalized rows, and the places of their three largest values."""
    steps = [
        ("Mul", ["x", "x"], ["square"]),
        ("ReduceMean", ["square", "axis"], ["mean_square"]),
        ("ReduceMean", ["x", "axis"], ["mean"]),
        ("Mul", ["mean", "mean"], ["square_mean"]),
        ("Sub", ["mean_square", "square_mean"], ["variance"]),
        ("Sqrt", ["variance"], ["deviation"]),
        ("Sub", ["x", "mean"], ["centered"]),
        ("Div", ["centered", "deviation"], ["y"]),
        ("TopK", ["y", "three"], ["largest", "best"]),
    ]
    nodes = [helper.make_node(op, ins, outs, name=outs[0]) for op, ins, outs in steps]
    constants = {"axis": np.array([1]), "three": np.array([3])}
    outputs = {"y": (np.float32, ["rows", 256]), "largest": (np.float32, ["rows", 3])}
    return onnx_model(path, nodes, {"x": (np.float32, ["rows", 256])}, outputs, constants)


if __name__ == "__main__":
    show(main())
