"""An exported function with other constants, or with other numbers in its operations."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from isomorph.core import patch as edits
from isomorph.core.errors import UsageError
from isomorph.frameworks.jax.cut import copied
from isomorph.frameworks.jax.read import program_of
from isomorph.oracle.dtypes import numpy_dtype

if TYPE_CHECKING:
    from isomorph.core.patch import Patch
    from isomorph.frameworks.jax.program import JaxProgram


def patched(program: JaxProgram, patch: Patch) -> JaxProgram:
    """The patched function, read again as a file would be."""
    if program.by_platform:
        raise _impossible("it computes other operations on another of its platforms")
    with program.module.context, ir.Location.unknown():
        module, values = copied(program)
        nodes = {node.name: node for node in program.all_nodes()}
        for edit in patch.edits:
            match edit:
                case edits.SetConstant(tensor=name) if name in program.constants:
                    owner = values[program.values[name]].owner
                    owner.attributes["value"] = _stored(program, name, edit.value)
                case edits.SetAttribute(node=name) if name in nodes and nodes[name].outputs:
                    operation = values[program.values[nodes[name].outputs[0]]].owner
                    _set(operation, name, edit.name, edit.value)
                case _:
                    raise _impossible(f"{type(edit).__name__} cannot be written into StableHLO")
        data = stablehlo.serialize_portable_artifact(module, stablehlo.get_current_version())
    exported = replace(program.exported, mlir_module_serialized=data, _get_vjp=None)
    with jax.enable_x64(True):
        return program_of(exported, bytes(exported.serialize()), file=program.name)


def _stored(program: JaxProgram, name: str, value: Any) -> Any:  # noqa: ANN401
    declared = program.tensors[name]
    array = np.asarray(value).astype(numpy_dtype(declared.dtype))
    shape = [size or 0 for size in declared.shape]
    if array.size != np.prod(shape, dtype=np.int64):
        raise _impossible(f"{array.size} values do not fit in the place of {shape}")
    array = np.ascontiguousarray(array.reshape(shape))
    kind = program.values[name].type.element_type
    if array.dtype.kind not in "biufc":
        array = array.view(f"u{array.dtype.itemsize}")
    return ir.DenseElementsAttr.get(array, type=kind, shape=shape)


def _set(operation: Any, node: str, name: str, value: Any) -> None:  # noqa: ANN401
    """Give an attribute of integers others, as many as it has."""
    attributes = operation.attributes
    now = attributes.get(name, None)
    if isinstance(now, ir.IntegerAttr) and isinstance(value, int):
        attributes[name] = ir.IntegerAttr.get(now.type, value)
        return
    numbers = np.asarray(value)
    if numbers.dtype.kind == "i" and isinstance(now, ir.DenseI64ArrayAttr):
        if len(now) == numbers.size:
            attributes[name] = ir.DenseI64ArrayAttr.get(numbers.reshape(-1).tolist())
            return
    elif numbers.dtype.kind == "i" and isinstance(now, ir.DenseIntElementsAttr):
        shape = list(now.type.shape)
        if numbers.size == np.prod(shape, dtype=np.int64):
            own = np.ascontiguousarray(numbers.astype(np.int64).reshape(shape))
            attributes[name] = ir.DenseElementsAttr.get(own)
            return
    raise _impossible(f"{value!r} does not fit the attribute {name!r} of {node!r}")


def _impossible(why: str) -> UsageError:
    return UsageError(
        "PATCH_NOT_POSSIBLE", "an exported function cannot be changed in this way", why=why,
        fix="change the function and export it again",
    )  # fmt: skip
