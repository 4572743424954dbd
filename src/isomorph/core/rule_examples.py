"""Small models built by hand: the positive and negative examples of the rules of lint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isomorph.core.lint import Abilities, LintedModel
from isomorph.core.model import (
    Constant,
    Dimension,
    Graph,
    LoadFact,
    Model,
    Node,
    Quantization,
    TensorSpec,
)
from isomorph.core.ranges import Ranges, RangeStatus, TensorRange
from isomorph.core.report import summarize


def spec(name: str, dtype: str = "float32", shape: tuple[Dimension, ...] = (2, 3)) -> TensorSpec:
    """A tensor of this type and shape."""
    return TensorSpec(name=name, dtype=dtype, shape=shape)


def constant(
    name: str,
    *values: float | bool,
    dtype: str = "float32",
    shape: tuple[int, ...] | None = None,
) -> Constant:
    """A stored value; without numbers, one too large to keep them."""
    sizes = shape if shape is not None else (len(values),)
    return Constant(
        name=name,
        dtype=dtype,
        shape=sizes,
        digest=f"digest of {name}",
        value_digest=f"values of {name}",
        values=tuple(values) or None,
    )


def node(
    op: str,
    *inputs: str,
    out: str = "y",
    name: str | None = None,
    native: str | None = None,
    **attributes: Any,  # noqa: ANN401
) -> Node:
    """One operation; its name is the operator's unless given."""
    return Node(
        name=op.lower() if name is None else name,
        op=op,
        native_op=native or op,
        inputs=inputs or ("x",),
        outputs=(out,),
        attributes=attributes,
    )


def linted_model(
    *nodes: Node,
    inputs: Sequence[TensorSpec] = (spec("x"),),
    constants: Sequence[Constant] = (),
    tensors: Sequence[TensorSpec] = (),
    quantization: Sequence[Quantization] = (),
    framework: str = "onnx",
    to: str | None = None,
    width: str = "",
    opset: Mapping[str, int] | None = None,
    metadata: Mapping[str, str] | None = None,
    load_facts: Mapping[LoadFact, str] | None = None,
    runs_python: bool = False,
    abilities: Abilities | None = None,
    ranges: Ranges | None = None,
) -> LintedModel:
    """A model of these nodes; tensors that are not declared have the first input's type."""
    usual = inputs[0].dtype if inputs else "float32"
    known = {each.name: each for each in (*inputs, *tensors)}
    for each in nodes:
        for name in each.outputs:
            known.setdefault(name, TensorSpec(name=name, dtype=usual, shape=(2, 3)))
    last = nodes[-1].outputs if nodes else ("x",)
    graph = Graph(
        name="example",
        inputs=tuple(inputs),
        outputs=tuple(known[name] for name in last),
        nodes=nodes,
        tensors=known,
        constants={each.name: each for each in constants},
        quantization=tuple(quantization),
        framework=framework,
    )
    model = Model(
        framework=framework,
        location="example",
        digest="example",
        graph=graph,
        opset=opset if opset is not None else {"": 18} if framework == "onnx" else {},
        metadata=metadata or {},
        runs_python=runs_python,
        load_facts=load_facts or {},
    )
    return LintedModel(
        model=model, to=to, width=width, abilities=abilities or Abilities(), ranges=ranges
    )


def bounded(tensor: str, status: RangeStatus, reach: float) -> Ranges:
    """The ranges of a model in which one tensor reaches a number, or is only bounded by it."""
    found = TensorRange(
        name=tensor,
        node="node",
        op="Mul",
        dtype="float32",
        shape=(2, 3),
        lower=-reach,
        upper=reach,
        measured_lower=-reach,
        measured_upper=reach,
        status=status,
    )
    return Ranges(
        model=summarize(linted_model().model, role="model"),
        target="float16",
        largest=65504.0,
        inputs=(),
        tensors=(found,),
    )
