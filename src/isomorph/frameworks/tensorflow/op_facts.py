"""What the oracle must know of single operators before it runs them."""

from __future__ import annotations

from collections.abc import Iterator

from tensorflow.python.framework import op_def_registry

from isomorph.core.errors import UnreadableModelError
from isomorph.frameworks.tensorflow.eval_control import BODIES, NOTHING, SWITCHES
from isomorph.frameworks.tensorflow.eval_native import has_wide_kernel
from isomorph.frameworks.tensorflow.oracle_ops import find
from isomorph.frameworks.tensorflow.oracle_ops_random import RANDOM
from isomorph.frameworks.tensorflow.program import Spec, TfNode, TfProgram
from isomorph.frameworks.tensorflow.tensor_list_ops import LISTS
from isomorph.oracle.dtypes import is_float

SHAPE_ONLY = frozenset(
    {"Shape", "ShapeN", "Size", "Rank", "ZerosLike", "OnesLike", "TensorListLength"}
)
"""Operators that look at the shape of their input alone."""

DISCRETE = frozenset({"Floor", "Ceil", "Round", "Rint", "Sign", "FloorDiv", "FloorMod", "Mod"})
"""Operators whose float result is discrete among constants: noise must not make it jump."""

PASSES = frozenset({"Identity", "IdentityN", "StopGradient", "PreventGradient", "Snapshot"})
"""Operators that hand their inputs on as they are, lists too."""


def dtypes_of(program: TfProgram, names: tuple[str, ...]) -> tuple[str | None, ...]:
    """The declared type of each tensor."""
    return tuple(program.specs.get(name, _UNKNOWN).dtype for name in names)


_UNKNOWN = Spec()


def is_inexact(dtype: str | None) -> bool:
    """Whether values of this type are lifted."""
    return is_float(dtype) or dtype in {"complex64", "complex128"}


def works_in_floats(program: TfProgram, node: TfNode) -> bool:
    """Whether any input or output of the node is lifted."""
    return any(map(is_inexact, dtypes_of(program, (*node.inputs, *node.outputs))))


def narrow_only(program: TfProgram, node: TfNode) -> bool:
    """Whether a node is computed as declared: it decides something, and only in its own type."""
    if find(node.op) is not None or has_wide_kernel(node.op, node.attributes):
        return False
    return not any(map(is_inexact, dtypes_of(program, node.outputs)))


def constant_names(program: TfProgram) -> frozenset[str]:
    """Tensors that depend on stored constants and shapes alone, as far as the graph shows it."""
    constant = set(program.constants)
    for node in program.nodes:
        fixed = node.op not in RANDOM and all(name in constant for name in node.inputs)
        if node.op in SHAPE_ONLY or fixed:
            constant.update(node.outputs)
    return frozenset(constant)


def refuse_unsupported(program: TfProgram, file: str | None) -> None:
    """Say at once, by their names, which operators cannot be evaluated."""
    found: dict[str, tuple[str, str]] = {}
    for name, owner, node in _every_node(program):
        why = _obstacle(owner, node)
        if why is not None:
            found.setdefault(node.op, (name, why))
    if not found:
        return
    op, (name, why) = next(iter(found.items()))
    others = f"; also {', '.join(sorted(set(found) - {op}))}" if len(found) > 1 else ""
    raise UnreadableModelError(
        "UNSUPPORTED_OP", f"the oracle cannot evaluate operator {op!r}",
        file=file, where=f"node {name!r}", why=why + others, node=name,
        fix="--runtime tensorflow runs the model without an oracle, if TensorFlow knows it",
    )  # fmt: skip


def _every_node(program: TfProgram) -> Iterator[tuple[str, TfProgram, TfNode]]:
    waiting, seen = [program], {program.name}
    while waiting:
        here = waiting.pop()
        for node in here.nodes:
            yield f"{here.name}/{node.name}" if here.name else node.name, here, node
            for function in node.functions.values():
                if function in here.functions and function not in seen:
                    seen.add(function)
                    waiting.append(here.functions[function])


def _obstacle(program: TfProgram, node: TfNode) -> str | None:
    if node.op in BODIES | SWITCHES | LISTS.keys() | NOTHING | PASSES or find(node.op) is not None:
        return None
    if op_def_registry.get(node.op) is None:
        return "no package that isomorph imports registers it (--ops MODULE --trust imports one)"
    if node.functions:
        return "its function cannot be entered"
    if any(program.specs.get(name, _UNKNOWN).kind == "other" for name in node.outputs):
        return "it holds a resource, which is not part of a frozen graph"
    if node.op in _LOOPS_OF_OLD:
        return "it belongs to a loop of TensorFlow 1; save the model with TensorFlow 2's loops"
    if not works_in_floats(program, node) or has_wide_kernel(node.op, node.attributes):
        return None
    if narrow_only(program, node) or set(node.outputs) <= constant_names(program):
        return None
    return "TensorFlow computes it in float32 only, and there is no kernel of ours"


_LOOPS_OF_OLD = frozenset({"Enter", "Exit", "NextIteration", "LoopCond", "RefEnter", "RefExit"})
