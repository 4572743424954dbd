"""TensorFlow and Keras to ONNX by tf2onnx."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from isomorph import registry
from isomorph.converters import _tf2onnx
from isomorph.converters._tf2onnx import NEWEST_OPSET, failing_loudly, handled, leaving_out
from isomorph.core.conversion import AS_IS, Order
from isomorph.core.lazy import require


class TensorflowToOnnx:
    """tf2onnx on the frozen inference graph, with a handler for the Erfc that it lacks."""

    name = "tensorflow_to_onnx"
    source, target, suffix = "tensorflow", "onnx", ".onnx"
    widths = frozenset({AS_IS})
    packages, install = _tf2onnx.PACKAGES, _tf2onnx.INSTALL
    worker = "tensorflow"
    rank, named = 0, False
    workarounds = _tf2onnx.WORKAROUNDS
    loses = ("gradients and training mode", "layers, losses and custom objects of Keras")
    takes_opset = True
    releases = _tf2onnx.RELEASES

    def passes(self) -> Sequence[str]:
        """The optimizers of tf2onnx."""
        require("tf2onnx", extra="tensorflow", needed_for=f"converter {self.name!r}")
        return _tf2onnx.optimizers()

    def abilities(self) -> dict[str, object]:
        """Operators with a handler."""
        require("tf2onnx", extra="tensorflow", needed_for=f"converter {self.name!r}")
        return {"operators": sorted({*handled(tflite=False), "Erfc"})}

    def convert(self, order: Order) -> Sequence[str]:
        """Convert, and fail where tf2onnx only logs that it failed."""
        require("tf2onnx", extra="tensorflow", needed_for=f"converter {self.name!r}")
        program = registry.framework("tensorflow").load(order.source, order.options).native.program
        from tf2onnx import convert

        from isomorph.frameworks.tensorflow.program import native_name

        inputs = [native_name(port.tensor) for port in program.inputs]
        outputs = [native_name(port.tensor) for port in program.outputs]
        names = [port.name for port in (*program.inputs, *program.outputs)]
        met: list[str] = []
        with failing_loudly(), leaving_out(order.options):
            convert.from_graph_def(
                program.graph_def,
                input_names=inputs,
                output_names=outputs,
                opset=int(order.options.get("opset", NEWEST_OPSET)),
                tensors_to_rename=dict(zip([*inputs, *outputs], names, strict=True)),
                custom_op_handlers={"Erfc": (_erfc(met), [])},
                output_path=order.target,
            )
        return ("Erfc, which tf2onnx lacks, is written as 1 − Erf",) if met else ()


def _erfc(met: list[str]) -> Callable[..., Any]:
    """A handler that makes 1 − Erf(x) of Erfc(x), and notes that it was needed."""

    def handler(context: Any, node: Any, name: str, args: Any) -> None:  # noqa: ANN401
        import numpy as np

        met.append(name)
        kind = context.get_dtype(node.output[0])
        shape = context.get_shape(node.output[0])
        inner = context.make_node("Erf", [node.input[0]], dtypes=[kind], shapes=[shape])
        wide = np.float64 if kind == _DOUBLE else np.float32
        one = context.make_const(f"{inner.name}_one", np.array(1.0, wide))
        context.remove_node(node.name)
        context.make_node(
            "Sub",
            [one.output[0], inner.output[0]],
            outputs=node.output,
            name=name,
            dtypes=[kind],
            shapes=[shape],
        )

    return handler


_DOUBLE = 11
"""onnx.TensorProto.DOUBLE, which is part of the format."""
