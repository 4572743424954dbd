"""Forms of ONNX operators: those of one argument, and the cases of ONNX's own backend test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases
from onnx.reference import ReferenceEvaluator

from networks.operators.form import Form, called, defined, usable

OPSET = 20


def forms(wanted: Sequence[str]) -> Iterator[Form]:
    """Of operators that are called so; those of one argument first."""
    yield from _of_one_argument(wanted)
    seen: set[str] = set()
    for case in collect_testcases(None):
        nodes = case.model.graph.node
        if len(nodes) == 1 and called(nodes[0].op_type, wanted):
            form = _case(case, seen)
            if form is not None:
                yield form


def write(path: Path, chosen: Mapping[str, Form]) -> dict[str, Any]:
    """One graph of these nodes side by side; its arguments by name."""
    nodes, constants, inputs, outputs, arrays = [], [], [], [], {}
    for place, form in enumerate(chosen.values()):
        node, stored, result = form.native
        copied = onnx.NodeProto()
        copied.CopyFrom(node)
        copied.name = f"n{place}"
        at = next(slot for slot, name in enumerate(node.input) if name and name not in stored)
        constants += [
            numpy_helper.from_array(array, f"c{place}_{name}") for name, array in stored.items()
        ]
        copied.input[:] = [
            f"x{place}" if slot == at else name and f"c{place}_{name}"
            for slot, name in enumerate(node.input)
        ]
        copied.output[:] = [f"y{place}"]
        nodes.append(copied)
        inputs.append(_info(f"x{place}", form.given))
        outputs.append(_info(f"y{place}", result))
        arrays[f"x{place}"] = form.given
    graph = helper.make_graph(nodes, "operators", inputs, outputs, constants)
    opset = [helper.make_opsetid("", OPSET)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=9), path)
    return arrays


def _info(name: str, array: Any) -> Any:
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    return helper.make_tensor_value_info(name, kind, array.shape)


def _of_one_argument(wanted: Sequence[str]) -> Iterator[Form]:
    schemas = [each for each in onnx.defs.get_all_schemas() if each.domain == ""]
    names = {each.name for each in schemas if called(each.name, wanted)}
    for name in sorted(names):
        try:
            schema = onnx.defs.get_schema(name, OPSET)
        except onnx.defs.SchemaError:
            continue
        random = schema.node_determinism == onnx.defs.OpSchema.NodeDeterminism.NonDeterministic
        if schema.min_input != 1 or schema.deprecated or random:
            continue
        node = helper.make_node(name, ["x"], ["y"])
        x = defined(lambda x, node=node: _result(node, {"x": x}))
        if x is not None:
            yield Form(op=name, given=x, native=(node, {}, _result(node, {"x": x})))


def _case(case: Any, seen: set[str]) -> Form | None:
    """A case as a form: its first argument varies, as in a model, and the others are stored."""
    node = case.model.graph.node[0]
    arrays, _ = case.data_sets[0]
    names = [name for name in node.input if name]
    if node.domain or any(each.type == onnx.AttributeProto.GRAPH for each in node.attribute):
        return None
    arrays = [each for each in arrays if isinstance(each, np.ndarray)]
    if not names or len(names) != len(arrays):
        return None
    words = [(each.name, each.s, each.i) for each in node.attribute if each.s or each.i in {0, 1}]
    form = (arrays[0].ndim, str(arrays[0].dtype), [bool(name) for name in node.input])
    key = str((node.op_type, words, form))
    if key in seen:
        return None
    seen.add(key)
    try:
        onnx.defs.get_schema(node.op_type, OPSET)
        result = _result(node, dict(zip(names, arrays, strict=True)))
    except Exception:  # written for another opset, or not in the reference
        return None
    if not usable(arrays[0], result):
        return None
    stored = dict(zip(names[1:], arrays[1:], strict=True))
    return Form(op=node.op_type, given=arrays[0], native=(node, stored, result))


def _result(node: Any, arrays: Mapping[str, Any]) -> Any:
    """The first output, as the reference computes it in the opset of the model."""
    inputs = [_info(name, array) for name, array in arrays.items()]
    output = helper.make_tensor_value_info(node.output[0], 1, None)
    graph = helper.make_graph([node], "one", inputs, [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
    return ReferenceEvaluator(model).run([node.output[0]], dict(arrays))[0]
