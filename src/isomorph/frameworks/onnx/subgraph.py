"""A part of an ONNX model, or a body inside it, as a model of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from isomorph.core.cutting import find_body, incomplete_piece
from isomorph.core.errors import UsageError
from isomorph.frameworks.onnx.cut import Cutter, rename_duplicates
from isomorph.frameworks.onnx.describe import node_names
from isomorph.frameworks.onnx.model import OnnxModel, model_of
from isomorph.frameworks.onnx.scope import bodies, reads, stored
from isomorph.frameworks.onnx.stored_tensors import element_type

if TYPE_CHECKING:
    from isomorph.core.subgraph import Piece
    from isomorph.core.trace import Array, Arrays


def piece_of(model: OnnxModel, piece: Piece, feeds: Arrays) -> OnnxModel:
    """The sub-model; ``feeds`` are examples of its inputs, for their types and shapes."""
    types = {name: _type(name, feeds[name]) for name in piece.feeds}
    if piece.node is not None:
        proto = _body(model, piece, types)
    else:
        cutter = Cutter(model)
        cutter.check((*piece.feeds, *piece.fetch))
        found = cutter.slice(piece.feeds, piece.fetch)
        _refuse_missing(found.inputs)
        proto = cutter.build(found, types, piece.fetch, name="piece")
    _declare_outputs(proto, model)
    return model_of(proto, folder=model.folder, trusted=model.trusted)


def _type(name: str, example: Any) -> Any:  # noqa: ANN401
    array: Array = np.asarray(example)
    number = element_type("string" if array.dtype.kind in "OUS" else array.dtype.name)
    if number is None:
        raise UsageError("PIECE_TYPE", f"tensor {name!r} is {array.dtype}, which ONNX lacks")
    return onnx.helper.make_tensor_type_proto(number, array.shape)


def _refuse_missing(names: Sequence[str]) -> None:
    if names:
        raise incomplete_piece(names[0])


def _body(model: OnnxModel, piece: Piece, types: Mapping[str, Any]) -> Any:  # noqa: ANN401
    graph, around = _find(model, str(piece.node), str(piece.body))
    source = model.proto
    proto = onnx.ModelProto(ir_version=max(source.ir_version, 4))
    proto.opset_import.extend(source.opset_import)
    proto.functions.extend(source.functions)
    proto.graph.CopyFrom(graph)
    own = proto.graph
    own.name = "body"
    del own.input[:], own.output[:]
    for name in piece.feeds:
        own.input.add(name=name).type.CopyFrom(types[name])
    for name in piece.fetch:
        own.output.add(name=name)
    _bring(own, around, {*piece.feeds})
    rename_duplicates(own)
    return proto


def _find(model: OnnxModel, node: str, body: str) -> tuple[Any, list[Any]]:
    """The body graph, and the graphs around it, the nearest first."""
    (*around, graph), _ = find_body(model.proto.graph, node, body, _bodies)
    return graph, around[::-1]


def _bodies(graph: Any) -> Iterator[tuple[str, str, int, Any]]:  # noqa: ANN401
    for name, node in zip(node_names(graph), graph.node, strict=True):
        for key, number, inner in bodies(node):
            yield name, key, number, inner


def _bring(graph: Any, around: Sequence[Any], fed: set[str]) -> None:  # noqa: ANN401
    """Constants of the graphs around that the body reads and nobody feeds."""
    own = fed | stored(graph) | {name for node in graph.node for name in node.output}
    wanted = [name for node in graph.node for name in reads(node) if name not in own]
    wanted += [value.name for value in graph.output if value.name not in own]
    extra = []
    for name in dict.fromkeys(wanted):
        for outer in around:
            weights = [tensor for tensor in outer.initializer if tensor.name == name]
            makers = [node for node in outer.node if name in node.output]
            if weights:
                graph.initializer.add().CopyFrom(weights[0])
            elif makers and makers[0].op_type == "Constant":
                extra.append(makers[0])
            else:
                continue
            break
        else:
            _refuse_missing([name])
    nodes = [*extra, *graph.node]
    copies = []
    for node in nodes:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        copies.append(copy)
    del graph.node[:]
    graph.node.extend(copies)


def _declare_outputs(proto: Any, model: OnnxModel) -> None:  # noqa: ANN401
    """A file needs types of its outputs: inferred, or as the original declares them."""
    declared = {
        value.name: value
        for value in (*model.outline.graph.output, *model.outline.graph.value_info)
        if value.type.HasField("tensor_type")
    }
    try:
        inferred = onnx.shape_inference.infer_shapes(proto, data_prop=True).graph.output
        known = {value.name: value for value in inferred if value.type.WhichOneof("value")}
    except Exception:  # noqa: BLE001 - inference is a help, and refuses what runtimes accept
        known = {}
    for value in proto.graph.output:
        described = known.get(value.name) or declared.get(value.name)
        if described is not None:
            value.type.CopyFrom(described.type)
