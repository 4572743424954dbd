"""Small ONNX models and quiet exports for the examples."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET, IR = 18, 10


def onnx_model(
    path: Path,
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, tuple[Any, Sequence[Any]]],
    outputs: Mapping[str, tuple[Any, Sequence[Any]]],
    constants: Mapping[str, np.ndarray] | None = None,
) -> Path:
    """Write a checked model; inputs and outputs are ``{name: (NumPy type, shape)}``."""
    kinds = helper.np_dtype_to_tensor_dtype
    declared = [
        [
            helper.make_tensor_value_info(n, kinds(np.dtype(t)), list(s))
            for n, (t, s) in side.items()
        ]
        for side in (inputs, outputs)
    ]
    stored = [numpy_helper.from_array(value, name) for name, value in (constants or {}).items()]
    graph = helper.make_graph(list(nodes), "example", *declared, stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)
    return path


def written(path: Path, text: str, **constants: Any) -> Path:
    """A model in ONNX's own notation, ``f (float[2] x) => (float[2] y) { y = Exp (x) }``."""
    opsets = f'"" : {OPSET}, "com.example" : 1, "com.microsoft" : 1'
    model = onnx.parser.parse_model(f"<ir_version: {IR}, opset_import: [{opsets}]> {text}")
    for name, value in constants.items():
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    onnx.save(model, path)
    return path


def elementwise(
    path: Path,
    steps: Sequence[tuple[str, list[str], str]],
    constants: Mapping[str, np.ndarray] | None = None,
) -> Path:
    """A float32 vector ``x`` to a vector ``y`` in steps of ``(operator, inputs, output)``."""
    nodes = [helper.make_node(op, ins, [out], name=f"{op}_{out}") for op, ins, out in steps]
    vector = (np.float32, ["n"])
    return onnx_model(path, nodes, {"x": vector}, {"y": vector}, constants)


def export(module: Any, example: tuple[Any, ...], path: Path, **options: Any) -> Path:
    """``torch.onnx.export`` without its warnings; what it raises still comes through."""
    import torch

    with quiet():
        torch.onnx.export(module, example, path, verbose=False, **options)
    return path


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Both exporters warn, log and print about matters that these models do not touch."""
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    sys.stdout.flush()
    kept = {stream: os.dup(stream) for stream in (1, 2)}
    try:
        # Part of it is printed by compiled code, which knows nothing of sys.stdout.
        with Path(os.devnull).open("w") as nowhere, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for stream in kept:
                os.dup2(nowhere.fileno(), stream)
            yield
            sys.stdout.flush()
    finally:
        for stream, copy in kept.items():
            os.dup2(copy, stream)
            os.close(copy)
        logging.disable(disabled)


__all__ = ["TensorProto", "elementwise", "export", "helper", "onnx_model", "quiet", "written"]
