"""A small residual network in ONNX, optimized twice: once as it is, once with one number changed.

It takes the base install alone. The conversion is ONNX Runtime's own: its optimizer folds every
normalization into the convolution before it, and writes what it would run as a model.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from isomorph.core.demo import WRONG_EPSILON, DemoFiles

BLOCKS = 4
CHANNELS = 16
OPSET = 17
EPSILON = 1e-5


def write_demo(folder: Path) -> DemoFiles:
    """Write the three models into ``folder``."""
    import onnx

    reference, faithful, altered = (
        folder / name for name in ("network.onnx", "faithful.onnx", "altered.onnx")
    )
    model = _Network().model()
    onnx.save(model, reference)
    _optimize(model, faithful)
    norms = [node for node in model.graph.node if node.op_type == "BatchNormalization"]
    node = norms[len(norms) // 2]
    (epsilon,) = (each for each in node.attribute if each.name == "epsilon")
    epsilon.f = WRONG_EPSILON
    _optimize(model, altered)
    return DemoFiles(
        reference=reference,
        faithful=faithful,
        altered=altered,
        node=node.name,
        change=f"epsilon of {node.name}: {EPSILON:g} became {WRONG_EPSILON:g}, "
        "before it was folded away",
        made_by="ONNX, folded by ONNX Runtime's optimizer",
    )


def _optimize(model: Any, target: Path) -> None:  # noqa: ANN401
    """Write the model as ONNX Runtime's basic optimizations leave it."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(target)
    options.log_severity_level = 3
    onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


class _Network:
    """Nodes and constants, in the order in which they are added."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(0)
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def model(self) -> Any:  # noqa: ANN401
        """The whole network, valid and with a seeded state as after training."""
        import onnx
        from onnx import TensorProto, helper

        stem = self._convolution("image", "stem", 3, strides=[2, 2])
        tensor = self._node("Relu", [stem], "stem_relu")
        for number in range(1, BLOCKS + 1):
            tensor = self._block(tensor, f"block{number}")
        tensor = self._node("GlobalAveragePool", [tensor], "pool")
        tensor = self._node("Flatten", [tensor], "flatten")
        weight = self._constant("head.weight", self._normal((CHANNELS, 10), 0.25))
        bias = self._constant("head.bias", self._normal((10,), 0.1))
        self._node("Gemm", [tensor, weight, bias], "head", output="logits")
        graph = helper.make_graph(
            self._nodes,
            "network",
            [helper.make_tensor_value_info("image", TensorProto.FLOAT, [2, 3, 32, 32])],
            [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [2, 10])],
            self._constants,
        )
        opsets = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        onnx.checker.check_model(model)
        return model

    def _block(self, tensor: str, name: str) -> str:
        inner = self._normalized(tensor, f"{name}.first")
        inner = self._node("Relu", [inner], f"{name}.first_relu")
        inner = self._normalized(inner, f"{name}.second")
        total = self._node("Add", [tensor, inner], f"{name}.add")
        return self._node("Relu", [total], f"{name}.relu")

    def _normalized(self, tensor: str, name: str) -> str:
        """A convolution with the normalization behind it, whose state is that of a trained one."""
        tensor = self._convolution(tensor, name, CHANNELS)
        state = {
            "scale": self._random.uniform(0.5, 1.5, CHANNELS),
            "bias": self._normal((CHANNELS,), 0.2),
            "mean": self._normal((CHANNELS,), 0.2),
            "variance": self._random.uniform(0.3, 2.0, CHANNELS),
        }
        constants = [self._constant(f"{name}_norm.{key}", each) for key, each in state.items()]
        return self._node(
            "BatchNormalization", [tensor, *constants], f"{name}_norm", epsilon=EPSILON
        )

    def _convolution(self, tensor: str, name: str, channels: int, **attributes: Any) -> str:  # noqa: ANN401
        shape = (CHANNELS, channels, 3, 3)
        weight = self._constant(f"{name}.weight", self._normal(shape, (2 / (9 * channels)) ** 0.5))
        return self._node(
            "Conv", [tensor, weight], name, kernel_shape=[3, 3], pads=[1] * 4, **attributes
        )

    def _node(
        self,
        op: str,
        inputs: list[str],
        name: str,
        *,
        output: str | None = None,
        **attributes: Any,  # noqa: ANN401
    ) -> str:
        from onnx import helper

        made = output or f"{name}.out"
        self._nodes.append(helper.make_node(op, inputs, [made], name, **attributes))
        return made

    def _constant(self, name: str, values: Any) -> str:  # noqa: ANN401
        from onnx import numpy_helper

        self._constants.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def _normal(self, shape: tuple[int, ...], scale: float) -> Any:  # noqa: ANN401
        return self._random.normal(size=shape) * scale
