"""Nodes computed by ``onnx.reference``, the evaluator that ships with ONNX.

It is used for the operators that are rare or cheap and for which it is right in float64.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import onnx

from isomorph.frameworks.onnx.eval_attributes import resolved

_MODULES = {
    "": "onnx.reference.ops",
    "ai.onnx.ml": "onnx.reference.ops.aionnxml",
    "ai.onnx.preview": "onnx.reference.ops.aionnx_preview",
    "ai.onnx.preview.training": "onnx.reference.ops.aionnx_preview_training",
}
"""Imported for the first node that needs one: they take longer than a small model."""


def _loader(domain: str) -> Callable[..., Any] | None:
    """What loads the reference implementations of a domain; None where there are none."""
    module = _MODULES.get(domain)
    return None if module is None else import_module(module).load_op


class ReferenceNode:
    """One node with its reference implementation."""

    def __init__(self, implementation: Any) -> None:  # noqa: ANN401
        self._implementation = implementation

    def __call__(
        self, inputs: Sequence[Any], changed: Mapping[str, Any] | None = None
    ) -> tuple[Any, ...]:
        """The outputs; ``changed`` stands in for attributes of the same names."""
        node = self._implementation
        if changed:
            node = copy.copy(node)
            for name, value in changed.items():
                setattr(node, name, list(value) if isinstance(value, tuple) else value)
        return tuple(node.run(*inputs))


def reference_node(
    node: onnx.NodeProto,
    domain: str,
    version: int,
    bound: Mapping[str, onnx.AttributeProto],
) -> ReferenceNode | None:
    """The reference implementation of this node, or None where there is none."""
    loader = _loader(domain)
    if loader is None:
        return None
    try:
        kind = loader(domain, node.op_type, version)
    except (AssertionError, RuntimeError, ValueError):
        # A missing operator, a missing version, or one that exists as a function only.
        # (NotImplementedError is a RuntimeError.)
        return None
    parameters = {
        "log": _unlogged,
        "opsets": {domain: version},
        "verbose": 0,
        "new_ops": {},
        "existing_functions": {},
        "evaluator_cls": None,
    }
    return ReferenceNode(kind(resolved(node, bound), parameters))


def _unlogged(*_: object) -> None:
    """What the reference evaluator would print."""
