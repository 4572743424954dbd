"""Small ONNX models and quiet exports for the examples."""

from __future__ import annotations

import contextlib
import io
import logging
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
    hidden = io.StringIO()
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(hidden),
            contextlib.redirect_stderr(hidden),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)


__all__ = ["TensorProto", "export", "helper", "onnx_model", "quiet"]
