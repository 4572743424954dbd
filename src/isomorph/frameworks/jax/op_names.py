"""StableHLO's operations in the neutral vocabulary: ONNX's name wherever ONNX has the meaning."""

from __future__ import annotations

from isomorph.frameworks.jax.op_facts import COMPOSITES, CUSTOM_CALLS
from isomorph.frameworks.jax.program import JaxNode

_NEUTRAL = {
    "add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div", "power": "Pow",
    "remainder": "Mod", "maximum": "Max", "minimum": "Min", "abs": "Abs", "negate": "Neg",
    "sign": "Sign", "exponential": "Exp", "exponential_minus_one": "Expm1", "log": "Log",
    "log_plus_one": "Log1p", "sqrt": "Sqrt", "rsqrt": "Rsqrt", "cbrt": "Cbrt", "tanh": "Tanh",
    "logistic": "Sigmoid", "sine": "Sin", "cosine": "Cos", "tan": "Tan", "atan2": "Atan2",
    "floor": "Floor", "ceil": "Ceil", "round_nearest_even": "Round", "clamp": "Clip",
    "and": "And", "or": "Or", "xor": "Xor", "not": "Not", "select": "Where", "convert": "Cast",
    "bitcast_convert": "BitCast", "shift_left": "BitShift", "shift_right_logical": "BitShift",
    "shift_right_arithmetic": "BitShift", "is_finite": "IsFinite",
    "dot_general": "MatMul", "convolution": "Conv", "reshape": "Reshape",
    "dynamic_reshape": "Reshape", "transpose": "Transpose", "broadcast_in_dim": "Expand",
    "dynamic_broadcast_in_dim": "Expand", "broadcast": "Expand", "concatenate": "Concat",
    "slice": "Slice", "real_dynamic_slice": "Slice", "dynamic_slice": "Slice",
    "dynamic_update_slice": "DynamicUpdateSlice", "pad": "Pad", "dynamic_pad": "Pad",
    "reverse": "Reverse", "gather": "GatherND", "dynamic_gather": "GatherND",
    "scatter": "ScatterND", "sort": "Sort", "iota": "Range", "dynamic_iota": "Range",
    "get_dimension_size": "Size", "batch_norm_inference": "BatchNormalization", "fft": "DFT",
    "while": "Loop", "case": "If", "if": "If", "rng": "RandomUniform",
    "rng_bit_generator": "RandomUniform", "optimization_barrier": "Identity",
    "return": "Identity",
}  # fmt: skip

_COMPARED = {
    "EQ": "Equal", "NE": "NotEqual", "LT": "Less", "LE": "LessOrEqual", "GT": "Greater",
    "GE": "GreaterOrEqual",
}  # fmt: skip

_REDUCED = {
    "add": "ReduceSum", "multiply": "ReduceProd", "maximum": "ReduceMax", "minimum": "ReduceMin",
    "and": "ReduceAll", "or": "ReduceAny",
}  # fmt: skip

_POOLED = {"maximum": "MaxPool", "add": "SumPool", "minimum": "MinPool"}


def neutral(node: JaxNode) -> str:
    """The neutral name of an operation; its own where there is none."""
    if node.op == "compare":
        return _COMPARED.get(str(node.attributes.get("comparison_direction")), node.op)
    if node.op == "reduce":
        return _REDUCED.get(reducer(node) or "", node.op)
    if node.op == "reduce_window":
        return _POOLED.get(reducer(node) or "", node.op)
    if node.op in ("composite", "custom_call"):
        return COMPOSITES.get(native(node)) or CUSTOM_CALLS.get(native(node)) or native(node)
    return _NEUTRAL.get(node.op, node.op)


def native(node: JaxNode) -> str:
    """StableHLO's own name, or that of the function that is called by name."""
    if node.op == "composite":
        return str(node.attributes.get("name"))
    if node.op == "custom_call":
        return str(node.attributes.get("call_target_name"))
    return node.op


def reducer(node: JaxNode) -> str | None:
    """The single operation by which a region joins two numbers; None where it does more."""
    body = next(iter(node.bodies.values()), None)
    if body is None or len(body.nodes) != 1 or len(body.inputs) != 2:
        return None
    (inner,) = body.nodes
    joins = sorted(inner.inputs) == sorted(body.inputs) and inner.outputs == body.outputs
    return inner.op if joins else None
