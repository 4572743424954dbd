"""ONNX in float16 by ONNX Runtime's converter; inputs and outputs keep their types."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from isomorph.core.conversion import KEEP_FLOAT32, Order, Workaround
from isomorph.core.converter_abilities import ReleaseNeeds
from isomorph.core.lazy import require

_QUANTIZERS = ("QuantizeLinear", "DequantizeLinear")
"""Their scales must be float32 before opset 19, and the converter narrows them all the same."""

_LEAST, _LARGEST = 5.96e-08, 65504.0
"""The ends of float16, as the converter takes them."""


def remove_round_trips(model: Any, onnx: Any) -> None:  # noqa: ANN401
    """Connect nodes in float32 directly that the converter separates by a cast to float16 and back.

    It casts every result of such a node, and casts it again for each reader, under one name.
    """
    graph, types = model.graph, onnx.TensorProto
    casts = {node.output[0]: node for node in graph.node if node.op_type == "Cast"}
    narrowed = {name: cast.input[0] for name, cast in casts.items()
                if cast.attribute[0].i == types.FLOAT16}  # fmt: skip
    back = {name: narrowed[cast.input[0]] for name, cast in casts.items()
            if cast.attribute[0].i == types.FLOAT and cast.input[0] in narrowed}  # fmt: skip
    ends = {each.name for each in graph.output}
    kept: list[Any] = []
    seen: set[str] = set()
    for node in graph.node:
        name = node.output[0] if node.op_type == "Cast" else ""
        if name in ends and name in back:
            node.input[0] = back[name]
        elif name and (name in back or name in seen):
            continue
        seen.update(node.output)
        for place, name in enumerate(node.input):
            node.input[place] = back.get(name, name)
        kept.append(node)
    read = {name for node in kept for name in node.input} | ends
    del graph.node[:]
    graph.node.extend(
        node for node in kept if node.op_type != "Cast" or read.intersection(node.output)
    )


class OnnxToFloat16:
    """``onnxruntime.transformers.float16``; it has written invalid files, so they are loaded."""

    name = "onnx_to_float16"
    source, target, suffix = "onnx", "onnx", ".onnx"
    widths = frozenset({"float16"})
    keeps_nodes = frozenset({"float16"})
    packages = ("onnx", "onnxruntime")
    install = "pip install isomorph"
    worker = "onnx"
    rank, named = 0, False
    workarounds = (
        Workaround(
            name="without shapes",
            description="converted without inferring shapes first",
            options={"infer": "no"},
        ),
        Workaround(
            name="quantizers as they are",
            description="quantized constants and their scales stay as they are",
            options={"quantizers": "keep"},
        ),
    )
    loses = ("values beyond ±65504, and small ones below 6e-8",)
    releases = MappingProxyType({
        "onnxruntime": ReleaseNeeds(
            statement="import onnx; from onnxruntime.transformers import float16",
            beside=("onnx",),
        ),
    })  # fmt: skip

    def convert(self, order: Order) -> Sequence[str]:
        """Write the narrow model."""
        onnx = require("onnx", extra="all", needed_for=f"converter {self.name!r}")
        require("onnxruntime", extra="all", needed_for=f"converter {self.name!r}")
        from onnxruntime.transformers.float16 import (
            DEFAULT_OP_BLOCK_LIST,
            convert_float_to_float16,
        )

        from isomorph.frameworks.onnx.describe import node_names

        kept = _QUANTIZERS if order.options.get("quantizers") == "keep" else ()
        wide = [name for name in order.options.get(KEEP_FLOAT32, "").split("\n") if name]
        model = onnx.load(order.source)
        for node, name in zip(model.graph.node, node_names(model.graph), strict=True):
            # The nodes to keep are stated by name, and a file may have nodes without one.
            node.name = name
        narrow = convert_float_to_float16(
            model,
            # Other releases clip at 1e4 what the type holds.
            min_positive_val=_LEAST,
            max_finite_val=_LARGEST,
            keep_io_types=True,
            disable_shape_infer=order.options.get("infer") == "no",
            op_block_list=[*DEFAULT_OP_BLOCK_LIST, *kept],
            node_block_list=wide,
        )
        if wide:
            remove_round_trips(narrow, onnx)
        onnx.save(narrow, order.target)
        return ["inputs and outputs stay in float32"]
