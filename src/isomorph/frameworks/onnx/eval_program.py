"""A graph made ready to run: one step per node, with the means to compute it already found."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import onnx
from onnx import AttributeProto

from isomorph.core.errors import UnreadableModelError, listed
from isomorph.core.ops import RANDOM
from isomorph.frameworks.onnx.eval_attributes import (
    Read,
    bind,
    decode,
    resolved,
    schema_of,
)
from isomorph.frameworks.onnx.eval_control import RULES
from isomorph.frameworks.onnx.op_facts import DISCRETE, EXACT, SHAPE_ONLY
from isomorph.frameworks.onnx.oracle_step import OnnxStep, Program, call_function
from isomorph.frameworks.onnx.reference_ops import reference_node
from isomorph.frameworks.onnx.stored_tensors import dense
from isomorph.frameworks.onnx.typed_functions import InputType, expanded
from isomorph.kernels import registry
from isomorph.oracle.rounding_rules import is_inexact_number
from isomorph.oracle.value import EvalValue

DEEPEST = 50
"""Bodies within bodies and functions within functions, beyond which a model is refused."""

Attributes = Mapping[str, AttributeProto]


class Compiler:
    """Turns protos into programs, and collects what it has no means to compute."""

    def __init__(self, model: onnx.ModelProto, read: Read) -> None:
        registry.load_all()
        self.read = read
        self.functions = {_key(f): f for f in model.functions}
        self.opsets = _opsets(model.opset_import)
        self._unsupported: dict[tuple[str, str, int], list[str]] = {}
        self._depth = 0
        self._calls: list[tuple[str, str, str]] = []

    def graph(
        self,
        graph: onnx.GraphProto,
        opsets: Mapping[str, int],
        outer: Attributes,
        *,
        values: bool = True,
    ) -> Program:
        """One graph or body; ``values`` False leaves the initializers to the caller."""
        initializers: dict[str, EvalValue] = {}
        if values:
            stored = {t.name: self.read(t) for t in graph.initializer}
            stored |= {s.values.name: dense(s, self.read) for s in graph.sparse_initializer}
            initializers = {name: EvalValue(array, constant=True) for name, array in stored.items()}
        return Program(
            inputs=tuple(value.name for value in graph.input),
            outputs=tuple(value.name for value in graph.output),
            steps=self._steps(graph.node, opsets, outer),
            initializers=initializers,
            declared={value.name: value.type for value in graph.output},
        )

    def function(self, function: onnx.FunctionProto, given: Attributes) -> Program:
        """The body of a function, with the attributes of one call."""
        defaults = {attribute.name: attribute for attribute in function.attribute_proto}
        opsets = {**self.opsets, **_opsets(function.opset_import)}
        return Program(
            inputs=tuple(function.input),
            outputs=tuple(function.output),
            steps=self._steps(function.node, opsets, {**defaults, **given}),
        )

    def refuse_unsupported(self, file: str | None = None) -> None:
        """Raise when a node was met for which there is no kernel, no reference, no function."""
        if not self._unsupported:
            return
        missing = [
            f"{domain or 'ai.onnx'}::{op} (opset {version}) at {listed(nodes)}"
            for (domain, op, version), nodes in self._unsupported.items()
        ]
        raise UnreadableModelError(
            "UNSUPPORTED_OP",
            "the oracle has no definition of an operator",
            file=file,
            where="; ".join(missing),
            why="it is neither in ONNX, nor a function of the model, nor an operator we know",
            fix="define it with isomorph.op and --ops, or give it as a function of the model",
        )

    def _steps(
        self, nodes: Iterable[onnx.NodeProto], opsets: Mapping[str, int], outer: Attributes
    ) -> tuple[OnnxStep, ...]:
        self._depth += 1
        if self._depth > DEEPEST:
            raise UnreadableModelError(
                "NESTING_TOO_DEEP",
                "graphs or functions are nested too deep",
                where=f"more than {DEEPEST} levels",
                fix="inline the innermost bodies",
            )
        try:
            return _sorted(
                [self._step(index, node, opsets, outer) for index, node in enumerate(nodes)]
            )
        finally:
            self._depth -= 1

    def _step(
        self, index: int, node: onnx.NodeProto, opsets: Mapping[str, int], outer: Attributes
    ) -> OnnxStep:
        domain = "" if node.domain == "ai.onnx" else node.domain
        version = opsets.get(domain, 1)
        schema = schema_of(node.op_type, version, domain)
        bound = bind(node, schema, outer)
        bodies = {
            name: self.graph(proto.g, opsets, outer)
            for name, proto in bound.items()
            if proto.type == AttributeProto.GRAPH
        }
        captured = {name: None for body in bodies.values() for name in body.captured}
        name = node.name or f"{node.op_type}@{next(iter(node.output), '')}"
        if bodies and not domain and node.op_type in RULES:
            means: dict[str, Any] = {"bodies": bodies, "rule": RULES[node.op_type]}
        else:
            means = self._means(node, domain, version, schema, bound)
        if not means:
            self._unsupported.setdefault((domain, node.op_type, version), []).append(name)
        op, attributes = node.op_type, decode(bound, self.read)
        return OnnxStep(
            index=index,
            name=name,
            op=op,
            domain=domain,
            version=version,
            inputs=tuple(node.input),
            outputs=tuple(node.output),
            attributes=attributes,
            captured=tuple(captured),
            shape_only=op in SHAPE_ONLY,
            discrete=op in DISCRETE,
            exact=op in EXACT,
            random=op in RANDOM,
            disturbable=op != "Constant" and any(map(is_inexact_number, attributes.values())),
            **means,
        )

    def _means(
        self,
        node: onnx.NodeProto,
        domain: str,
        version: int,
        schema: Any,  # noqa: ANN401
        bound: Attributes,
    ) -> dict[str, Any]:
        """How to compute the node; empty where there is no way."""
        local = self.functions.get((node.domain, node.op_type, getattr(node, "overload", "")))
        if local is not None:
            return {"program": self._local(local, bound), "rule": call_function}
        kernel = registry.find(domain, node.op_type, version)
        if kernel is not None:
            return {"kernel": kernel}
        # A function's steps are our kernels, in float64 and each with its own noise; the
        # reference evaluator is one opaque step, and here and there fixed to float32.
        if schema is not None and schema.has_function:
            program = self.function(_function_body(schema, version), bound)
            return {"program": program, "rule": call_function}
        if schema is not None and schema.has_context_dependent_function:
            expand = _Expansion(self, node, schema, version, bound)
            return {"expand": expand, "rule": call_function}
        reference = reference_node(node, domain, version, bound)
        return {} if reference is None else {"reference": reference}

    def _local(self, function: onnx.FunctionProto, bound: Attributes) -> Program:
        key = _key(function)
        if key in self._calls:
            raise UnreadableModelError(
                "RECURSIVE_FUNCTION",
                "a function of the model calls itself",
                where=" → ".join(name for _, name, _ in [*self._calls, key]),
                fix="functions of an ONNX model may not be recursive",
            )
        self._calls.append(key)
        try:
            return self.function(function, bound)
        finally:
            self._calls.pop()


class _Expansion:
    """A function whose body depends on the input types, made when they are known."""

    def __init__(
        self,
        compiler: Compiler,
        node: onnx.NodeProto,
        schema: Any,  # noqa: ANN401
        version: int,
        bound: Attributes,
    ) -> None:
        self._compiler, self._node, self._schema = compiler, resolved(node, bound), schema
        self._version, self._bound = version, bound
        self._made: dict[tuple[InputType, ...], Program] = {}

    def __call__(self, inputs: Sequence[InputType]) -> Program:
        key = tuple(inputs)
        if key not in self._made:
            function = expanded(self._node, self._schema, self._version, key)
            self._made[key] = self._compiler.function(function, self._bound)
        return self._made[key]


def _function_body(schema: Any, version: int) -> onnx.FunctionProto:  # noqa: ANN401
    versions = [v for v in schema.function_opset_versions if v <= version]
    body = onnx.FunctionProto()
    body.ParseFromString(schema.get_function_with_opset_version(max(versions)))
    return body


def _key(function: onnx.FunctionProto) -> tuple[str, str, str]:
    return function.domain, function.name, getattr(function, "overload", "")


def _sorted(steps: list[OnnxStep]) -> tuple[OnnxStep, ...]:
    """Makers before readers; some converters write files in which they are not."""
    makers = {name: step.index for step in steps for name in step.outputs if name}
    missing = {
        step.index: {makers[name] for name in step.needs if name in makers} - {step.index}
        for step in steps
    }
    if all(maker < index for index, needed in missing.items() for maker in needed):
        return tuple(steps)
    readers: dict[int, list[int]] = {}
    for index, needed in missing.items():
        for maker in needed:
            readers.setdefault(maker, []).append(index)
    ready = [index for index, needed in missing.items() if not needed]
    order: list[OnnxStep] = []
    while ready:
        index = heapq.heappop(ready)
        order.append(replace(steps[index], index=len(order)))
        for reader in readers.get(index, ()):
            missing[reader].discard(index)
            if not missing[reader]:
                heapq.heappush(ready, reader)
    return tuple(order) if len(order) == len(steps) else tuple(steps)


def _opsets(imports: Iterable[onnx.OperatorSetIdProto]) -> dict[str, int]:
    return {"" if o.domain == "ai.onnx" else o.domain: o.version for o in imports}
