"""A model of many operators side by side, one argument and one output each; run as a script.

    python of_operators.py FRAMEWORK PATH [OPERATOR …]

Without operators: of all that the framework's own registry offers. The names of those in the model
are printed as JSON, in the order of the outputs; inputs.npz beside it holds an argument of each.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

DOMAINS = {
    "any": np.linspace(-4, 4, 24),
    "unit": np.linspace(-0.95, 0.95, 24),
    "positive": np.linspace(0.05, 4, 24),
    "large": np.linspace(1.05, 6, 24),
}
"""Arguments; an operator gets the first on which all its results are numbers."""


def domain(compute: Callable[[Any], Any]) -> str | None:
    """Where this function of one array is defined and keeps its shape and type, if anywhere."""
    for name, line in DOMAINS.items():
        x = line.astype(np.float32).reshape(2, 12)
        try:
            y, other = (np.asarray(compute(each)).copy() for each in (x, x * np.float32(0.99)))
        except Exception:
            continue
        # What does nothing here (a copy, a view) or hangs on nothing has nothing to approximate.
        moves = y.shape == x.shape and y.dtype == x.dtype and (y != x).any() and (y != other).any()
        if moves and np.isfinite(y).all():
            return name
    return None


def onnx_operators() -> Iterator[tuple[str, Callable[[Any], Any]]]:
    import onnx
    from onnx.reference import ReferenceEvaluator

    def run(op: str, x: Any) -> Any:
        graph = onnx.helper.make_graph(
            [onnx.helper.make_node(op, ["x"], ["y"])], op,
            [onnx.helper.make_tensor_value_info("x", 1, [2, 12])],
            [onnx.helper.make_tensor_value_info("y", 1, None)],
        )  # fmt: skip
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)])
        return ReferenceEvaluator(model).run(None, {"x": x})[0]

    names = {s.name for s in onnx.defs.get_all_schemas() if s.domain == ""}
    for name in sorted(names):
        try:
            schema = onnx.defs.get_schema(name, 20)
        except onnx.defs.SchemaError:
            continue
        random = schema.node_determinism == onnx.defs.OpSchema.NodeDeterminism.NonDeterministic
        if schema.min_input == 1 and not schema.deprecated and not random:
            yield name, lambda x, op=name: run(op, x)


def write_onnx(path: Path, chosen: dict[str, str]) -> None:
    import onnx
    from onnx import helper

    nodes = [helper.make_node(op, [where], [f"y_{op}"], name=op) for op, where in chosen.items()]
    inputs = [helper.make_tensor_value_info(name, 1, [2, 12]) for name in used(chosen)]
    outputs = [helper.make_tensor_value_info(f"y_{op}", 1, [2, 12]) for op in chosen]
    graph = helper.make_graph(nodes, "operators", inputs, outputs)
    opset = [helper.make_opsetid("", 20)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=9), path)


def pytorch_operators() -> Iterator[tuple[str, Callable[[Any], Any]]]:
    import torch

    for name in sorted(dir(torch.ops.aten)):
        packet = getattr(torch.ops.aten, name)
        if name.startswith("_") or "default" not in getattr(packet, "overloads", list)():
            continue
        given = packet.default._schema.arguments
        plain = len(given) > 0 and str(given[0].type) == "Tensor"
        rest = all(each.has_default_value() for each in given[1:])
        writes = packet.default._schema.is_mutable
        random = torch.Tag.nondeterministic_seeded in packet.default.tags
        if plain and rest and not writes and not random:
            yield f"aten.{name}.default", lambda x, op=packet.default: op(torch.from_numpy(x))


def write_pytorch(path: Path, chosen: dict[str, str]) -> None:
    import torch

    operators = [(getattr(torch.ops.aten, op.split(".")[1]), where) for op, where in chosen.items()]

    class Side(torch.nn.Module):
        def forward(self, **given: Any) -> Any:
            return tuple(op(given[where]) for op, where in operators)

    example = {name: torch.from_numpy(array) for name, array in arguments(chosen).items()}
    torch.export.save(torch.export.export(Side(), (), example), path)


def tensorflow_operators() -> Iterator[tuple[str, Callable[[Any], Any]]]:
    import tensorflow as tf
    from tensorflow.python.framework import op_def_registry

    for name in sorted(dir(tf.raw_ops)):
        known = op_def_registry.get(name)
        if known is None or known.is_stateful or known.deprecation.version:
            continue
        if (
            len(known.input_arg) != 1
            or len(known.output_arg) != 1
            or known.input_arg[0].number_attr
        ):
            continue
        word = known.input_arg[0].name
        yield name, lambda x, op=name, word=word: getattr(tf.raw_ops, op)(**{word: x}).numpy()


def write_tensorflow(path: Path, chosen: dict[str, str]) -> None:
    import tensorflow as tf
    from tensorflow.python.framework import op_def_registry

    specs = [tf.TensorSpec([2, 12], tf.float32, name=name) for name in used(chosen)]

    def side(*given: Any) -> dict[str, Any]:
        by_name = dict(zip(used(chosen), given, strict=True))
        results = {}
        for place, (op, where) in enumerate(chosen.items()):
            word = op_def_registry.get(op).input_arg[0].name
            # Outputs of a SavedModel are sorted by name.
            results[f"y{place:04}"] = getattr(tf.raw_ops, op)(**{word: by_name[where]})
        return results

    function = tf.function(side, input_signature=specs, autograph=False)
    tf.saved_model.save(tf.Module(), str(path), signatures=function.get_concrete_function())


def used(chosen: dict[str, str]) -> list[str]:
    return [name for name in DOMAINS if name in chosen.values()]


def arguments(chosen: dict[str, str]) -> dict[str, Any]:
    return {name: DOMAINS[name].astype(np.float32).reshape(2, 12) for name in used(chosen)}


OPERATORS = {
    "onnx": onnx_operators,
    "pytorch": pytorch_operators,
    "tensorflow": tensorflow_operators,
}
WRITERS = {"onnx": write_onnx, "pytorch": write_pytorch, "tensorflow": write_tensorflow}


def main() -> None:
    framework, path, wanted = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
    chosen: dict[str, str] = {}
    for name, compute in OPERATORS[framework]():
        if not wanted or name in wanted:
            where = domain(compute)
            if where is not None:
                chosen[name] = where
    if wanted:
        WRITERS[framework](path, chosen)
        np.savez(path.with_name("inputs.npz"), **arguments(chosen))
    print(json.dumps(list(chosen)))


if __name__ == "__main__":
    main()
